//! The controller: read, plan, apply (architecture section 3). What is reported are gauges; what an evicted slot says is
//! written by the controller of slots, which hears of it from the object.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, Asker, Brake, FirstSeen, Freezer, ObjectKey, Reconciler, Right, Store, Verb, Watches, Writer,
};
use berth_core::Resources;
use berth_crds::{Hypervisor, Reservation};
use berth_scheduler::{BuiltIn, HostReport};
use tokio::time::Instant;
use tracing::debug;

use super::evictions::Evictions;
use super::metrics::OversubscriptionMetrics;
use super::plan::{Plan, Settings, Step, plan};
use super::watches;
use crate::error::Error;

/// What the controller works with.
pub struct Context {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// The capacity view, whoever finds hosts for slots.
    pub view: Arc<BuiltIn>,
    /// What is left as it is.
    pub freezer: Freezer,
    /// Stops what would disturb too much.
    pub brake: Brake,
    /// Where the controller of slots finds why a slot lost its host.
    pub evictions: Evictions,
    /// Counts.
    pub metrics: OversubscriptionMetrics,
    /// The configuration.
    pub settings: Settings,
}

/// Takes slots from hosts that hold more than they have.
pub struct OversubscriptionController {
    pub(super) context: Context,
    /// Hosts that were checked, since the last time.
    pub(super) checked: FirstSeen<ObjectKey>,
    /// Hosts that are over-booked, since that was first seen or a slot was last evicted.
    pub(super) over: FirstSeen<ObjectKey>,
    /// Over-booked hosts of which people were told that nothing is done.
    pub(super) told: FirstSeen<ObjectKey>,
}

impl Reconciler for OversubscriptionController {
    const NAME: &'static str = "host-oversubscription";
    type Key = ObjectKey;
    type Settings = Settings;
    type Error = Error;

    /// It writes nothing as long as it only counts.
    fn rights(settings: &Settings) -> Vec<Right> {
        let evict = Right::kind::<Reservation>(&[Verb::Patch]).because("Slots are taken from over-booked hosts.");
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
            self.context.brake.over(&asker(&key));
            self.context.metrics.clear(&key);
            return Ok(Action::AwaitChange);
        };
        let interval = self.context.settings.interval;
        let pause =
            self.checked.held_for(&key, Instant::now()).map_or(Duration::ZERO, |past| interval.saturating_sub(past));
        if !pause.is_zero() {
            return Ok(Action::RequeueAfter(pause));
        }
        self.settle(&report).await?;
        if let Err(partial) = self.complete(&report) {
            // Nobody watches: the grace begins anew, and this was no check.
            debug!(host = %key.name, why = %partial, "not checked");
            self.over.forget(&key);
            return Ok(Action::RequeueAfter(interval));
        }
        self.check(&key).await
    }
}

impl OversubscriptionController {
    /// A controller that has seen nothing yet.
    pub fn new(context: Context) -> Self {
        Self { context, checked: FirstSeen::default(), over: FirstSeen::default(), told: FirstSeen::default() }
    }

    async fn check(&self, key: &ObjectKey) -> Result<Action, Error> {
        let Some(seen) = self.report(key).map(|report| self.read(report)) else { return Ok(Action::AwaitChange) };
        self.checked.restart(key, Instant::now());
        let over_for = if seen.facts.excess() == Resources::ZERO {
            self.in_order(key);
            Duration::ZERO
        } else {
            self.over.note(key, Instant::now())
        };
        let Plan { excess, step } = plan(&seen.facts, over_for, &self.context.settings);
        self.context.metrics.show(key, &seen.host.zone, excess);
        if !matches!(step, Step::Evict(_)) {
            self.context.brake.over(&asker(key));
        }
        match step {
            Step::Nothing => Ok(Action::AwaitChange),
            Step::Wait(rest) => Ok(Action::RequeueAfter(rest)),
            Step::Stuck(why) => {
                self.tell(key, why, excess);
                self.over.restart(key, Instant::now());
                Ok(Action::RequeueAfter(self.context.settings.grace))
            }
            Step::Evict(slots) => {
                let slots: BTreeSet<ObjectKey> = slots.iter().map(ObjectKey::from).collect();
                if self.may_leave(key, &seen, &slots) {
                    self.relieve(key, &seen, slots, excess).await?;
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

    pub(super) fn in_order(&self, key: &ObjectKey) {
        self.over.forget(key);
        self.told.forget(key);
    }
}

pub(super) fn asker(host: &ObjectKey) -> Asker {
    Asker::of::<Hypervisor>(host)
}
