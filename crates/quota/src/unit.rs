//! The unit of RAM.

use std::sync::Arc;

use berth_core::GroupName;
use berth_core::liquid::units::RamUnit;

/// The unit in which Limes counts the RAM of a group.
pub type UnitOf = Arc<dyn Fn(&GroupName) -> RamUnit + Send + Sync>;
