//! The facts of a reconciliation. The controller gathers them; decisions do not change them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{CompletenessProof, FlavorGroupsError, ObjectKey, Partial, PauseCause, RouteError, Stopped};
use berth_core::commitment::{Spec, State};
use berth_core::flavor::FlavorGroups;
use berth_core::host::ConditionStatus;
use berth_core::planner::{RunningVm, Target};
use berth_core::slot::Slot;
use berth_core::{ClusterName, Cores, HostName, Resources, SlotName};
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommitmentState, CommittedResource, Condition, Reservation, conditions};
use berth_scheduler::{Pin, SchedulerError, Shortage};
use jiff::Timestamp;

use crate::block_reason::{BlockReason, UnreadableHost};
use crate::change_group::OpenChangeFacts;

/// A commitment and the world around it, as far as its slots depend on it.
#[derive(Clone, Debug)]
pub struct CommitmentFacts {
    pub name: String,
    pub cluster: ClusterName,
    /// Why it is left exactly as it is.
    pub paused: Option<PauseCause>,
    /// The cluster of its zone, when that is another one.
    pub belongs_to: Option<ClusterName>,
    /// Why the commitments of that cluster are unknown, if so: one of them may be served in its place.
    pub belongs_unread: Option<Partial>,
    pub generation: i64,
    /// `metadata.creationTimestamp`: the rank among commitments that wait for free capacity.
    pub created: Timestamp,
    pub deleting: bool,
    /// It carries the finalizer that releases its slots.
    pub has_finalizer: bool,
    pub spec: Spec,
    pub accepted: Option<Spec>,
    pub ready: Option<Ready>,
    /// The object that is served in its place, when two have the same UUID.
    pub served_instead: Option<Served>,
    pub holdings: BTreeMap<ClusterName, Holding>,
    /// Where the slots of the desired spec belong, or why that is unknown.
    pub site: Result<Site, RouteError>,
    pub accepted_site: Result<Site, RouteError>,
    /// Clusters that a user has given up: slots there do not keep the commitment.
    pub forgotten: BTreeSet<ClusterName>,
    /// Which names of slots are taken by other objects.
    pub taken: NameLookup,
    /// The flavor groups, or why they cannot be read.
    pub groups: Result<Arc<FlavorGroups>, FlavorGroupsError>,
    /// Why the newest flavor groups cannot be read, while older ones count: then an unknown group proves nothing.
    pub outdated: Option<FlavorGroupsError>,
    /// Free capacity on the hosts of slots that are smaller than their flavor.
    pub free_capacity: BTreeMap<HostName, Resources>,
    /// VMs that its project runs in the zone outside of slots, if slots may be created around them.
    pub vms: Vec<RunningVm>,
    /// The condition `DisruptionLimited` of the first of its slots that has one.
    pub disruption_limited: Option<Condition>,
    /// The disruption limit keeps the syncer from ending it.
    pub stopped_end: Option<Stopped>,
    /// Why the first of its slots in the waiting list of the scheduler found no host.
    pub shortage: Option<Shortage>,
    /// What keeps its slots from hosts although it may end by itself; read only if it may be rejected.
    pub in_the_way: Option<SchedulerError>,
    /// Why no host can be chosen for the first of its slots, as that slot says.
    pub undecided: Option<String>,
    /// How many cores its group has in its zone, for a commitment of cores.
    pub capacity: Capacity,
    /// The open change that it belongs to.
    pub change: Option<OpenChangeFacts>,
}

/// The object that is served for a UUID in place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub key: ObjectKey,
    /// It carries the finalizer and is not going away itself, so that the slots are safe with it.
    pub protects: bool,
}

/// The slots of a commitment in one cluster.
#[derive(Clone, Debug)]
pub struct Holding {
    pub slots: Vec<Slot>,
    /// Proof that there are no others, or why there may be: then no slot is created, sized or deleted there.
    pub read: Result<CompletenessProof<Reservation>, Partial>,
    /// Another object of that cluster has the same UUID: the slots are left alone until one of them is deleted.
    pub shared: bool,
}

/// Where the slots and hosts of a zone are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub cluster: ClusterName,
    /// Why its hosts are not followed, if so: then no slot is placed.
    pub hosts_unknown: Option<Partial>,
    /// It has a host, whatever its state. Without one the zone is probably a typo.
    pub has_hosts: bool,
    /// A Hypervisor that may be in the zone and cannot be read, and why: then a lack of free capacity proves nothing.
    pub host_unreadable: Option<UnreadableHost>,
}

/// Tells whether a Reservation of that name exists.
#[derive(Clone)]
pub struct NameLookup(pub Arc<dyn Fn(&SlotName) -> bool + Send + Sync>);

impl fmt::Debug for NameLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Taken")
    }
}

/// The Ready condition of a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    pub status: ConditionStatus,
    /// Its reason; none when it is not one of ours.
    pub reason: Option<Reason>,
    pub message: String,
    pub observed_generation: i64,
    pub since: Timestamp,
}

impl CommitmentFacts {
    /// The open change until whose end nothing is released.
    pub(crate) fn binding_change(&self) -> Option<&OpenChangeFacts> {
        self.change.as_ref().filter(|change| !change.is_handed_over)
    }

