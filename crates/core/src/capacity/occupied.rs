//! What VMs or slots of a flavor group occupy in a zone.

use std::collections::BTreeMap;

use crate::ids::{GroupName, Zone};
use crate::units::Resources;

/// An amount in all the units in which capacity is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    pub instances: u64,
    pub resources: Resources,
    /// The memory in declared units of the group.
    pub units: u64,
}

/// The same by flavor group and zone.
pub type OccupiedByPlace = BTreeMap<(GroupName, Zone), Occupied>;
