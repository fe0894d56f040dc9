//! The controller: read, plan, apply (`docs/architecture.md`).

use std::sync::Arc;

use berth_cluster::{Action, FirstSeen, ObjectField, ObjectKey, Reconciler, Right, Store, Verb, Watches, Writer};
use berth_crds::{Hypervisor, Reservation};
use berth_telemetry::clock::Clock;
use tokio::sync::Mutex;
use tracing::debug;

use super::facts::is_ours;
use super::first_seen::FirstSeenObjects;
use super::metrics::InFlightMetrics;
use super::plan::{InFlightPlan, InFlightStep, needs_size, plan};
use super::vm_sizes::VmSizes;
use super::watches;
use crate::error::Error;

/// The dependencies of the controller.
pub struct Context {
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    pub vm_sizes: Arc<dyn VmSizes>,
    pub clock: Arc<dyn Clock>,
    pub metrics: InFlightMetrics,
}

/// Deletes in-flight reservations that have done their work.
pub struct InFlightController {
    pub(super) context: Context,
    pub(super) first_seen: FirstSeenObjects,
    /// Which objects, by key and uid, are there.
    pub(super) known: FirstSeen<(ObjectKey, String)>,
    /// All of a VM are enqueued when it lands, and each of them would delete all.
    pub(super) deleting: Mutex<()>,
}

impl Reconciler for InFlightController {
    const NAME: &'static str = "inflight-reservation-controller";
    const OBJECT: ObjectField = ObjectField::Reservation;
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Get, Verb::Delete])
                .because("In-flight reservations that are over are deleted."),
            Right::status::<Reservation>(&[Verb::Patch]).because("What an in-flight reservation waits for."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        watches::declare(watches, self.store(), &self.context.hypervisors);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        watches::all(self.store()).into_iter().collect()
    }

    /// A reservation of another type is left alone.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        if self.store().in_doubt(&key) {
            self.context.reservations.settle(&key).await?;
        }
        let object = self.store().get(&key).filter(|object| is_ours(object));
        let Some(object) = object else {
            self.first_seen.forget(&key);
            self.known.retain(|(known, _)| *known != key);
            return Ok(Action::AwaitChange);
        };
        let mut facts = self.read(&key, &object);
        if let Some(vm) = facts.own.vm.clone().filter(|_| needs_size(&facts)) {
            facts.vm_size = self.context.vm_sizes.size(&vm).await?;
        }
        let InFlightPlan { step, requeue_after } = plan(&facts);
        match step {
            InFlightStep::Nothing => {
                debug!(hosts = ?facts.listed, "VM has not landed yet");
            }
            InFlightStep::WriteReady(ready) => self.write_ready(&key, &object, &ready).await?,
            InFlightStep::Delete(cause, which) => self.delete_all(&key, cause, &which).await?,
        }
        Ok(Action::from_delay(requeue_after))
    }
}

impl InFlightController {
    pub fn new(context: Context) -> Self {
        Self {
            context,
            first_seen: FirstSeenObjects::default(),
            known: FirstSeen::default(),
            deleting: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &Store<Reservation> {
        self.context.reservations.store()
    }
}
