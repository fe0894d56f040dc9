//! The brake: a plan that would delete or move too many slots of a zone within ten minutes, without anybody having
//! wished it, stops. It decides whether a plan may go on and tells people when one may not; what a plan would disturb,
//! and what is said of the object concerned, is up to the controllers. All of a process share one window per zone.
//!
//! The window is memory: after a restart it is empty, so at most twice the limit is disturbed within ten minutes.

mod saying;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{Knowledge, Reservation, labels, names};
use berth_telemetry::clock::Clock;
use berth_telemetry::config;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{BrakeMetrics, Event, EventKind, Events, ObjectKey, Right, Store};
use window::Window;

pub use self::saying::{braked_slots, say_braked};

/// The command with which a person confirms, for an hour.
const CONFIRM: &str = "kubectl annotate --overwrite knowledge flavor-groups \
                       reservations.cortex.cloud/confirm-disruption=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)";

/// What the brake works with.
pub struct BrakeParts {
    /// How much may be disturbed.
    pub limit: config::Brake,
    /// How many slots a zone has.
    pub reservations: Store<Reservation>,
    /// Where the confirmation is.
    pub knowledges: Store<Knowledge>,
    /// The wall clock, for the confirmation only.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub events: Events,
    /// Counts.
    pub metrics: Arc<BrakeMetrics>,
}

/// Whose plan it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asker {
    kind: String,
    key: ObjectKey,
    cause: &'static str,
}

impl Asker {
    /// The plan of an object.
    pub fn of<K: crate::Kind>(key: &ObjectKey) -> Self {
        Self { kind: crate::kind_name::<K>(), key: key.clone(), cause: "" }
    }

    /// Another plan for the same object, by somebody else, for this cause.
    #[must_use]
    pub fn because(self, cause: &'static str) -> Self {
        Self { cause, ..self }
    }
}

/// What a plan would do that nobody wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// The zone of the slots.
    pub zone: String,
    /// Why: a reason of the condition `Braked`.
    pub cause: &'static str,
    /// The slots that would lose their host or be deleted.
    pub slots: Vec<ObjectKey>,
}

/// A plan that may not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The zone whose brake stopped it.
    pub zone: String,
    /// The reason of the condition `Braked`.
    pub cause: &'static str,
    /// Slots that would be disturbed within ten minutes, counted until they were too many.
    pub count: usize,
    /// How many may be.
    pub limit: usize,
    /// How many slots the zone has.
    pub total: usize,
}

/// What would happen, and how it is confirmed.
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zone, count, limit, total, .. } = self;
        write!(
            f,
            "at least {count} of {total} slots of zone {zone} would be moved or deleted within 10 minutes, and only \
             {limit} may be; nothing is done before the cause has gone or somebody confirms: {CONFIRM}"
        )
    }
}

/// Stops plans. Clones share the windows.
#[derive(Clone)]
pub struct Brake {
    shared: Arc<Shared>,
}

struct Shared {
    parts: BrakeParts,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    zones: BTreeMap<String, Zone>,
    /// A value of the annotation that was refused: it stays so, also when its time comes near.
    refused: Option<String>,
}

#[derive(Default)]
struct Zone {
    window: Window,
    stopped: BTreeSet<Asker>,
    /// The number of its slots, and when they were counted.
    counted: Option<(Instant, usize)>,
}

impl Brake {
    /// What it writes: the controllers that ask it publish events about their own objects anyway.
    pub fn rights() -> Vec<Right> {
        vec![Right::events_about::<Knowledge>().at_home().because("Events about the brake, on the flavor groups.")]
    }

    /// A brake that has seen nothing yet.
    pub fn new(parts: BrakeParts) -> Self {
        Self { shared: Arc::new(Shared { parts, began: Instant::now(), state: Mutex::default() }) }
    }

    /// Lets a plan go on, which then counts, or stops it. `demand` are all slots that the same cause would disturb sooner
    /// or later, if anybody knows them: what would be too much in the end does not begin.
    pub fn ask(
        &self,
        by: &Asker,
        plan: &Disruption,
        demand: impl IntoIterator<Item = ObjectKey>,
    ) -> Result<(), Stopped> {
        if plan.slots.is_empty() || self.is_confirmed() {
            self.over(by);
            return Ok(());
        }
        let outcome = self.weigh(plan, demand);
        match &outcome {
            Ok(()) => self.over(by),
            Err(stopped) => self.engage(by, stopped),
        }
        outcome
    }

    fn weigh(&self, plan: &Disruption, demand: impl IntoIterator<Item = ObjectKey>) -> Result<(), Stopped> {
        let mut state = self.shared.state.lock();
        let zone = state.zones.entry(plan.zone.clone()).or_default();
        let total = zone.total(|| self.slots_in(&plan.zone));
        let limit = self.shared.parts.limit.limit(total);
        let answer = zone.window.ask(&plan.slots, demand, limit, self.shared.began.elapsed());
        answer.map_err(|count| Stopped { zone: plan.zone.clone(), cause: plan.cause, count, limit, total })
    }

    /// The plan is not stopped, or there is none any more. Every look that does not ask says so.
    pub fn over(&self, by: &Asker) {
        let released: Vec<String> = {
            let mut state = self.shared.state.lock();
            let held =
                state.zones.iter_mut().filter_map(|(name, zone)| zone.stopped.remove(by).then_some((name, zone)));
            let released = held.filter(|(_, zone)| zone.stopped.is_empty()).map(|(name, _)| name.clone());
            // Under the lock: another thread may engage the brake again at once.
            released.inspect(|zone| self.show(zone, false)).collect()
        };
        for zone in released {
            info!(%zone, "the brake is released");
            let note = format!("nothing is held back in zone {zone} any more");
            self.tell(&by.reference(), EventKind::Normal, "BrakeReleased", note);
        }
    }

