//! The time of a run, and what it may be used for.

use jiff::Timestamp;

/// The time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// For what is only recorded.
    pub now: Timestamp,
    /// The clock may decide what starts and ends.
    pub is_trusted: bool,
}
