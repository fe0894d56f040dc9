//! Read: gathers the facts of a slot from the stores, and its requests to the scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_cluster::indexes::{COMMITMENT_BY_UUID, HYPERVISOR_BY_VM, RESERVATION_BY_VM};
use berth_cluster::{CompleteStore, Entry, ObjectKey, Partial};
use berth_core::slot::Slot;
use berth_core::{ClusterName, HostName, SlotKey, VmId};
use berth_crds::{Hypervisor, Reservation, facts, labels};
use berth_scheduler::{HostVerdict, Scheduler, SlotRequest};
use kube::ResourceExt;
use tokio::time::Instant;

use crate::facts::{HostFact, ReservationFacts, VmFact};
use crate::reconcile::ReservationController;
use crate::request::{RequestContext, given_request_id, request, unreadable};
use crate::status::{SlotReady, unavailable};
use crate::watches::{is_slot, is_unplaced};

/// The requests of slots that are placed together.
pub(crate) struct JointRequests {
    pub own: SlotRequest,
    pub others: Vec<(Entry<Reservation>, SlotRequest)>,
}

impl<S: Scheduler> ReservationController<S> {
    pub(crate) fn read(&self, key: &ObjectKey, object: &Reservation) -> ReservationFacts {
        let slot = facts::slot(object);
        let hosts = self.context.routes.target::<Hypervisor>(Some(slot.zone.as_str())).ok();
        let synced = |cluster: &ClusterName| self.context.hypervisors.require_synced(cluster).is_ok();
        let complete = hosts.as_ref().and_then(|cluster| self.complete_hosts(cluster, &slot, None).ok());
        let verdict = self.context.scheduler.verdict(&SlotKey::from(key));
        ReservationFacts {
            paused: self.context.pauses.slot(object),
            confirmed: confirmed(object),
            vms: self.vms(key, object, &slot, complete.as_ref()),
            adoptable: self.adoptable_vms(key, &slot, complete.is_some()),
            hosts_are_complete: complete.is_some(),
            host: slot.target_host.as_ref().map_or(HostFact::Exists, |host| self.host(hosts.as_ref(), host, &slot)),
            misplaced: self.misplaced(key, &slot, &verdict),
            verdict,
            revoked: self.revoked.held_for(key, Instant::now()),
            former_is_good: slot.status_host.as_ref().is_some_and(|host| self.is_good(hosts.as_ref(), host, &slot)),
            hosts_are_synced: hosts.as_ref().is_some_and(synced),
            slot,
        }
    }

    /// For how long the host of the slot has been in another zone, as far as this process knows.
    fn misplaced(&self, key: &ObjectKey, slot: &Slot, verdict: &HostVerdict) -> Option<Duration> {
        if slot.is_in_force() && matches!(verdict, HostVerdict::WrongZone { .. }) {
            return Some(self.misplaced.note(key, Instant::now()));
        }
        self.misplaced.forget(key);
        None
    }

    fn is_good(&self, hosts: Option<&ClusterName>, host: &HostName, slot: &Slot) -> bool {
        let key = hosts.map(|cluster| ObjectKey::new(cluster.clone(), host.as_str()));
        let host = key.and_then(|key| self.context.hypervisors.get(&key));
        host.is_some_and(|host| host.labels().get(labels::ZONE).is_some_and(|zone| *zone == *slot.zone.as_str()))
    }

    /// A complete read of the hosts of the slot's zone, and of `host`, wherever that is.
    pub(crate) fn complete_hosts(
        &self,
        cluster: &ClusterName,
        slot: &Slot,
        host: Option<&HostName>,
    ) -> Result<CompleteStore<'_, Hypervisor>, Partial> {
        self.context.hypervisors.require_complete_for(cluster, |one| {
            one.may_be_in_zone(slot.zone.as_str()) || host.is_some_and(|host| *one.key.name == *host.as_str())
        })
    }

    /// A host whose object is invalid exists; only a complete read of the hosts of the zone proves its absence. The
    /// capacity view knows the problems of hosts in other clusters.
    pub(crate) fn host(&self, hosts: Option<&ClusterName>, host: &HostName, slot: &Slot) -> HostFact {
        let store = &self.context.hypervisors;
        let exists = |cluster: ClusterName| store.get(&ObjectKey::new(cluster, host.as_str())).is_some();
        if store.clusters().into_iter().any(exists) {
            self.missing.forget(host);
            return HostFact::Exists;
        }
        match hosts.map(|cluster| self.complete_hosts(cluster, slot, Some(host))) {
            Some(Ok(complete)) => {
                let missing = self.missing.note(host, complete.synced_time());
                // It may have appeared in between, and the run for another slot may have seen it before this absence
                // was recorded.
                if store.clusters().into_iter().any(exists) {
                    self.missing.forget(host);
                    return HostFact::Exists;
                }
                HostFact::Missing(missing, complete.proof())
            }
            Some(Err(_)) | None => HostFact::Unreadable,
        }
    }

    /// The requests of this slot, which comes first, and of others of its commitment that are placed together with it.
    pub(crate) async fn requests(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        others: &[ObjectKey],
    ) -> Result<JointRequests, SlotReady> {
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
        let others = others.iter().filter_map(|key| self.unplaced(key));
        let others = others.filter_map(|slot| {
            let request = request(SlotKey::from(&slot.key), &facts::slot(&slot.object), context).ok()?;
            Some((slot, request))
        });
        Ok(JointRequests { own, others: others.collect() })
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

    /// The slot, unless it has a host, has lost one because of a verdict, or the outcome of a write that gives it one is
    /// unknown.
    fn unplaced(&self, key: &ObjectKey) -> Option<Entry<Reservation>> {
        let object = self.store().get(key).filter(|object| is_unplaced(object))?;
        let is_held = self.store().in_doubt(key) || self.revoked.held_for(key, Instant::now()).is_some();
        (!is_held).then(|| Entry { key: key.clone(), object })
    }
}

