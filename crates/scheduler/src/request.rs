//! The general scheduling request: the fields that influence a result, and the options. The API that receives it
//! decodes the JSON.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::flavor::Flavor;
use berth_core::{Bytes, Cores, HostName, ProjectId, Resources, VmId, Zone};
use serde_json::Value;

use crate::{Hints, Intent, SchedulerError, SlotRequest};

/// The extra spec that names the kind of host.
pub(crate) const HYPERVISOR_TYPE: &str = "capabilities:hypervisor_type";
/// The extra spec that names the flavor group.
pub(crate) const HW_VERSION: &str = "quota:hw_version";
const HANA_TRAIT: &str = "trait:CUSTOM_HANA_EXCLUSIVE_HOST";

/// One request for a ranked list of hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// `instance_uuid`: the VM, or the name of the slot.
    pub instance: VmId,
    /// The project that owns the VM; may be empty.
    pub project: ProjectId,
    /// The wanted zone; empty means any.
    pub zone: Zone,
    /// `num_instances`; 0 counts as 1.
    pub instances: u64,
    pub flavor: Flavor,
    /// The size of one instance: the flavor's, or the slot's own.
    pub size: Resources,
    /// Hosts on which a slot needs something else than its size, because VMs that it expects are there.
    pub needs: Vec<(HostName, Resources)>,
    pub hints: Hints,
    /// Hosts that must not be used.
    pub ignore_hosts: Vec<HostName>,
    /// The only hosts that may be used; empty means no restriction.
    pub force_hosts: Vec<HostName>,
    pub image_properties: BTreeMap<String, Value>,
    pub destination: Option<Destination>,
    pub group: Option<InstanceGroup>,
    pub candidates: Candidates,
    /// The pipeline; empty means inferred from the flavor.
    pub pipeline: String,
    pub options: Options,
}

/// `requested_destination` of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// The only host that may be used; empty means any.
    pub host: HostName,
    /// All must match; each element holds UUIDs separated by `,` of which one must match.
    pub aggregates: Vec<String>,
}

/// `instance_group` of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceGroup {
    pub policy: String,
    pub members: BTreeSet<VmId>,
    pub hosts: BTreeSet<HostName>,
    pub rules: BTreeMap<String, Value>,
}

/// The hosts that a request chooses from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Candidates {
    /// All hosts of the view with weight 0.
    #[default]
    All,
    /// These hosts with the caller's weights. A pipeline that ignores preselection takes all hosts instead.
    Listed(Vec<(HostName, f64)>),
}

/// A type of reservation that a request may ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReservationType {
    Committed,
    Failover,
    /// `InFlightReservation`; also includes the assume entries.
    InFlight,
}

impl ReservationType {
    /// The type of that name in the API; unknown names have no effect.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "CommittedResourceReservation" => Some(Self::Committed),
            "FailoverReservation" => Some(Self::Failover),
            "InFlightReservation" => Some(Self::InFlight),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "CommittedResourceReservation",
            Self::Failover => "FailoverReservation",
            Self::InFlight => "InFlightReservation",
        }
    }
}

/// Call options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the switches of the API, each with a meaning of its own")]
pub struct Options {
    pub read_only: bool,
    /// VMs are not counted, and reservations block their full size.
    pub assume_empty_hosts: bool,
    /// Slots are not unlocked for their own project.
    pub lock_reservations: bool,
    pub ignored_reservation_types: BTreeSet<ReservationType>,
    /// Only so many hosts are returned; 0 means all.
    pub max_candidates: usize,
    pub skip_history: bool,
    /// No in-flight objects are created; we never create them.
    pub skip_inflight: bool,
    /// The VM is not written into a slot.
    pub skip_committed_resource_tracking: bool,
    /// The response has the hosts that each filter removed and the weights of the others.
    pub explain: bool,
}

impl Options {
    /// A run that changes nothing and writes nothing, as probes use it.
    pub fn read_only() -> Self {
        Self {
            read_only: true,
            skip_history: true,
            skip_inflight: true,
            skip_committed_resource_tracking: true,
            ..Self::default()
        }
    }

