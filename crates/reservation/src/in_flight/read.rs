//! Read: gathers the facts of an in-flight reservation, of the others of its VM, and of the hosts that list it.

use std::collections::BTreeSet;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::{HYPERVISOR_BY_VM, RESERVATION_BY_FLIGHT};
use berth_core::{HostName, VmId};
use berth_crds::Reservation;
use tokio::time::Instant;

use super::facts::{Flight, InFlightFacts, is_ours};
use super::reconcile::InFlightController;

impl InFlightController {
    pub(super) fn read(&self, key: &ObjectKey, object: &Reservation) -> InFlightFacts {
        let vm = object.spec.in_flight_reservation.as_ref().and_then(|data| data.vm_id.as_deref()).map(VmId::from);
        let listed = vm.as_ref().map(|vm| self.hosts_of(vm)).unwrap_or_default();
        let sight = self.observe(&listed);
        let flight = |key: &ObjectKey, object: &Reservation| {
            let uid = object.metadata.uid.as_deref().unwrap_or_default();
            Flight::new(key, object, self.first_seen.first(key, uid, sight.as_ref()))
        };
        let of_vm = vm.map(|vm| self.store().select(&RESERVATION_BY_FLIGHT, vm.as_str())).unwrap_or_default();
        let family = of_vm.iter().filter(|entry| is_ours(&entry.object));
        let family = family.map(|entry| flight(&entry.key, &entry.object)).collect();
        // One that was deleted in between has been forgotten already, by its own run on another thread.
        for entry in of_vm.iter().filter(|entry| self.store().get(&entry.key).is_none()) {
            self.first_seen.forget(&entry.key);
        }
        InFlightFacts {
            now: self.context.clock.trusted_now().ok(),
            known_for: self.known.note(&(key.clone(), object.metadata.uid.clone().unwrap_or_default()), Instant::now()),
            own: flight(key, object),
            family,
            listed,
            hosts_known: sight.is_some(),
            vm_size: None,
        }
    }

    fn hosts_of(&self, vm: &VmId) -> BTreeSet<HostName> {
        let hosts = self.context.hypervisors.select(&HYPERVISOR_BY_VM, vm.as_str());
        hosts.into_iter().map(|entry| (&*entry.key.name).into()).collect()
    }

    /// The hosts on which a VM is or may be, if all can be seen: one that does not decode may list it.
    fn observe(&self, listed: &BTreeSet<HostName>) -> Option<BTreeSet<HostName>> {
        let hosts = &self.context.hypervisors;
        if hosts.clusters().iter().any(|cluster| hosts.require_synced(cluster).is_err()) {
            return None;
        }
        let invalid = hosts.invalid_entries().into_iter().map(|one| HostName::from(&*one.key.name));
        Some(invalid.chain(listed.iter().cloned()).collect())
    }
}
