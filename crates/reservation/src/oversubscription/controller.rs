//! The controller: read, plan, apply (architecture section 3). What is reported are gauges; what an evicted slot says is
//! written by the controller of slots, which hears of it from the object.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use berth_cluster::{
    Action, Asker, Brake, Disruption, Freezer, Guard, Malformed, ObjectKey, Partial, Reconciler, Right, Store, Verb,
    Watches, WriteError, Writer, Written, indexes::RESERVATION_BY_HOST,
};
use berth_core::{Resources, host::ConditionStatus, host::Host};
use berth_crds::{
    Hypervisor, Reservation,
    conditions::{READY, safety::HOST_OVERBOOKED},
};
use berth_scheduler::{BuiltIn, Held, HostReport};
use tracing::{debug, info, warn};

use super::{
    evictions::{Eviction, Evictions},
    facts::{Facts, Occupant},
    metrics::OversubscriptionMetrics,
    plan::{Plan, Settings, Step, Stuck, plan},
    watches,
};
use crate::{error::Error, keys::object_key, since::Since, watches::is_slot};

/// What the controller works with.
pub struct Parts {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// The capacity view, whoever finds hosts for slots.
    pub view: Arc<BuiltIn>,
    /// What is left as it is.
    pub freezer: Freezer,
    /// Stops what would disturb too much (D14).
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
    parts: Parts,
    /// Hosts that were checked, since the last time.
    checked: Since<ObjectKey>,
    /// Hosts that are over-booked, since that was first seen or a slot was last evicted.
    over: Since<ObjectKey>,
    /// Over-booked hosts of which people were told that nothing is done.
    told: Since<ObjectKey>,
}

/// A host as it was read, with the objects of the slots on it.
struct Seen {
    host: Host,
    facts: Facts,
    slots: Vec<(ObjectKey, Arc<Reservation>)>,
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
        watches::declare(watches, &self.parts.hypervisors, self.parts.reservations.store());
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.parts.hypervisors.keys()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(report) = self.report(&key) else {
            self.checked.forget(&key);
            self.in_order(&key);
            self.parts.brake.over(&asker(&key));
            self.parts.metrics.clear(&key);
            return Ok(Action::AwaitChange);
        };
        let interval = self.parts.settings.interval;
        let pause = self.checked.so_for(&key).map_or(Duration::ZERO, |past| interval.saturating_sub(past));
        if !pause.is_zero() {
            return Ok(Action::RequeueAfter(pause));
        }
        self.settle(&report).await?;
        if let Err(partial) = self.complete(&report) {
            // Nobody watches: the grace begins anew, and this was no check (document 21 section 15 no. 14).
            debug!(host = %key.name, why = %partial, "not checked");
            self.over.forget(&key);
            return Ok(Action::RequeueAfter(interval));
        }
        self.check(&key).await
    }
}

impl OversubscriptionController {
    /// A controller that has seen nothing yet.
    pub fn new(parts: Parts) -> Self {
        Self { parts, checked: Since::default(), over: Since::default(), told: Since::default() }
    }

    async fn check(&self, key: &ObjectKey) -> Result<Action, Error> {
        let Some(seen) = self.report(key).map(|report| self.read(report)) else { return Ok(Action::AwaitChange) };
        self.checked.begin(key);
        let over_for = if seen.facts.excess() == Resources::ZERO {
            self.in_order(key);
            Duration::ZERO
        } else {
            self.over.noticed(key)
        };
        let Plan { excess, step } = plan(&seen.facts, over_for, &self.parts.settings);
        self.parts.metrics.show(key, &seen.host.zone, excess);
        if !matches!(step, Step::Evict(_)) {
            self.parts.brake.over(&asker(key));
        }
        match step {
            Step::Nothing => Ok(Action::AwaitChange),
            Step::Wait(rest) => Ok(Action::RequeueAfter(rest)),
            Step::Stuck(why) => {
                self.tell(key, why, excess);
                self.over.begin(key);
                Ok(Action::RequeueAfter(self.parts.settings.grace))
            }
            Step::Evict(slots) => {
                let slots: BTreeSet<ObjectKey> = slots.iter().map(object_key).collect();
                if self.may_leave(key, &seen, &slots) {
                    self.relieve(key, &seen, slots, excess).await?;
                }
                Ok(Action::RequeueAfter(self.parts.settings.interval))
            }
        }
    }

    /// The brake says itself when it stops something; the host is asked about again at its next check.
    fn may_leave(&self, key: &ObjectKey, seen: &Seen, slots: &BTreeSet<ObjectKey>) -> bool {
        let slots = slots.iter().cloned().collect();
        let plan = Disruption { zone: seen.host.zone.as_str().to_owned(), cause: HOST_OVERBOOKED, slots };
        self.parts.brake.ask(&asker(key), &plan, []).is_ok()
    }

    async fn relieve(
        &self,
        key: &ObjectKey,
        seen: &Seen,
        slots: BTreeSet<ObjectKey>,
        excess: Resources,
    ) -> Result<(), Error> {
        let evicted = self.evict_all(seen, slots, excess).await;
        // Shown at once; a write that has failed is tried again without waiting for the next check.
        if let Some(report) = self.report(key) {
            self.parts.metrics.show(key, &seen.host.zone, self.read(report).facts.excess());
        }
        match &evicted {
            Ok(()) => self.in_order(key),
            Err(_) => drop(self.checked.forget(key)),
        }
        evicted
    }

