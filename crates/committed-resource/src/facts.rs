//! What a look at a commitment rests on. Gathered by the controller, never changed by a decision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{FlavorGroupsError, Frozen, ObjectKey, Partial, RouteError, Whole};
use berth_core::commitment::{Spec, State};
use berth_core::flavor::FlavorGroups;
use berth_core::host::ConditionStatus;
use berth_core::planner::Target;
use berth_core::slot::Slot;
use berth_core::{ClusterName, Cores, HostName, Resources, SlotName};
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommitmentState, CommittedResource, Reservation, conditions};
use berth_scheduler::Shortage;
use jiff::Timestamp;

use crate::hindrance::{Hindrance, UnreadableHost};

/// A commitment and the world around it, as far as its slots depend on it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Name of the CommittedResource object.
    pub name: String,
    /// The cluster that holds it.
    pub cluster: ClusterName,
    /// Why it is left exactly as it is.
    pub frozen: Option<Frozen>,
    /// The cluster of its zone, when that is another one.
    pub belongs_to: Option<ClusterName>,
    /// Why nobody knows what commitments there are in that cluster, if so: one of them may be served in its place.
    pub belongs_unread: Option<Partial>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.creationTimestamp`: the rank among commitments that wait for room.
    pub created: Timestamp,
    /// It has a deletion time.
    pub deleting: bool,
    /// It carries the finalizer that releases its slots.
    pub has_finalizer: bool,
    /// What is wanted.
    pub spec: Spec,
    /// What was accepted last.
    pub accepted: Option<Spec>,
    /// Its Ready condition.
    pub ready: Option<Ready>,
    /// The object that is served in its place, when two have the same UUID.
    pub served_instead: Option<Served>,
    /// What each cluster holds of it.
    pub holdings: BTreeMap<ClusterName, Holding>,
    /// Where the slots of the wanted spec belong, or why nobody can say.
    pub site: Result<Site, RouteError>,
    /// The same for the accepted spec.
    pub accepted_site: Result<Site, RouteError>,
    /// Clusters that a person has given up: what they may hold does not keep the commitment.
    pub forgotten: BTreeSet<ClusterName>,
    /// Which names of slots are taken by other objects.
    pub taken: Taken,
    /// The flavor groups, or why they cannot be read.
    pub groups: Result<Arc<FlavorGroups>, FlavorGroupsError>,
    /// Why the newest flavor groups cannot be read, while older ones count: then an unknown group proves nothing.
    pub outdated: Option<FlavorGroupsError>,
    /// Free room on the hosts of slots that are smaller than their flavor.
    pub room: BTreeMap<HostName, Resources>,
    /// Why the first of its slots in the waiting list of the scheduler found no host.
    pub shortage: Option<Shortage>,
    /// How many cores its group has in its zone, for a commitment of cores.
    pub capacity: Capacity,
}

/// The object that is served for a UUID in place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Which object.
    pub key: ObjectKey,
    /// It carries the finalizer and is not going away itself, so that the slots are safe with it.
    pub protects: bool,
}

/// What one cluster holds of a commitment.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The slots with its UUID.
    pub slots: Vec<Slot>,
    /// Proof that there are no others, or why there may be: then no slot is created, sized or deleted there.
    pub read: Result<Whole<Reservation>, Partial>,
    /// Another object of that cluster has the same UUID: the slots are left to whoever sorts that out.
    pub shared: bool,
}

/// Where the slots and hosts of a zone are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The cluster of its Reservations.
    pub cluster: ClusterName,
    /// Why its hosts are not followed, if so: then no slot is placed.
    pub hosts_unknown: Option<Partial>,
    /// A Hypervisor that cannot be read, and why: then a lack of room proves nothing.
    pub host_unreadable: Option<UnreadableHost>,
}

/// Tells whether a Reservation of that name exists.
#[derive(Clone)]
pub struct Taken(pub Arc<dyn Fn(&SlotName) -> bool + Send + Sync>);

impl fmt::Debug for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Taken")
    }
}

/// The Ready condition of a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason; none when it is not one of ours.
    pub reason: Option<Reason>,
    /// Its message.
    pub message: String,
    /// The generation that it speaks of.
    pub observed_generation: i64,
    /// Since when.
    pub since: Timestamp,
}

impl Facts {
    /// The slots where those of the wanted spec belong.
    pub fn slots(&self) -> &[Slot] {
        let holding = self.site.as_ref().ok().and_then(|site| self.holdings.get(&site.cluster));
        holding.map(|holding| &holding.slots[..]).unwrap_or_default()
    }

    /// The slots of every cluster.
    pub fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        self.holdings.values().flat_map(|holding| &holding.slots)
    }

    /// The clusters of which nobody knows whether they hold slots, and why. One that was given up does not count.
    pub fn unreadable(&self) -> impl Iterator<Item = (&ClusterName, &Partial)> {
        let held = self.holdings.iter().filter_map(|(cluster, holding)| Some((cluster, holding.read.as_ref().err()?)));
        held.filter(|(cluster, _)| !self.forgotten.contains(*cluster))
    }

    /// A Hypervisor of the wanted zone's cluster that cannot be read.
    pub fn host_unreadable(&self) -> Option<&UnreadableHost> {
        self.site.as_ref().ok()?.host_unreadable.as_ref()
    }

    /// `<object name>-`, the start of every slot name.
    pub fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    /// What the slots of this spec, the wanted or the accepted one, are to be.
    pub fn target(&self, spec: &Spec) -> Target {
        Target {
            commitment: spec.uuid.clone(),
            project: spec.project.clone(),
            domain: spec.domain.clone(),
            group: spec.group.clone(),
            zone: spec.zone.clone(),
            memory: spec.memory(),
            start: spec.start,
            end: spec.end,
            generation: self.generation,
            prefix: self.prefix(),
        }
    }

    /// The condition, when it speaks of the present generation.
    pub fn verdict(&self) -> Option<&Ready> {
        self.ready.as_ref().filter(|ready| ready.observed_generation == self.generation)
    }

    /// Why nobody knows whether it still is the duplicate that it was said to be, if so.
    pub fn may_be_duplicate(&self) -> Option<&Partial> {
        self.belongs_unread
            .as_ref()
            .filter(|_| self.verdict().is_some_and(|said| said.reason == Some(Reason::DuplicateUuid)))
    }

    /// True when this generation was refused for good.
    pub fn is_rejected(&self) -> bool {
        self.verdict().is_some_and(|ready| ready.reason == Some(Reason::Rejected))
    }

    /// True when this generation was accepted.
    pub fn is_accepted(&self) -> bool {
        self.verdict().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// True when the last thing that was said is that it is accepted, of whichever generation.
    pub fn was_accepted(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// The reason of a commitment that was over before: a clock that is set back does not bring it to life. Where old
    /// data repeats the state that a commitment had when its end came, it has expired.
    pub fn was_over(&self) -> Option<State> {
        match self.verdict()?.reason? {
            Reason::Inactive(CommitmentState::Superseded) => Some(State::Superseded),
            Reason::Inactive(_) => Some(State::Expired),
            _ => None,
        }
    }

    /// True when a failure may be answered with a rejection: not once the accepted spec covers what is wanted.
    pub fn may_reject(&self) -> bool {
        self.spec.allow_rejection && !self.accepted.as_ref().is_some_and(|accepted| accepted.covers(&self.spec))
    }

    /// How long the condition has had its present reason, if that is `Reserving`.
    pub fn reserving_for(&self, now: Timestamp) -> Option<Duration> {
        let ready = self.ready.as_ref().filter(|ready| ready.reason == Some(Reason::Reserving))?;
        Some(now.duration_since(ready.since).try_into().unwrap_or_default())
    }
}

/// What is known of the cores of a flavor group in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many cores has the empty data centre.
    Total(Cores),
    /// No object is about it. Commitments of memory do not ask.
    NoObject,
    /// The object of this name has no total of cores yet.
    NoCores(String),
    /// Nobody can say at the moment, and why.
    Unknown(Hindrance),
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