impl<S: Scheduler> ReservationController<S> {
    /// The state of the VMs that the slot expects. The time for which a VM is missing counts only while the slot is in
    /// force and the hosts are known completely.
    pub(crate) fn vms(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        slot: &Slot,
        hosts: Option<&CompleteStore<'_, Hypervisor>>,
    ) -> BTreeMap<VmId, VmFact> {
        let data = object.spec.committed_resource_reservation.iter();
        let expected = data.flat_map(|data| &data.allocations);
        let now = self.context.clock.trusted_now();
        let mut vms: BTreeMap<VmId, VmFact> = expected
            .map(|(vm, allocation)| {
                // While the clock cannot be trusted, no VM has been expected for too long.
                let age = now.map(|now| now.duration_since(allocation.creation_timestamp.0)).unwrap_or_default();
                let fact = VmFact { age: age.try_into().unwrap_or_default(), ..self.observe_vm(key, slot, vm) };
                (vm.as_str().into(), fact)
            })
            .collect();
        if !slot.is_in_force() {
            self.missing_vms.forget(key);
        } else if let Some(hosts) = hosts {
            let missing = missing(&vms, slot, &confirmed(object));
            for (vm, time) in self.missing_vms.missing(key, &missing, hosts.synced_time()) {
                vms.entry(vm).or_default().absent = time;
            }
        }
        vms
    }

    /// Where the VM is, and in which of these places it counts in another slot.
    fn observe_vm(&self, key: &ObjectKey, slot: &Slot, vm: &str) -> VmFact {
        let hosts = self.context.hypervisors.select(&HYPERVISOR_BY_VM, vm);
        let hosts: BTreeSet<HostName> = hosts.iter().map(|host| (&*host.key.name).into()).collect();
        let others: Vec<(ObjectKey, Slot)> =
            self.others_expecting(key, vm).map(|other| (other.key, facts::slot(&other.object))).collect();
        let counts_elsewhere = |host: &&HostName| {
            others.iter().any(|(other_key, other)| {
                let there = other.target_host.as_ref() == Some(*host);
                let before = slot.status_host.as_ref() != Some(*host) || (other.is_in_force() && other_key < key);
                there && before
            })
        };
        let taken = hosts.iter().filter(counts_elsewhere).cloned().collect();
        VmFact { age: Duration::ZERO, hosts, taken, absent: Duration::ZERO }
    }

    pub(crate) fn others_expecting(&self, key: &ObjectKey, vm: &str) -> impl Iterator<Item = Entry<Reservation>> {
        let all = self.store().select(&RESERVATION_BY_VM, vm).into_iter();
        all.filter(move |other| other.key != *key && is_slot(&other.object))
    }
}

/// The VMs that the status names, each with its host.
fn confirmed(object: &Reservation) -> BTreeMap<VmId, HostName> {
    let outcome = object.status.as_ref().and_then(|status| status.committed_resource_reservation.as_ref());
    let vms = outcome.into_iter().flat_map(|outcome| &outcome.allocations);
    vms.map(|(vm, host)| (vm.as_str().into(), host.as_str().into())).collect()
}

/// The VMs whose absence counts: confirmed before and on no host, or not yet on the host of the slot.
fn missing(vms: &BTreeMap<VmId, VmFact>, slot: &Slot, confirmed: &BTreeMap<VmId, HostName>) -> BTreeSet<VmId> {
    let here = |fact: &VmFact| slot.status_host.as_ref().is_some_and(|host| fact.hosts.contains(host));
    let missing = vms.iter().filter(|(vm, fact)| fact.hosts.is_empty() || !confirmed.contains_key(*vm) && !here(fact));
    missing.map(|(vm, _)| vm.clone()).collect()
}
