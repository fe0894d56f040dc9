//! The controller: read, plan, apply, report (architecture section 3).

use std::{collections::BTreeSet, sync::Arc};

use berth_cluster::{
    Action, Guard, ObjectKey, Reconciler, Right, Store, Verb, Watches, Writer,
    indexes::{HYPERVISOR_BY_VM, RESERVATION_BY_FLIGHT},
};
use berth_core::{HostName, VmId};
use berth_crds::{Hypervisor, Reservation};
use berth_telemetry::clock::Clock;
use tokio::sync::Mutex;
use tracing::{debug, info};

use super::{
    facts::{Facts, Flight},
    metrics::InFlightMetrics,
    plan::{Cause, Plan, Step, needs_size, plan},
    sightings::Sightings,
    vm_sizes::VmSizes,
    watches::{self, is_in_flight},
};
use crate::{
    error::Error,
    since::Since,
    status::{Says, status},
};

/// What the controller works with.
pub struct Parts<V> {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// Sizes of VMs.
    pub vm_sizes: V,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Counts.
    pub metrics: InFlightMetrics,
}

/// Deletes in-flight reservations that have done their work.
pub struct InFlightController<V> {
    parts: Parts<V>,
    sightings: Sightings,
    /// Which objects, by key and uid, are there.
    known: Since<(ObjectKey, String)>,
    /// All of a VM are woken when it lands, and each of them would delete all.
    deleting: Mutex<()>,
}

impl<V: VmSizes> Reconciler for InFlightController<V> {
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
        watches::declare(watches, self.store(), &self.parts.hypervisors);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        watches::all(self.store()).into_iter().collect()
    }

    /// A reservation of another type is left alone.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        if self.store().in_doubt(&key) {
            self.parts.reservations.settle(&key).await?;
        }
        let object = self.store().get(&key).filter(|object| is_ours(object));
        let Some(object) = object else {
            self.sightings.forget(&key);
            self.known.retain(|(known, _)| *known != key);
            return Ok(Action::AwaitChange);
        };
        let mut facts = self.read(&key, &object);
        if let Some(vm) = facts.own.vm.clone().filter(|_| needs_size(&facts)) {
            facts.vm_size = self.parts.vm_sizes.size(&vm).await?;
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

impl<V: VmSizes> InFlightController<V> {
    /// A controller that has seen nothing yet.
    pub fn new(parts: Parts<V>) -> Self {
        Self { parts, sightings: Sightings::default(), known: Since::default(), deleting: Mutex::default() }
    }

    fn store(&self) -> &Store<Reservation> {
        self.parts.reservations.store()
    }

    fn read(&self, key: &ObjectKey, object: &Reservation) -> Facts {
        let vm = object.spec.in_flight_reservation.as_ref().and_then(|data| data.vm_id.as_deref()).map(VmId::from);
        let listed = vm.as_ref().map(|vm| self.hosts_of(vm)).unwrap_or_default();
        let sight = self.sight(&listed);
        let flight = |key: &ObjectKey, object: &Reservation| {
            let uid = object.metadata.uid.as_deref().unwrap_or_default();
            Flight::new(key, object, self.sightings.first(key, uid, sight.as_ref()))
        };
        let of_vm = vm.map(|vm| self.store().select(&RESERVATION_BY_FLIGHT, vm.as_str())).unwrap_or_default();
        let family = of_vm.iter().filter(|entry| is_ours(&entry.object));
        let family = family.map(|entry| flight(&entry.key, &entry.object)).collect();
        // One that was deleted in between has been forgotten already, by its own run on another thread.
        for entry in of_vm.iter().filter(|entry| self.store().get(&entry.key).is_none()) {
            self.sightings.forget(&entry.key);
        }
        Facts {
            now: self.parts.clock.now(),
            known_for: self.known.noticed(&(key.clone(), object.metadata.uid.clone().unwrap_or_default())),
            own: flight(key, object),
            family,
            listed,
            hosts_known: sight.is_some(),
            vm_size: None,
        }
    }

    fn hosts_of(&self, vm: &VmId) -> BTreeSet<HostName> {
        let hosts = self.parts.hypervisors.select(&HYPERVISOR_BY_VM, vm.as_str());
        hosts.into_iter().map(|entry| (&*entry.key.name).into()).collect()
    }

    /// The hosts on which a VM is or may be, if all can be seen: one that does not decode may list it.
    fn sight(&self, listed: &BTreeSet<HostName>) -> Option<BTreeSet<HostName>> {
        let hosts = &self.parts.hypervisors;
        if hosts.clusters().iter().any(|cluster| hosts.followed(cluster).is_err()) {
            return None;
        }
        let malformed = hosts.malformed().into_iter().map(|one| HostName::from(&*one.key.name));
        Some(malformed.chain(listed.iter().cloned()).collect())
    }

    async fn say(&self, key: &ObjectKey, old: &Reservation, says: &Says) -> Result<(), Error> {
        let mut new = old.clone();
        new.status = Some(status(old, Some(says), self.parts.clock.now()));
        Ok(self.parts.reservations.patch_status(key, old, &new).await.map(drop)?)
    }

    /// One after the other, each in its own cluster; the first that cannot be deleted ends it.
    async fn delete_all(&self, cause: Cause, which: &[ObjectKey]) -> Result<(), Error> {
        let _one_at_a_time = self.deleting.lock().await;
        for key in which {
            let Some(object) = self.store().get(key).filter(|object| is_ours(object)) else { continue };
            // Others that cannot be read do not matter: that this one has done its work is no conclusion from an absence.
            let whole = self.store().complete_for(&key.cluster, |one| one.key == *key)?.whole();
            self.parts.reservations.delete(key, &object, Guard::None, &whole).await?;
            self.parts.metrics.deleted.with_label_values(&[cause.as_str()]).inc();
            info!(reservation = %key.name, cause = cause.as_str(), "in-flight reservation deleted");
        }
        Ok(())
    }
}

/// An in-flight reservation that stays until we delete it.
fn is_ours(object: &Reservation) -> bool {
    is_in_flight(object) && object.metadata.deletion_timestamp.is_none()
}
