//! Read: gathers the facts of a slot from the stores, and the requests with which it would look for a host. Nothing is decided
//! here but what can be read.

mod vms;

use berth_cluster::{
    Entry, ObjectKey,
    indexes::{COMMITMENT_BY_UUID, RESERVATION_BY_COMMITMENT},
};
use berth_core::{ClusterName, HostName, SlotKey, slot::Slot};
use berth_crds::{Hypervisor, Reservation, facts, labels};
use berth_scheduler::{Scheduler, SlotRequest};
use kube::ResourceExt;

use crate::{
    facts::{Facts, HostFact},
    reconcile::ReservationController,
    request::{RequestContext, given_request_id, request, unreadable},
    status::{Says, unavailable},
    watches::is_slot,
};

impl<S: Scheduler> ReservationController<S> {
    pub(crate) fn read(&self, key: &ObjectKey, object: &Reservation) -> Facts {
        let slot = facts::slot(object);
        let hosts = self.context.routes.target::<Hypervisor>(Some(slot.zone.as_str())).ok();
        let followed = |cluster: &ClusterName| self.context.hypervisors.followed(cluster).is_ok();
        let complete = hosts.as_ref().and_then(|cluster| self.context.hypervisors.complete(cluster).ok());
        Facts {
            frozen: self.context.freezer.slot(object),
            confirmed: vms::confirmed(object),
            vms: self.vms(key, object, &slot, complete.as_ref()),
            hosts_are_complete: complete.is_some(),
            host: slot.target_host.as_ref().map_or(HostFact::Exists, |host| self.host(hosts.as_ref(), host)),
            verdict: self.context.scheduler.verdict(&SlotKey::from(key)),
            former_is_good: slot.status_host.as_ref().is_some_and(|host| self.is_good(hosts.as_ref(), host, &slot)),
            hosts_are_followed: hosts.as_ref().is_some_and(followed),
            slot,
        }
    }

    fn is_good(&self, hosts: Option<&ClusterName>, host: &HostName, slot: &Slot) -> bool {
        let key = hosts.map(|cluster| ObjectKey::new(cluster.clone(), host.as_str()));
        let host = key.and_then(|key| self.context.hypervisors.get(&key));
        host.is_some_and(|host| host.labels().get(labels::ZONE).is_some_and(|zone| *zone == *slot.zone.as_str()))
    }

    /// A host whose object cannot be read exists; only a complete read of the cluster of the zone proves an absence
    /// (U36). What is wrong with a host of another cluster, the capacity view knows.
    pub(crate) fn host(&self, hosts: Option<&ClusterName>, host: &HostName) -> HostFact {
        let store = &self.context.hypervisors;
        let exists = |cluster: ClusterName| store.get(&ObjectKey::new(cluster, host.as_str())).is_some();
        if store.clusters().into_iter().any(exists) {
            self.missing.forget(host);
            return HostFact::Exists;
        }
        match hosts.map(|cluster| store.complete(cluster)) {
            Some(Ok(complete)) => {
                let missing = self.missing.note(host, complete.followed_time());
                // It may have come in between, and the run for another slot may have found it before this absence was noted.
                if store.clusters().into_iter().any(exists) {
                    self.missing.forget(host);
                    return HostFact::Exists;
                }
                HostFact::Missing(missing, complete.whole())
            }
            Some(Err(_)) | None => HostFact::Unreadable,
        }
    }

    /// The requests of this slot, which comes first, and of the others of its commitment that have no host and have not
    /// been tried yet: they are placed anew together (U36).
    pub(crate) async fn requests(&self, key: &ObjectKey, object: &Reservation) -> Result<Vec<SlotRequest>, Says> {
        let groups = self.context.flavor_groups.get().map_err(|error| unreadable(&error.to_string()))?;
        let data = object.spec.committed_resource_reservation.clone().unwrap_or_default();
        let domain = data.domain_id.unwrap_or_default();
        let domain_name =
            self.context.domain_names.resolve(&domain.as_str().into()).await.map_err(|error| unavailable(&error))?;
        let uuid = data.commitment_uuid.unwrap_or_default();
        let request_id = self.request_id(object);
        let context = RequestContext {
            groups: &groups,
            pipelines: &self.context.settings.pipelines,
            domain_name: domain_name.as_deref(),
            created_unix: self.created(&uuid),
            request_id: &request_id,
        };
        let own = request(SlotKey::from(key), &facts::slot(object), context)?;
        let others = self.others(key, &uuid).into_iter().filter_map(|(key, slot)| request(key, &slot, context).ok());
        Ok([own].into_iter().chain(others).collect())
    }

    fn request_id(&self, object: &Reservation) -> String {
        let given = given_request_id(object).map(str::to_owned);
        given.unwrap_or_else(|| format!("committed-resource-{}", self.context.ids.fresh()))
    }

    fn created(&self, uuid: &str) -> i64 {
        let commitments = self.context.commitments.select(&COMMITMENT_BY_UUID, uuid);
        let created = commitments.first().and_then(|entry| entry.object.metadata.creation_timestamp.as_ref());
        created.map_or(i64::MAX, |time| time.0.as_second())
    }

    fn others(&self, key: &ObjectKey, uuid: &str) -> Vec<(SlotKey, Slot)> {
        let entries = self.store().select(&RESERVATION_BY_COMMITMENT, uuid).into_iter();
        let unplaced = entries.filter(|entry| {
            let known =
                |entry: &Entry<Reservation>| self.context.scheduler.waiting(&SlotKey::from(&entry.key)).is_some();
            entry.key != *key && entry.object.spec.target_host.is_none() && is_slot(&entry.object) && !known(entry)
        });
        unplaced.map(|entry| (SlotKey::from(&entry.key), facts::slot(&entry.object))).collect()
    }
}