    fn engage(&self, by: &Asker, stopped: &Stopped) {
        let (first, new) = {
            let mut state = self.shared.state.lock();
            let zone = state.zones.entry(stopped.zone.clone()).or_default();
            self.show(&stopped.zone, true);
            (zone.stopped.is_empty(), zone.stopped.insert(by.clone()))
        };
        if new {
            self.shared.parts.metrics.stopped.with_label_values(&[stopped.zone.as_str()]).inc();
        }
        if first {
            warn!(zone = %stopped.zone, cause = stopped.cause, reason = %stopped, "the brake is engaged");
            self.tell(&by.reference(), EventKind::Warning, "BrakeEngaged", stopped.to_string());
        }
    }

    fn show(&self, zone: &str, is_engaged: bool) {
        self.shared.parts.metrics.engaged.with_label_values(&[zone]).set(is_engaged.into());
    }

    /// Whether a person has switched the brake off for now. A value that counts as absent is said once.
    fn is_confirmed(&self) -> bool {
        let value = self.knowledge().and_then(|object| object.annotations().get(labels::CONFIRM_DISRUPTION).cloned());
        let mut state = self.shared.state.lock();
        if state.refused.is_some() && state.refused == value {
            return false;
        }
        let read = confirmation(value.as_deref(), self.shared.parts.clock.now());
        state.refused = if matches!(read, Confirmation::Refused(_)) { value } else { None };
        drop(state);
        if let Confirmation::Refused(why) = &read {
            self.refuse(why);
        }
        read == Confirmation::Given
    }

    fn refuse(&self, why: &str) {
        warn!(annotation = labels::CONFIRM_DISRUPTION, reason = why, "the confirmation counts as absent");
        let note = format!("the annotation {} counts as absent: {why}", labels::CONFIRM_DISRUPTION);
        let nobody = (ClusterName::home(), ObjectReference::default());
        self.tell(&nobody, EventKind::Warning, "ConfirmationRefused", note);
    }

    /// On the Knowledge object, where the confirmation belongs; without one on the object concerned.
    fn tell(&self, concerned: &(ClusterName, ObjectReference), kind: EventKind, reason: &str, note: String) {
        let event = Event { kind, reason: reason.to_owned(), action: "Brake".to_owned(), note };
        let knowledge = self.knowledge().map(|object| (ClusterName::home(), object.object_ref(&())));
        let (cluster, object) = knowledge.as_ref().unwrap_or(concerned);
        self.shared.parts.events.publish(cluster, object, event);
    }

    fn knowledge(&self) -> Option<Arc<Knowledge>> {
        self.shared.parts.knowledges.get(&ObjectKey::new(ClusterName::home(), names::FLAVOR_GROUPS))
    }

    fn slots_in(&self, zone: &str) -> usize {
        let all = self.shared.parts.reservations.all();
        let of_zone = |object: &Reservation| {
            object.spec.committed_resource_reservation.is_some()
                && object.spec.availability_zone.as_deref().unwrap_or_default() == zone
        };
        all.iter().filter(|entry| of_zone(&entry.object)).count()
    }
}

impl Zone {
    /// Counted at most once per second: when much is stopped, much asks.
    fn total(&mut self, count: impl FnOnce() -> usize) -> usize {
        let fresh = self.counted.filter(|(at, _)| at.elapsed().as_secs() < 1);
        let (_, total) = *self.counted.insert(fresh.unwrap_or_else(|| (Instant::now(), count())));
        total
    }
}

impl Asker {
    fn reference(&self) -> (ClusterName, ObjectReference) {
        let object = ObjectReference {
            api_version: Some("cortex.cloud/v1alpha1".to_owned()),
            kind: Some(self.kind.clone()),
            name: Some(self.key.name.to_string()),
            ..ObjectReference::default()
        };
        (self.key.cluster.clone(), object)
    }
}

// The confirmation of a person: a time on the Knowledge object until which the brake is off. It decides what counts
// as one; who is told of a value that does not is decided by the brake.

/// How far ahead a confirmation may reach: one that was forgotten must not leave a region without a brake.
const FARTHEST: Duration = Duration::from_secs(24 * 3600);

/// What the annotation says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Confirmation {
    /// There is none that holds at the moment.
    None,
    /// The brake is off.
    Given,
    /// Its value counts as absent, for this reason.
    Refused(String),
}

/// Reads the value of the annotation at `now`.
fn confirmation(value: Option<&str>, now: Timestamp) -> Confirmation {
    let Some(value) = value else { return Confirmation::None };
    let Ok(until) = value.trim().parse::<Timestamp>() else {
        return Confirmation::Refused(format!("{value:?} is not a time; give one like {}", example(now)));
    };
    let ahead = until.duration_since(now);
    if ahead > SignedDuration::try_from(FARTHEST).unwrap_or(SignedDuration::MAX) {
        return Confirmation::Refused(format!("{value} is more than 24 hours ahead; give one like {}", example(now)));
    }
    if ahead.is_positive() { Confirmation::Given } else { Confirmation::None }
}

/// An hour ahead, in whole seconds.
fn example(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second() + 3600).unwrap_or(now)
}

#[cfg(test)]
mod tests;
