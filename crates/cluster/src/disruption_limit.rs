//! The disruption limit: a plan that would delete or move too many slots of a zone within ten minutes, although no user
//! asked for it, is stopped and reported. The controllers say what a plan would disturb.
//!
//! All controllers of a process share one window per zone. The window is in memory: after a restart it is empty, so at
//! most twice the limit is disturbed within ten minutes.

mod condition;
mod window;

use std::collections::BTreeMap;
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

use crate::{DisruptionLimitMetrics, Event, EventKind, Events, ObjectKey, Right, Store};
use window::Window;

pub use self::condition::{disruption_limited_reason, disruption_limited_slots, write_disruption_limited};

/// The command with which a user confirms, for an hour.
const CONFIRM: &str = "kubectl annotate --overwrite knowledge flavor-groups \
                       reservations.cortex.cloud/confirm-disruption=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)";

/// The dependencies of the disruption limit.
pub struct DisruptionLimitParts {
    pub limit: config::DisruptionLimit,
    pub reservations: Store<Reservation>,
    pub knowledges: Store<Knowledge>,
    /// The wall clock, for the confirmation only.
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub metrics: Arc<DisruptionLimitMetrics>,
}

/// The controller and object that a plan belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requester {
    kind: String,
    key: ObjectKey,
    cause: &'static str,
}

impl Requester {
    pub fn of<K: crate::Kind>(key: &ObjectKey) -> Self {
        Self { kind: crate::kind_name::<K>(), key: key.clone(), cause: "" }
    }

    /// Another plan for the same object, by another client, for this cause.
    #[must_use]
    pub fn because(self, cause: &'static str) -> Self {
        Self { cause, ..self }
    }
}

/// The changes of a plan that no user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    pub zone: String,
    /// Why: a reason of the condition `DisruptionLimited`.
    pub cause: &'static str,
    /// The slots that would lose their host or be deleted.
    pub slots: Vec<ObjectKey>,
}

/// A plan that may not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub zone: String,
    pub cause: &'static str,
    /// Slots that would be disturbed within ten minutes, counted until they were too many.
    pub count: usize,
    pub limit: usize,
    pub total: usize,
}

/// Describes the disruption and how to confirm it.
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zone, count, limit, total, .. } = self;
        write!(
            f,
            "at least {count} of {total} slots of zone {zone} would be moved or deleted within 10 minutes, and only \
             {limit} may be; it is not applied before the cause is gone or a user confirms it: {CONFIRM}"
        )
    }
}

/// Stops plans. Clones share the windows.
#[derive(Clone)]
pub struct DisruptionLimit {
    shared: Arc<Shared>,
}

struct Shared {
    parts: DisruptionLimitParts,
    started_at: Instant,
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
    stopped: BTreeMap<Requester, Stopped>,
    /// The number of its slots, and when they were counted.
    counted: Option<(Instant, usize)>,
}

impl DisruptionLimit {
    /// The rights for its own writes; controllers declare the rights for events about their own objects.
    pub fn rights() -> Vec<Right> {
        vec![
            Right::events_about::<Knowledge>()
                .at_home()
                .because("Events about the disruption limit, on the flavor groups."),
        ]
    }

    /// A disruption limit that has seen nothing yet.
    pub fn new(parts: DisruptionLimitParts) -> Self {
        Self { shared: Arc::new(Shared { parts, started_at: Instant::now(), state: Mutex::default() }) }
    }

    /// Lets a plan go on, which then counts, or stops it. `demand` are all slots that the same cause would disturb sooner
    /// or later, if they are known: a plan that would exceed the limit in the end does not start.
    pub fn ask(
        &self,
        by: &Requester,
        plan: &Disruption,
        demand: impl IntoIterator<Item = ObjectKey>,
    ) -> Result<(), Stopped> {
        if plan.slots.is_empty() || self.is_confirmed() {
            self.release(by);
            return Ok(());
        }
        let outcome = self.weigh(plan, demand);
        match &outcome {
            Ok(()) => self.release(by),
            Err(stopped) => self.engage(by, stopped),
        }
        outcome
    }

    fn weigh(&self, plan: &Disruption, demand: impl IntoIterator<Item = ObjectKey>) -> Result<(), Stopped> {
        let mut state = self.shared.state.lock();
        let zone = state.zones.entry(plan.zone.clone()).or_default();
        let total = zone.total(|| self.slots_in(&plan.zone));
        let limit = self.shared.parts.limit.limit(total);
        let answer = zone.window.ask(&plan.slots, demand, limit, self.shared.started_at.elapsed());
        answer.map_err(|count| Stopped { zone: plan.zone.clone(), cause: plan.cause, count, limit, total })
    }