    /// Finds the first contradiction, in a fixed order.
    pub fn validate(&self) -> Result<(), SchedulerError> {
        for (skipped, text) in [
            (self.skip_history, "read-only runs must not write scheduling history: set SkipHistory=true"),
            (self.skip_inflight, "read-only runs cannot create inflight reservations"),
            (
                self.skip_committed_resource_tracking,
                "read-only runs must not write CR reservation allocations: set SkipCommittedResourceTracking=true",
            ),
        ] {
            if self.read_only && !skipped {
                return Err(SchedulerError::Options(text));
            }
        }
        Ok(())
    }
}

impl Request {
    /// A request for one instance of a flavor on any host, without hints and options.
    pub fn new(instance: impl Into<VmId>, flavor: Flavor) -> Self {
        Self {
            instance: instance.into(),
            project: ProjectId::default(),
            zone: Zone::default(),
            instances: 1,
            size: flavor.size(),
            needs: Vec::new(),
            flavor,
            hints: Hints::default(),
            ignore_hosts: Vec::new(),
            force_hosts: Vec::new(),
            image_properties: BTreeMap::new(),
            destination: None,
            group: None,
            candidates: Candidates::All,
            pipeline: String::new(),
            options: Options::default(),
        }
    }

    pub fn for_slot(slot: &SlotRequest) -> Self {
        Self {
            project: slot.project.clone(),
            zone: slot.zone.clone(),
            size: slot.size,
            hints: Hints::for_slot(slot.domain_name.as_deref()),
            pipeline: slot.pipeline.clone(),
            options: Options {
                lock_reservations: true,
                max_candidates: 1,
                skip_history: true,
                skip_inflight: true,
                skip_committed_resource_tracking: true,
                ..Options::default()
            },
            ..Self::new(slot.key.name.as_str(), slot.flavor.clone())
        }
    }

    /// The purpose of the request; `None` if the hint is invalid.
    pub fn intent(&self) -> Option<Intent> {
        self.hints.intent()
    }

    /// The name of the pipeline to run, inferred from the flavor when none is named.
    pub fn pipeline_name(&self) -> Result<&str, SchedulerError> {
        if !self.pipeline.is_empty() {
            return Ok(&self.pipeline);
        }
        let spec = |key| self.flavor.extra_specs.get(key).map(|value| value.to_lowercase());
        let kvm = match spec(HYPERVISOR_TYPE).as_deref() {
            Some("qemu" | "ch") => true,
            Some("vmware vcenter server") => false,
            _ => return Err(SchedulerError::Inference("hypervisor")),
        };
        let hana = match spec(HANA_TRAIT).as_deref() {
            None | Some("forbidden") => false,
            Some("required") => true,
            _ => return Err(SchedulerError::Inference("flavor")),
        };
        Ok(match (kvm, hana) {
            (true, false) => "kvm-general-purpose-load-balancing",
            (true, true) => "kvm-hana-bin-packing",
            (false, false) => "vmware-general-purpose-load-balancing",
            (false, true) => "vmware-hana-bin-packing",
        })
    }

    /// Checks that all hosts may be gathered for the flavor.
    pub(crate) fn check_hypervisor_type(&self) -> Result<(), SchedulerError> {
        let Some(wanted) = self.flavor.extra_specs.get(HYPERVISOR_TYPE) else {
            return Err(SchedulerError::NoHypervisorType(format!("{:?}", self.flavor.extra_specs)));
        };
        match wanted.to_lowercase().as_str() {
            "qemu" | "ch" => Ok(()),
            other => Err(SchedulerError::UnknownHypervisorType(other.to_owned())),
        }
    }

    /// The capacity that the request needs on this host.
    pub(crate) fn need_on(&self, host: &HostName) -> Resources {
        let own = self.needs.iter().find(|(name, _)| name == host);
        own.map_or_else(|| self.need(), |(_, need)| *need)
    }

    /// The capacity that all instances of the request need together on one host.
    pub(crate) fn need(&self) -> Resources {
        let times = i64::try_from(self.instances.max(1)).unwrap_or(i64::MAX);
        Resources::new(
            Bytes::new(self.size.memory.get().saturating_mul(times)),
            Cores::new(self.size.cpu.get().saturating_mul(times)),
        )
    }
}
