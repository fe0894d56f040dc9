//! The facts of a reconciliation of a slot. Gathered by the controller, never changed by a decision.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_cluster::{CompletenessProof, PauseCause};
use berth_core::slot::Slot;
use berth_core::{HostName, Resources, VmId};
use berth_crds::Hypervisor;
use berth_scheduler::HostVerdict;

/// A slot and the host that it names.
#[derive(Clone, Debug)]
pub struct ReservationFacts {
    /// Why it is left exactly as it is.
    pub paused: Option<PauseCause>,
    pub slot: Slot,
    /// The VMs that its status names, each with its host.
    pub confirmed: BTreeMap<VmId, HostName>,
    pub vms: BTreeMap<VmId, VmFact>,
    /// VMs that run beside it on its host and belong into it, each with its size.
    pub adoptable: BTreeMap<VmId, Resources>,
    /// The state of the host in `targetHost`, if it is set.
    pub host: HostFact,
    /// Whether the host is valid for the slot, as far as the capacity view knows.
    pub verdict: HostVerdict,
    /// For how long the host has been known to be in another zone, if the slot is in force there.
    pub misplaced: Option<Duration>,
    /// How long ago it lost its host because of a verdict, if it has not been placed since.
    pub revoked: Option<Duration>,
    /// `status.host`, where it was in force, exists and is in the slot's zone.
    pub former_is_good: bool,
    /// The hosts of the zone's cluster are followed: without that no host can be chosen.
    pub hosts_are_synced: bool,
    /// All that may be in the zone can be read as well: without that no VM is given up because it is not listed.
    pub hosts_are_complete: bool,
}

impl ReservationFacts {
    /// True when this host lists a VM of the slot.
    pub(crate) fn lists_a_vm(&self, host: Option<&HostName>) -> bool {
        host.is_some_and(|host| self.vms.values().any(|vm| vm.hosts.contains(host)))
    }
}

/// The state of a VM that a slot expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmFact {
    /// How long ago it was assigned to the slot.
    pub age: Duration,
    /// The hosts that list it, running or not.
    pub hosts: BTreeSet<HostName>,
    /// Those of them on which it counts in another slot: on the host of this slot in an earlier one by key, on any
    /// other host in whichever slot expects it there.
    pub taken: BTreeSet<HostName>,
    /// For how long this process has missed it: confirmed before and now on no host, or not yet on the host of the slot.
    pub absent: Duration,
}

/// The state of the host that a slot names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostFact {
    Exists,
    /// It is absent from a complete read, and has been for this long, as far as this process knows and could read.
    Missing(Duration, CompletenessProof<Hypervisor>),
    /// The hosts of the zone cannot be read completely: nothing follows from its absence.
    Unreadable,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// `requeueIntervalActive`: requeue a slot that is in force.
    pub active: Duration,
    pub retry: Duration,
    /// `requeueIntervalGracePeriod`: how long a host must be absent before it counts as gone, and a confirmed VM before
    /// it counts as ended; also the interval of reconciliations while a VM is awaited.
    pub grace: Duration,
    /// `allocationGracePeriod`: how long a VM that was never seen on the host is awaited there; 0 means not at all.
    pub allocation: Duration,
}
