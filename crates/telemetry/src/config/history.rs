//! `history`: how long decisions about VMs are kept.

use std::time::Duration;

use super::section::{Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of History objects.
    pub struct History = read(s) {
        /// A History is deleted so long after its last decision; 0 = never because of its age.
        retention: Duration = duration("retention", seconds(72 * 3600), Zero::Off),
        /// History objects that a cluster keeps; beyond that the oldest are deleted.
        max: usize = count("max", 10_000, 1),
    }
}