    /// The plan is not stopped, or no longer exists. Every reconciliation that does not check the limit calls this.
    pub fn release(&self, by: &Requester) {
        let released: Vec<String> = {
            let mut state = self.shared.state.lock();
            let held = state.zones.iter_mut().filter_map(|(name, zone)| zone.stopped.remove(by).map(|_| (name, zone)));
            let released = held.filter(|(_, zone)| zone.stopped.is_empty()).map(|(name, _)| name.clone());
            // Under the lock: another thread may engage the disruption limit again at once.
            released.inspect(|zone| self.show(zone, false)).collect()
        };
        for zone in released {
            info!(%zone, "disruption limit released");
            let note = format!("nothing is held back in zone {zone} any more");
            self.publish_event(&by.reference(), EventKind::Normal, "DisruptionLimitReleased", note);
        }
    }

    /// Why the plan that was asked for last is stopped, if it is.
    pub fn stopped(&self, by: &Requester) -> Option<Stopped> {
        let state = self.shared.state.lock();
        state.zones.values().find_map(|zone| zone.stopped.get(by).cloned())
    }

    fn engage(&self, by: &Requester, stopped: &Stopped) {
        let (first, new) = {
            let mut state = self.shared.state.lock();
            let zone = state.zones.entry(stopped.zone.clone()).or_default();
            self.show(&stopped.zone, true);
            (zone.stopped.is_empty(), zone.stopped.insert(by.clone(), stopped.clone()).is_none())
        };
        if new {
            self.shared.parts.metrics.stopped.with_label_values(&[stopped.zone.as_str()]).inc();
        }
        if first {
            warn!(zone = %stopped.zone, cause = stopped.cause, reason = %stopped, "disruption limit reached");
            self.publish_event(&by.reference(), EventKind::Warning, "DisruptionLimitReached", stopped.to_string());
        }
    }

    fn show(&self, zone: &str, is_engaged: bool) {
        self.shared.parts.metrics.engaged.with_label_values(&[zone]).set(is_engaged.into());
    }

    /// Whether a user has switched the disruption limit off for now. An invalid value is logged once.
    fn is_confirmed(&self) -> bool {
        let Ok(now) = self.shared.parts.clock.trusted_now() else { return false };
        let value = self.knowledge().and_then(|object| object.annotations().get(labels::CONFIRM_DISRUPTION).cloned());
        let mut state = self.shared.state.lock();
        if state.refused.is_some() && state.refused == value {
            return false;
        }
        let read = confirmation(value.as_deref(), now);
        state.refused = if matches!(read, Confirmation::Refused(_)) { value } else { None };
        drop(state);
        if let Confirmation::Refused(why) = &read {
            self.refuse(why);
        }
        read == Confirmation::Given
    }

    fn refuse(&self, why: &str) {
        warn!(annotation = labels::CONFIRM_DISRUPTION, reason = why, "confirmation ignored");
        let note = format!("the annotation {} counts as absent: {why}", labels::CONFIRM_DISRUPTION);
        let no_object = (ClusterName::home(), ObjectReference::default());
        self.publish_event(&no_object, EventKind::Warning, "ConfirmationRefused", note);
    }

    /// On the Knowledge object, where the confirmation belongs; without one on the object concerned.
    fn publish_event(&self, concerned: &(ClusterName, ObjectReference), kind: EventKind, reason: &str, note: String) {
        let event = Event { kind, reason: reason.to_owned(), action: "LimitDisruption".to_owned(), note };
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
    /// Counted at most once per second, because many stopped plans check the limit often.
    fn total(&mut self, count: impl FnOnce() -> usize) -> usize {
        let fresh = self.counted.filter(|(at, _)| at.elapsed().as_secs() < 1);
        let (_, total) = *self.counted.insert(fresh.unwrap_or_else(|| (Instant::now(), count())));
        total
    }
}

impl Requester {
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

// The confirmation by a user: a time on the Knowledge object until which the disruption limit is off. This part
// validates the value; the disruption limit reports invalid ones.

/// How far ahead a confirmation may reach: one that was forgotten must not leave a region without a disruption limit.
const FARTHEST: Duration = Duration::from_secs(24 * 3600);

/// The parsed value of the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Confirmation {
    /// No confirmation is valid at the moment.
    None,
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
