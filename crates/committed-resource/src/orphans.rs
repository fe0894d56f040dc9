//! Slots whose commitment is gone (U49): after a restore from a backup, or when somebody has removed the finalizer. The
//! controller looks at one slot at a time and decides, with `plan`, whether it is one of ours that nobody has missed a
//! commitment of for long enough. Slots that others made stay and are counted.

mod metrics;
mod plan;
mod watches;

use std::{sync::Arc, time::Duration};

use berth_cluster::{
    Absences, Action, Asker, Brake, Disruption, Event, EventKind, Events, Freezer, Guard, ObjectKey, Partial,
    Reconciler, Right, Routes, Store, Verb, Watches, Whole, Writer, indexes::COMMITMENT_BY_UUID, say_braked,
};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, Reservation, ReservationType, conditions::safety::ORPHANED, labels};
use berth_telemetry::clock::Clock;
use kube::{Resource, ResourceExt};
use tracing::info;

pub use self::{
    metrics::register,
    plan::{Course, Delays, Facts, plan},
};
use crate::error::Error;

/// What the controller works with.
pub struct OrphanParts {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Commitments, read only.
    pub commitments: Store<CommittedResource>,
    /// Flavor groups, which are only watched.
    pub knowledges: Store<Knowledge>,
    /// Which clusters have commitments.
    pub routes: Routes,
    /// Knows what is left as it is (U57).
    pub freezer: Freezer,
    /// Stops what would disturb too much (D14).
    pub brake: Brake,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub events: Events,
    /// When to look again.
    pub delays: Delays,
}

/// Deletes slots of ours whose commitment is gone.
pub struct OrphanController {
    parts: OrphanParts,
    /// Slots without a commitment, each with every cluster in which there is none.
    missing: Absences<(ObjectKey, ClusterName)>,
}

impl Reconciler for OrphanController {
    const NAME: &'static str = "orphaned-slots";
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Delete]).because("Slots whose commitment is gone are deleted."),
            Right::status::<Reservation>(&[Verb::Patch])
                .because("That the brake keeps a slot whose commitment is gone."),
            Right::events_about::<Reservation>().because("Events about slots."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        watches::declare(watches, self.store(), &self.parts.commitments, &self.parts.knowledges);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        watches::first(self.store(), &self.parts.commitments).into_iter().collect()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let object = self.store().get(&key).filter(|object| is_slot(object));
        let Some(object) = object else {
            self.forget(&key);
            return Ok(Action::AwaitChange);
        };
        match plan(&self.facts(&key, &object), self.parts.delays) {
            Course::Leave => {
                self.forget(&key);
                self.say(&key, object, None).await?;
                Ok(Action::AwaitChange)
            }
            Course::Wait(time) => Ok(Action::RequeueAfter(time)),
            Course::Delete(whole) => self.delete(&key, object, &whole).await,
        }
    }
}

impl OrphanController {
    /// A controller that has seen nothing yet.
    pub fn new(parts: OrphanParts) -> Self {
        Self { parts, missing: Absences::default() }
    }

    fn store(&self) -> &Store<Reservation> {
        self.parts.reservations.store()
    }

    fn facts(&self, key: &ObjectKey, object: &Reservation) -> Facts {
        let leaving = object.metadata.deletion_timestamp.is_some();
        Facts {
            is_ours: is_marked(object) && !leaving,
            untouchable: self.parts.freezer.slot(object).is_some() || self.store().in_doubt(key),
            missing: is_orphan(object, &self.parts.commitments).then(|| self.missing(key)),
        }
    }

    /// For how long no cluster has had its commitment, counted in each on the time in which one could look there; the
    /// shortest counts.
    fn missing(&self, key: &ObjectKey) -> Result<(Duration, Whole<Reservation>), Partial> {
        let whole = self.store().complete(&key.cluster)?.whole();
        let clusters = self.parts.routes.clusters::<CommittedResource>().unwrap_or_default();
        let mut shortest = Duration::MAX;
        for cluster in clusters {
            let clock = self.parts.commitments.complete(&cluster)?.followed_time();
            shortest = shortest.min(self.missing.missing(&(key.clone(), cluster), clock));
        }
        Ok((shortest, whole))
    }

    fn forget(&self, key: &ObjectKey) {
        for cluster in self.parts.routes.names() {
            self.missing.over(&(key.clone(), cluster));
        }
        self.parts.brake.over(&asker(key));
    }

    async fn delete(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        whole: &Whole<Reservation>,
    ) -> Result<Action, Error> {
        if object.spec.target_host.is_some() {
            let zone = zone(&object).to_owned();
            let plan = Disruption { zone, cause: ORPHANED, slots: vec![key.clone()] };
            if let Err(stopped) = self.parts.brake.ask(&asker(key), &plan, self.demand(&plan.zone)) {
                self.say(key, object, Some(&stopped)).await?;
                return Ok(Action::RequeueAfter(self.parts.delays.retry));
            }
        }
        self.parts.reservations.delete(key, &object, Guard::None, whole).await?;
        let uuid = uuid(&object);
        let note = format!("deleted: no commitment has had its UUID {uuid} for {:?}", self.parts.delays.grace);
        info!(slot = %key.name, cluster = %key.cluster, reason = note, "orphaned slot deleted");
        let (reason, action) = ("OrphanDeleted".to_owned(), "Delete".to_owned());
        let event = Event { kind: EventKind::Warning, reason, action, note };
        self.parts.events.publish(&key.cluster, &object.object_ref(&()), event);
        Ok(Action::AwaitChange)
    }

    /// All orphans of the zone with a host that were noticed: when a whole backup has no commitments, not even the first
    /// of their slots are to be deleted.
    fn demand(&self, zone_: &str) -> impl Iterator<Item = ObjectKey> {
        let noticed = self.missing.all().into_iter().map(|(key, _)| key);
        noticed.filter(move |key| {
            let object = self.store().get(key).filter(|object| object.spec.target_host.is_some());
            object.is_some_and(|object| zone(&object) == zone_ && is_orphan(&object, &self.parts.commitments))
        })
    }

    async fn say(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        stopped: Option<&berth_cluster::Stopped>,
    ) -> Result<(), Error> {
        let now = self.parts.clock.now();
        say_braked(&self.parts.reservations, key, object, &[ORPHANED], stopped, now).await?;
        Ok(())
    }
}

fn asker(key: &ObjectKey) -> Asker {
    Asker::of::<Reservation>(key).because(ORPHANED)
}

fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

/// It was made by us.
fn is_marked(object: &Reservation) -> bool {
    object.annotations().contains_key(labels::COMMITMENT_UID)
}

/// No commitment has its UUID. Of a slot without one nobody knows whose it is.
fn is_orphan(object: &Reservation, commitments: &Store<CommittedResource>) -> bool {
    let uuid = uuid(object);
    !uuid.is_empty() && commitments.select(&COMMITMENT_BY_UUID, uuid).is_empty()
}

fn uuid(object: &Reservation) -> &str {
    let data = object.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

fn zone(object: &Reservation) -> &str {
    object.spec.availability_zone.as_deref().unwrap_or_default()
}
