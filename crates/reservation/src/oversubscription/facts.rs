//! What a look at a host rests on. Gathered by the controller, never changed by a decision.

use berth_core::host::Amounts;
use berth_core::{Resources, SlotKey};

/// A host, and what stands on it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its condition Ready is True. Of another host nobody knows what it holds.
    pub ready: bool,
    /// Capacity minus VMs minus blocks, as the objects show it; below zero is too much.
    pub free: Amounts,
    /// The slots of commitments that block something on it, without those that are being deleted.
    pub slots: Vec<Occupant>,
}

impl Facts {
    /// By how much each resource is over-booked; nothing on a host that is not ready or says nothing about its capacity.
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
    /// Which.
    pub key: SlotKey,
    /// Its whole size.
    pub size: Resources,
    /// What it blocks on the host besides the VMs that are there: what would be free without it.
    pub block: Resources,
    /// No VM is expected in it, and none was promised into it.
    pub empty: bool,
    /// It is on its way to another host already, and nothing keeps it.
    pub leaving: bool,
    /// It is left exactly as it is.
    pub frozen: bool,
}