    /// What the view knows of the host, if it is the one of that name that counts.
    fn report(&self, key: &ObjectKey) -> Option<HostReport> {
        self.parts.hypervisors.get(key)?;
        let report = self.parts.view.host_report(&(&*key.name).into())?;
        (report.host.cluster == key.cluster).then_some(report)
    }

    /// Slots in doubt are read before anything is decided: they may have left already.
    async fn settle(&self, report: &HostReport) -> Result<(), Error> {
        let store = self.parts.reservations.store();
        let keys = report.reservations.iter().map(|held| object_key(&held.reservation.key));
        for key in keys.filter(|key| store.in_doubt(key)) {
            self.parts.reservations.settle(&key).await?;
        }
        Ok(())
    }

    /// Whether everything is known that concerns the host (D5): its own object, and all Reservations in its cluster and in
    /// those from which something stands on it.
    fn complete(&self, report: &HostReport) -> Result<(), Partial> {
        let name = report.host.name.as_str();
        self.parts.hypervisors.complete_for(&report.host.cluster, |one| *one.key.name == *name)?;
        let reservations = self.parts.reservations.store();
        let named = reservations.select(&RESERVATION_BY_HOST, name);
        let readable = |one: &Malformed| named.iter().any(|entry| entry.key == one.key);
        let concerns = |one: &Malformed| {
            readable(one) || one.raw["spec"]["targetHost"] == *name || one.raw["status"]["host"] == *name
        };
        let clusters = report.reservations.iter().map(|held| &held.reservation.key.cluster);
        for cluster in clusters.chain([&report.host.cluster]).collect::<BTreeSet<_>>() {
            reservations.complete_for(cluster, concerns)?;
        }
        Ok(())
    }

    fn read(&self, report: HostReport) -> Seen {
        let store = self.parts.reservations.store();
        let object = |held: &Held| {
            let key = object_key(&held.reservation.key);
            let stays = |object: &Reservation| is_slot(object) && object.metadata.deletion_timestamp.is_none();
            store.get(&key).filter(|object| stays(object)).map(|object| (key, object))
        };
        let held = report.reservations.iter().filter_map(|held| Some((held, object(held)?)));
        let (occupants, slots) =
            held.map(|(held, (key, object))| (self.occupant(&report.host, held, &object), (key, object))).unzip();
        let facts = Facts {
            ready: report.host.conditions.get(READY) == Some(&ConditionStatus::True) && report.host.nonsense.is_none(),
            free: report.observed,
            slots: occupants,
        };
        Seen { host: report.host, facts, slots }
    }

    fn occupant(&self, host: &Host, held: &Held, object: &Reservation) -> Occupant {
        let expected = object.spec.committed_resource_reservation.iter().flat_map(|data| &data.allocations);
        let frozen = self.parts.freezer.slot(object).is_some();
        Occupant {
            key: held.reservation.key.clone(),
            size: held.reservation.size.at_least_zero(),
            block: held.block.block,
            empty: expected.count() == 0 && held.covered == Resources::ZERO,
            leaving: object.spec.target_host.as_deref() != Some(host.name.as_str()) && !frozen,
            frozen,
        }
    }

    async fn evict_all(&self, seen: &Seen, chosen: BTreeSet<ObjectKey>, excess: Resources) -> Result<(), Error> {
        let why = Eviction { host: seen.host.name.clone(), excess };
        for (key, object) in seen.slots.iter().filter(|(key, _)| chosen.contains(key)) {
            self.evict(key, object, &why, &seen.host).await?;
        }
        Ok(())
    }

    /// Takes the host away on the facts that were read, and with it the VMs that are expected: they stay where they are.
    async fn evict(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        why: &Eviction,
        host: &Host,
    ) -> Result<(), Error> {
        let mut bare = Reservation::clone(object);
        bare.spec.target_host = None;
        if let Some(data) = &mut bare.spec.committed_resource_reservation {
            data.allocations.clear();
        }
        self.parts.evictions.note(key, why.clone());
        let written = self.parts.reservations.patch(key, object, &bare, Guard::Version).await;
        if !matches!(written, Ok(Written::Changed(_)) | Err(WriteError::Unknown { .. })) {
            self.parts.evictions.forget(key);
        }
        if let Written::Changed(_) = written? {
            self.parts.metrics.evicted(&host.zone);
            info!(slot = %key.name, host = %why.host, excess = %why.excess, "slot evicted from an over-booked host");
        }
        Ok(())
    }

    fn tell(&self, key: &ObjectKey, why: Stuck, excess: Resources) {
        if self.told.so_for(key).is_some() {
            return;
        }
        self.told.begin(key);
        let host = &*key.name;
        match why {
            Stuck::Disabled => warn!(host, %excess, "host is over-booked, and eviction is not configured"),
            Stuck::NoSlotHelps => {
                warn!(host, %excess, "host is over-booked and no slot may leave it that helps; move VMs away");
            }
        }
    }

    fn in_order(&self, key: &ObjectKey) {
        self.over.forget(key);
        self.told.forget(key);
    }
}

fn asker(host: &ObjectKey) -> Asker {
    Asker::of::<Hypervisor>(host)
}
