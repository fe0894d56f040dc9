//! The facts of a reconciliation of a host. Gathered by the controller, never changed by a decision.

use berth_core::host::Amounts;
use berth_core::{Resources, SlotKey};

/// A host, and its slots.
#[derive(Clone, Debug)]
pub struct OversubscriptionFacts {
    /// Its condition Ready is True. The load of a host that is not ready is unknown.
    pub ready: bool,
    /// Capacity minus VMs minus blocks, as the objects show it; below zero is too much.
    pub free: Amounts,
    /// The slots of commitments that block something on it, without those that are being deleted.
    pub slots: Vec<Occupant>,
}

impl OversubscriptionFacts {
    /// By how much each resource is over-booked; nothing on a host that is not ready or has no valid capacity.
    pub fn excess(&self) -> Resources {
        if !self.ready {
            return Resources::ZERO;
        }
        (Resources::ZERO - self.free.or_zero()).at_least_zero()
    }
}

/// A slot on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    pub key: SlotKey,
    pub size: Resources,
    /// The capacity that it blocks on the host besides the VMs that are there, and that its eviction would free.
    pub block: Resources,
    /// No VM is expected in it, and none was promised into it.
    pub empty: bool,
    /// It is on its way to another host already, and nothing keeps it.
    pub leaving: bool,
    pub is_paused: bool,
}
