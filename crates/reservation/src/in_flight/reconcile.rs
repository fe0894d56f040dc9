//! The controller: read, plan, apply (architecture section 3).

use std::sync::Arc;

use berth_cluster::{Action, FirstSeen, ObjectKey, Reconciler, Right, Store, Verb, Watches, Writer};
use berth_crds::{Hypervisor, Reservation};
use berth_telemetry::clock::Clock;
use tokio::sync::Mutex;
use tracing::debug;

use super::facts::is_ours;
use super::metrics::InFlightMetrics;
use super::plan::{Plan, Step, needs_size, plan};
use super::sightings::Sightings;
use super::vm_sizes::VmSizes;
use super::watches;
use crate::error::Error;

/// What the controller works with.
pub struct Context {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// Sizes of VMs.
    pub vm_sizes: Arc<dyn VmSizes>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Counts.
    pub metrics: InFlightMetrics,
}

/// Deletes in-flight reservations that have done their work.
pub struct InFlightController {
    pub(super) context: Context,
    pub(super) sightings: Sightings,
    /// Which objects, by key and uid, are there.
    pub(super) known: FirstSeen<(ObjectKey, String)>,
    /// All of a VM are enqueued when it lands, and each of them would delete all.
    pub(super) deleting: Mutex<()>,
}

impl Reconciler for InFlightController {
    const NAME: &'static str = "inflight-reservation-controller";
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Delete]).because("In-flight reservations that are over are deleted."),
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
            self.sightings.forget(&key);
            self.known.retain(|(known, _)| *known != key);
            return Ok(Action::AwaitChange);
        };
        let mut facts = self.read(&key, &object);
        if let Some(vm) = facts.own.vm.clone().filter(|_| needs_size(&facts)) {
            facts.vm_size = self.context.vm_sizes.size(&vm).await?;
        }
        let Plan { step, again } = plan(&facts);
        match step {
            Step::Nothing => debug!(reservation = %key.name, hosts = ?facts.listed, "the VM has not landed yet"),
            Step::Say(says) => self.say(&key, &object, &says).await?,
            Step::Delete(cause, which) => self.delete_all(cause, &which).await?,
        }
        Ok(Action::from_delay(again))
    }
}

impl InFlightController {
    /// A controller that has seen nothing yet.
    pub fn new(context: Context) -> Self {
        Self { context, sightings: Sightings::default(), known: FirstSeen::default(), deleting: Mutex::default() }
    }

    pub(super) fn store(&self) -> &Store<Reservation> {
        self.context.reservations.store()
    }
}
