//! A host as its capacity is counted, for reports.

use std::sync::Arc;

use berth_core::capacity::HeldSlot;
use berth_core::host::{Amounts, Host};

/// A host as its capacity is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCapacity {
    pub host: Arc<Host>,
    /// Capacity minus VMs and reservations, as the objects alone show them; negative if the host is over-booked. What was
    /// promised and is not observed yet is not counted, so that the sum of what runs, is held and is free stays the same
    /// while VMs start.
    pub free: Amounts,
    /// The slots that are to be on it.
    pub slots: Vec<HeldSlot>,
}
