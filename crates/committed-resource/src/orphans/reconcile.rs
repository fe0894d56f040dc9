//! The controller: read, plan, apply (`docs/architecture.md`).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, DisruptionLimit, Events, FirstSeen, ObjectField, ObjectKey, Pauses, Reconciler, Right, Routes, Store, Verb,
    Watches, Writer,
};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, Reservation};
use berth_telemetry::clock::Clock;
use jiff::Timestamp;

use super::plan::{OrphanDelays, OrphanVerdict, plan};
use super::slot::is_slot;
use super::watches;
use crate::error::Error;

/// The dependencies of the controller.
pub struct Context {
    pub reservations: Writer<Reservation>,
    /// Commitments, read only.
    pub commitments: Store<CommittedResource>,
    /// Flavor groups, which are only watched.
    pub knowledges: Store<Knowledge>,
    pub routes: Routes,
    pub pauses: Pauses,
    pub disruption_limit: DisruptionLimit,
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub delays: OrphanDelays,
    /// What Limes lists, if something reads it.
    pub limes: Option<Arc<dyn ListedCommitments>>,
}

/// Tells which commitments Limes does not list.
pub trait ListedCommitments: Send + Sync + 'static {
    /// When the first of the last three complete lists began, if none of them has the commitment.
    fn unlisted_since(&self, uuid: &str) -> Option<Timestamp>;
}

/// Deletes slots that Berth created and whose commitment is gone.
pub struct OrphanController {
    pub(super) context: Context,
    /// Slots without a commitment, each with every cluster that has no commitment for it.
    pub(super) missing: FirstSeen<(ObjectKey, ClusterName), Duration>,
}

impl Reconciler for OrphanController {
    const NAME: &'static str = "orphaned-slots";
    const OBJECT: ObjectField = ObjectField::Slot;
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Get, Verb::Delete])
                .because("Slots whose commitment is gone are deleted."),
            Right::status::<Reservation>(&[Verb::Patch])
                .because("Reports that the disruption limit keeps an orphaned slot."),
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
            OrphanVerdict::Leave => {
                self.forget(&key);
                self.write_condition(&key, object, None).await?;
                Ok(Action::AwaitChange)
            }
            OrphanVerdict::Wait(time) => Ok(Action::RequeueAfter(time)),
            OrphanVerdict::Delete(proof) => self.delete(&key, object, &proof).await,
        }
    }
}

impl OrphanController {
    pub fn new(context: Context) -> Self {
        Self { context, missing: FirstSeen::default() }
    }

    pub(super) fn store(&self) -> &Store<Reservation> {
        self.context.reservations.store()
    }
}