    /// The slots where those of the wanted spec belong.
    pub fn slots(&self) -> &[Slot] {
        let holding = self.site.as_ref().ok().and_then(|site| self.holdings.get(&site.cluster));
        holding.map(|holding| &holding.slots[..]).unwrap_or_default()
    }

    pub fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        self.holdings.values().flat_map(|holding| &holding.slots)
    }

    /// The clusters of which it is unknown whether they hold slots, and why. One that was given up does not count.
    pub fn unreadable(&self) -> impl Iterator<Item = (&ClusterName, &Partial)> {
        let held = self.holdings.iter().filter_map(|(cluster, holding)| Some((cluster, holding.read.as_ref().err()?)));
        held.filter(|(cluster, _)| !self.forgotten.contains(*cluster))
    }

    /// A Hypervisor that cannot be read and may be in the wanted zone.
    pub fn host_unreadable(&self) -> Option<&UnreadableHost> {
        self.site.as_ref().ok()?.host_unreadable.as_ref()
    }

    /// The scheduler has refused this: no further plan of this reconciliation asks for it.
    pub(crate) fn rule_out(&mut self, refused: &Pin) {
        if refused.vms.is_empty() {
            self.free_capacity.remove(&refused.host);
        } else {
            self.vms.retain(|vm| !refused.vms.contains_key(&vm.id));
        }
    }

    /// `<object name>-`, the start of every slot name.
    pub fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    /// The target of the slots for this spec, the desired or the accepted one.
    pub fn target(&self, spec: &Spec) -> Target {
        Target {
            commitment: spec.uuid.clone(),
            project: spec.project.clone(),
            domain: spec.domain.clone(),
            group: spec.group.clone(),
            zone: spec.zone.clone(),
            memory: spec.memory(),
            // The rules admit no slot that ends before it starts; an old commitment may.
            start: spec.start.filter(|start| spec.end.is_none_or(|end| *start <= end)),
            end: spec.end,
            generation: self.generation,
            prefix: self.prefix(),
        }
    }

    /// The condition, when it speaks of the present generation.
    pub fn verdict(&self) -> Option<&Ready> {
        self.ready.as_ref().filter(|ready| ready.observed_generation == self.generation)
    }

    /// Why it is unknown whether it still is the duplicate that it was reported to be, if so.
    pub fn may_be_duplicate(&self) -> Option<&Partial> {
        self.belongs_unread
            .as_ref()
            .filter(|_| self.verdict().is_some_and(|reported| reported.reason == Some(Reason::DuplicateUuid)))
    }

    /// True when this generation was refused for good. A condition that the controller would not have written, because
    /// the commitment may not be rejected, does not count.
    pub fn is_rejected(&self) -> bool {
        let reported = self.verdict().is_some_and(|ready| ready.reason == Some(Reason::Rejected));
        reported && (self.may_reject() || self.spec.validate().is_err())
    }

    /// True when this generation was accepted.
    pub fn is_accepted(&self) -> bool {
        self.verdict().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// True if the last condition is `Accepted`, for any generation.
    pub fn was_accepted(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// The end that the condition reports. Where old data repeats the state that a commitment had when its end came, it
    /// has expired.
    pub fn reported_end(&self) -> Option<State> {
        match self.verdict()?.reason? {
            Reason::Inactive(CommitmentState::Superseded) => Some(State::Superseded),
            Reason::Inactive(_) => Some(State::Expired),
            _ => None,
        }
    }

    /// True if the condition reports an end that agrees with the end of the spec: a clock that was set back since then does
    /// not bring the commitment to life.
    pub fn has_reported_end(&self) -> bool {
        let since = self.ready.as_ref().map(|ready| ready.since);
        self.reported_end().is_some() && self.spec.end.is_some_and(|end| Some(end) <= since)
    }

    /// True if the accepted spec covers this spec, so that it is not new and does not grow.
    pub fn was_accepted_with(&self, spec: &Spec) -> bool {
        self.accepted.as_ref().is_some_and(|accepted| accepted.covers(spec))
    }

    /// Whether nothing was ever decided for it.
    pub fn is_new(&self) -> bool {
        self.accepted.is_none() && self.all_slots().next().is_none()
    }

    /// True if a failure may reject the commitment: not once the accepted spec covers the desired spec.
    pub fn may_reject(&self) -> bool {
        self.spec.allow_rejection && !self.was_accepted_with(&self.spec)
    }

    /// How long the condition has had its present reason, if that is `Reserving`.
    pub fn reserving_for(&self, now: Timestamp) -> Option<Duration> {
        let ready = self.ready.as_ref().filter(|ready| ready.reason == Some(Reason::Reserving))?;
        Some(now.duration_since(ready.since).try_into().unwrap_or_default())
    }
}

/// The known cores of a flavor group in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The cores of the empty data centre.
    Total(Cores),
    /// There is no object for it. Not read for commitments of memory.
    NoObject,
    /// The object of this name has no total of cores yet.
    NoCores(String),
    /// Unknown at the moment, and why.
    Unknown(BlockReason),
}

pub(crate) fn ready(object: &CommittedResource) -> Option<Ready> {
    let condition = conditions::ready(&object.status.as_ref()?.conditions)?;
    Some(Ready {
        status: match condition.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: Reason::parse(&condition.reason),
        message: condition.message.clone(),
        observed_generation: condition.observed_generation.unwrap_or_default(),
        since: condition.last_transition_time.0,
    })
}
