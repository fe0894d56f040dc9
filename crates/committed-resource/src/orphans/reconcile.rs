//! The controller: read, plan, apply (architecture section 3).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, Brake, Events, FirstSeen, Freezer, ObjectKey, Reconciler, Right, Routes, Store, Verb, Watches, Writer,
};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, Reservation};
use berth_telemetry::clock::Clock;

use super::plan::{Course, Delays, plan};
use super::slot::is_slot;
use super::watches;
use crate::error::Error;

/// What the controller works with.
pub struct Context {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Commitments, read only.
    pub commitments: Store<CommittedResource>,
    /// Flavor groups, which are only watched.
    pub knowledges: Store<Knowledge>,
    /// Which clusters have commitments.
    pub routes: Routes,
    /// Knows what is left as it is.
    pub freezer: Freezer,
    /// Stops what would disturb too much.
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
    pub(super) context: Context,
    /// Slots without a commitment, each with every cluster in which there is none.
    pub(super) missing: FirstSeen<(ObjectKey, ClusterName), Duration>,
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
        watches::declare(watches, self.store(), &self.context.commitments, &self.context.knowledges);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        watches::first(self.store(), &self.context.commitments).into_iter().collect()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let object = self.store().get(&key).filter(|object| is_slot(object));
        let Some(object) = object else {
            self.forget(&key);
            return Ok(Action::AwaitChange);
        };
        match plan(&self.read(&key, &object), self.context.delays) {
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
    pub fn new(context: Context) -> Self {
        Self { context, missing: FirstSeen::default() }
    }

    pub(super) fn store(&self) -> &Store<Reservation> {
        self.context.reservations.store()
    }
}
