//! The controller: read, plan, apply (`docs/architecture.md`). Its reports are gauges; the controller of slots writes
//! the condition of an evicted slot, which it observes in the object.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, DisruptionLimit, FirstSeen, ObjectField, ObjectKey, Pauses, Reconciler, Requester, Requests, Right, Store,
    Verb, Watches, Writer,
};
use berth_core::Resources;
use berth_crds::{Hypervisor, Reservation};
use berth_scheduler::{BuiltIn, HostReport};
use tokio::time::Instant;
use tracing::debug;

use super::evictions::{Evictions, StoppedEviction};
use super::metrics::OversubscriptionMetrics;
use super::plan::{OversubscriptionPlan, OversubscriptionStep, Settings, plan};
use super::watches;
use super::zone::PlannedZones;
use crate::error::Error;

/// The dependencies of the controller.
pub struct Context {
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// The capacity view, in whichever scheduler finds hosts for slots.
    pub view: Arc<BuiltIn>,
    pub pauses: Pauses,
    pub disruption_limit: DisruptionLimit,
    /// Where the controller of slots finds why a slot lost its host, or may not leave it.
    pub evictions: Evictions,
    /// The requests of the controller of slots, which shows what the disruption limit keeps on a host.
    pub slots: Requests<ObjectKey>,
    pub metrics: OversubscriptionMetrics,
    pub settings: Settings,
}

/// Takes slots from hosts that hold more than they have.
pub struct OversubscriptionController {
    pub(super) context: Context,
    /// Hosts that were checked, since the last time.
    pub(super) checked: FirstSeen<ObjectKey>,
    /// Hosts that are over-booked, since that was first seen or a slot was last evicted.
    pub(super) overbooked_since: FirstSeen<ObjectKey>,
    /// Over-booked hosts for which the log has reported that no slot may leave.
    pub(super) reported_since: FirstSeen<ObjectKey>,
    pub(super) zones: PlannedZones,
}

impl Reconciler for OversubscriptionController {
    const NAME: &'static str = "host-oversubscription";
    const OBJECT: ObjectField = ObjectField::Host;
    type Key = ObjectKey;
    type Settings = Settings;
    type Error = Error;

    /// It writes nothing as long as it only counts.
    fn rights(settings: &Settings) -> Vec<Right> {
        let evict = Right::kind::<Reservation>(&[Verb::Get, Verb::Patch]);
        let evict = evict.because("Slots are taken from over-booked hosts.");
        if settings.evict { vec![evict] } else { Vec::new() }
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        watches::declare(watches, &self.context.hypervisors, self.context.reservations.store());
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.context.hypervisors.keys()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(report) = self.report(&key) else {
            self.checked.forget(&key);
            self.in_order(&key);
            self.context.disruption_limit.release(&requester(&key));
            self.context.metrics.clear(&key);
            self.forget_verdict(&key);
            return Ok(Action::AwaitChange);
        };
        let interval = self.context.settings.interval;
        let pause =
            self.checked.held_for(&key, Instant::now()).map_or(Duration::ZERO, |past| interval.saturating_sub(past));
        if !pause.is_zero() {
            return Ok(Action::RequeueAfter(pause));
        }
        self.settle(&report).await?;
        if let Err(partial) = self.check_complete(&report) {
            // Nothing is watched: the grace period starts again, and this was no check.
            debug!(reason = %partial, "host not checked");
            self.overbooked_since.forget(&key);
            return Ok(Action::RequeueAfter(interval));
        }
        self.check(&key).await
    }
}

impl OversubscriptionController {
    pub fn new(context: Context) -> Self {
        if context.settings.evict {
            context.evictions.expect_verdicts();
        }
        Self {
            context,
            checked: FirstSeen::default(),
            overbooked_since: FirstSeen::default(),
            reported_since: FirstSeen::default(),
            zones: PlannedZones::default(),
        }
    }

    async fn check(&self, key: &ObjectKey) -> Result<Action, Error> {
        let Some(seen) = self.report(key).map(|report| self.read(report)) else { return Ok(Action::AwaitChange) };
        self.checked.restart(key, Instant::now());
        let over_for = if seen.facts.excess() == Resources::ZERO {
            self.in_order(key);
            Duration::ZERO
        } else {
            self.overbooked_since.note(key, Instant::now())
        };
        let OversubscriptionPlan { excess, step } = plan(&seen.facts, over_for, &self.context.settings);
        self.context.metrics.show(key, &seen.host.zone, excess);
        if !matches!(step, OversubscriptionStep::Evict(_)) {
            self.context.disruption_limit.release(&requester(key));
        }
        match step {
            OversubscriptionStep::Nothing => {
                self.decide(&seen, None);
                Ok(Action::AwaitChange)
            }
            // Not decided yet: what the slots show, perhaps from a former process, stays.
            OversubscriptionStep::Wait(rest) => Ok(Action::RequeueAfter(rest)),
            OversubscriptionStep::Stuck(why) => {
                self.decide(&seen, None);
                self.report_stuck(key, why, excess);
                self.overbooked_since.restart(key, Instant::now());
                Ok(Action::RequeueAfter(self.context.settings.grace))
            }
            OversubscriptionStep::Evict(slots) => {
                let slots: BTreeSet<ObjectKey> = slots.iter().map(ObjectKey::from).collect();
                match self.check_limit(key, &seen, &slots) {
                    Ok(()) => {
                        self.decide(&seen, None);
                        self.evict_slots(key, &seen, slots, excess).await?;
                    }
                    Err(stopped) => self.decide(&seen, Some(StoppedEviction { slots, stopped })),
                }
                Ok(Action::RequeueAfter(self.context.settings.interval))
            }
        }
    }

    /// Slots in doubt are read before anything is decided: they may have left already.
    async fn settle(&self, report: &HostReport) -> Result<(), Error> {
        let store = self.context.reservations.store();
        let keys = report.reservations.iter().map(|held| ObjectKey::from(&held.reservation.key));
        for key in keys.filter(|key| store.in_doubt(key)) {
            self.context.reservations.settle(&key).await?;
        }
        Ok(())
    }

    /// Another cluster may have a host of this name, on which the verdict is then.
    fn forget_verdict(&self, key: &ObjectKey) {
        if self.context.hypervisors.holders(&key.name).is_empty() {
            self.context.evictions.forget_host(&(&*key.name).into());
        }
    }

    pub(super) fn in_order(&self, key: &ObjectKey) {
        self.overbooked_since.forget(key);
        self.reported_since.forget(key);
    }
}

pub(super) fn requester(host: &ObjectKey) -> Requester {
    Requester::of::<Hypervisor>(host)
}
