//! A host: what the scheduler and the capacity view use of a Hypervisor.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{ClusterName, HostName, ProjectId, VmId, Zone};
use crate::units::{Bytes, Cores, Resources};

/// Memory and cores of which either may be unknown: a resource that the object does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Memory in bytes.
    pub memory: Option<Bytes>,
    pub cpu: Option<Cores>,
}

impl Amounts {
    /// The rest after `taken`; a resource that is not set stays unset.
    pub fn less(self, taken: Resources) -> Self {
        Self { memory: self.memory.map(|all| all - taken.memory), cpu: self.cpu.map(|all| all - taken.cpu) }
    }

    /// Both amounts, or `None`: a resource that is not set has no free capacity.
    pub fn known(self) -> Option<Resources> {
        Some(Resources::new(self.memory?, self.cpu?))
    }

    pub fn or_zero(self) -> Resources {
        Resources::new(self.memory.unwrap_or_default(), self.cpu.unwrap_or_default())
    }

    /// True when a named resource is below zero: the host is over-booked.
    pub fn overbooked(self) -> bool {
        self.memory.is_some_and(|left| left < Bytes::ZERO) || self.cpu.is_some_and(|left| left < Cores::ZERO)
    }
}

impl From<Resources> for Amounts {
    fn from(all: Resources) -> Self {
        Self { memory: Some(all.memory), cpu: Some(all.cpu) }
    }
}

/// A host aggregate of OpenStack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    pub uuid: String,
    /// Its metadata; keys that start with `filter_tenant_id` restrict projects.
    pub metadata: BTreeMap<String, String>,
}

/// The capabilities of a host for a domain, from `status.capabilities` and `status.domainCapabilities`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// CPU architecture, for example `x86_64`.
    pub cpu_arch: String,
    pub hypervisor_type: String,
    pub cpu_modes: BTreeSet<String>,
    pub features: BTreeSet<String>,
    pub devices: BTreeSet<String>,
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    Unknown,
}

/// One Hypervisor object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub cluster: ClusterName,
    /// Its name, which is the Nova compute host.
    pub name: HostName,
    /// The zone label; empty without one.
    pub zone: Zone,
    /// Capacity after overcommit, else physical capacity, rounded down; all `None` when the object has neither.
    pub capacity: Amounts,
    pub effective_capacity: Amounts,
    pub allocation: Amounts,
    /// Why the capacity is not usable, as text: the field and its value. Such a host is not offered.
    pub invalid_amount: Option<String>,
    /// The VMs on the host and whether they run.
    pub instances: BTreeMap<VmId, bool>,
    pub traits: BTreeSet<String>,
    pub aggregates: Vec<Aggregate>,
    /// Project ids; empty means all.
    pub allowed_projects: BTreeSet<ProjectId>,
    /// Condition types and their status; of two entries of a type the first.
    pub conditions: BTreeMap<String, ConditionStatus>,
    pub capabilities: Capabilities,
}

impl Host {
    pub fn unreserved(&self) -> Amounts {
        self.capacity.less(self.allocation.or_zero().at_least_zero())
    }
}
