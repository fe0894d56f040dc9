//! Read: gathers the facts of a reconciliation from the stores and the scheduler. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::indexes::{HYPERVISOR_BY_ZONE, RESERVATION_BY_COMMITMENT};
use berth_cluster::{
    CompletenessProof, DisruptionLimit, Entry, FlavorGroupsCache, InvalidEntry, ObjectKey, Partial, Pauses, Requester,
    RouteError, Routes, Store,
};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::flavor::FlavorGroups;
use berth_core::host::ConditionStatus;
use berth_core::slot::Slot;
use berth_core::{ClusterName, CommitmentUuid, HostName, Resources, SlotKey, SlotName, Zone, planner};
use berth_crds::conditions::{self, safety};
use berth_crds::{CommitmentChange, CommittedResource, Condition, Hypervisor, Reservation, ReservationType, facts};
use berth_scheduler::{Scheduler, SchedulerError, Shortage};
use berth_vm_source::VmSource;
use kube::ResourceExt;

use crate::block_reason::UnreadableHost;
use crate::change_group::{ChangeGroup, OpenChangeFacts, accepted_before, open_change};
use crate::cores::CoresBook;
use crate::facts::{Capacity, CommitmentFacts, Holding, NameLookup, Site, ready};
use crate::ledger::GroupAndZone;
use crate::served::{belongs_to, has_finalizer, same_uuid, served_instead};

/// The sources of facts.
pub(crate) struct Reader<'a, S> {
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) reservations: &'a Store<Reservation>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) pauses: &'a Pauses,
    pub(crate) scheduler: &'a S,
    pub(crate) routes: &'a Routes,
    pub(crate) cores: &'a CoresBook,
    pub(crate) changes: &'a Store<CommitmentChange>,
    /// The VMs, if commitments that grow take them over.
    pub(crate) vms: Option<&'a VmSource>,
    pub(crate) disruption_limit: &'a DisruptionLimit,
}

impl<S: Scheduler> Reader<'_, S> {
    pub(crate) fn facts(&self, key: &ObjectKey, object: &CommittedResource) -> CommitmentFacts {
        let group = open_change(self.changes, &object.spec.commitment_uuid).map(|(_, group)| group);
        let mut facts = self.facts_in(key, object, group.as_ref());
        if let Some(change) = &mut facts.change {
            change.restored = accepted_before(self.changes, object);
        }
        facts
    }

    /// The same as if the commitment belonged to this change.
    pub(crate) fn facts_in(
        &self,
        key: &ObjectKey,
        object: &CommittedResource,
        group: Option<&ChangeGroup>,
    ) -> CommitmentFacts {
        let known = self.flavor_groups.get();
        let outdated = known.as_ref().ok().and_then(|known| Some(known.outdated.as_ref()?.error.clone()));
        let groups = known.map(|known| known.groups);
        let (spec, accepted) = (facts::spec(object), facts::accepted_spec(object));
        let (holdings, disruption_limited) = self.holdings(key, object);
        let (site, belongs_to) = (self.site(&spec.zone), belongs_to(self.routes, key, object));
        let unread = |cluster| self.commitments.require_synced(cluster).err();
        let mut facts = CommitmentFacts {
            name: object.name_any(),
            paused: self.pauses.commitment(object),
            cluster: key.cluster.clone(),
            belongs_unread: belongs_to.as_ref().and_then(unread),
            belongs_to,
            generation: object.metadata.generation.unwrap_or_default(),
            created: object.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            has_finalizer: has_finalizer(object),
            ready: ready(object),
            served_instead: served_instead(self.commitments, self.routes, key, object),
            free_capacity: self.free_capacity(&holdings, object, groups.as_deref().ok()),
            shortage: self.shortage(&holdings, site.as_ref().ok()),
            undecided: self.undecided(&holdings, site.as_ref().ok()),
            vms: self.running_vms(&spec, site.as_ref().ok(), &holdings, groups.as_deref().ok()),
            capacity: self.capacity(&spec, &key.cluster),
            change: self.change(&spec, group, site.as_ref().ok(), groups.as_deref().ok()),
            holdings,
            disruption_limited,
            stopped_end: self.disruption_limit.stopped(&syncer(key)),
            accepted_site: accepted.as_ref().map_or_else(|| site.clone(), |accepted| self.site(&accepted.zone)),
            site,
            forgotten: facts::given_up_clusters(object),
            taken: self.taken(),
            groups,
            outdated,
            spec,
            accepted,
            in_the_way: None,
        };
        if facts.may_reject() {
            facts.in_the_way = self.in_the_way(&facts.holdings, facts.site.as_ref().ok());
        }
        facts
    }

    /// The slots with the commitment's UUID in every cluster of Reservations, and the first condition `DisruptionLimited`.
    fn holdings(
        &self,
        key: &ObjectKey,
        object: &CommittedResource,
    ) -> (BTreeMap<ClusterName, Holding>, Option<Condition>) {
        let holding = |cluster: &ClusterName| Holding {
            slots: Vec::new(),
            read: self.completeness_proof(cluster, key, object),
            shared: same_uuid(self.commitments, object)
                .iter()
                .any(|other| other.key.cluster == *cluster && other.key != *key),
        };
        let clusters = self.reservations.clusters();
        let mut all: BTreeMap<_, _> =
            clusters.into_iter().map(|cluster| (cluster.clone(), holding(&cluster))).collect();
        let entries = self.reservations.select(&RESERVATION_BY_COMMITMENT, &object.spec.commitment_uuid);
        let mut limited = None;
        for entry in entries.into_iter().filter(|entry| is_slot(&entry.object)) {
            if let Some(holding) = all.get_mut(&entry.key.cluster) {
                let slot = self.slot(&entry, holding.slots.last());
                holding.slots.push(slot);
                limited = limited.or_else(|| disruption_limited(&entry.object));
            }
        }
        (all, limited)
    }

    /// What the commitment gets of the others in its change. Slots change their commitment only within a cluster.
    fn change(
        &self,
        spec: &Spec,
        group: Option<&ChangeGroup>,
        site: Option<&Site>,
        groups: Option<&FlavorGroups>,
    ) -> Option<OpenChangeFacts> {
        let (group, cluster) = (group?, site.map(|site| &site.cluster));
        let Some(cluster) = cluster else {
            return Some(OpenChangeFacts { name: group.name.clone(), ..OpenChangeFacts::default() });
        };
        let slots = |uuid: &CommitmentUuid| {
            let entries = self.reservations.select(&RESERVATION_BY_COMMITMENT, uuid.as_str());
            let here = entries.iter().filter(|entry| entry.key.cluster == *cluster && is_slot(&entry.object));
            here.map(|entry| facts::slot(&entry.object)).collect()
        };
        if group.is_handed_over(spec, slots) {
            let name = group.name.clone();
            return Some(OpenChangeFacts { name, is_handed_over: true, ..OpenChangeFacts::default() });
        }
        let active = group.without(|uuid| self.pauses.uuid(uuid.as_str()).is_some());
        Some(group.facts(&spec.uuid, cluster, active.exchange(slots, groups)))
    }

    fn slot(&self, entry: &Entry<Reservation>, neighbour: Option<&Slot>) -> Slot {
        let mut slot = facts::slot_beside(&entry.object, neighbour);
        slot.waiting = slot.target_host.is_none() && self.scheduler.waiting(&SlotKey::from(&entry.key)).is_some();
        slot
    }

    /// Proof that the slots of this commitment are all known and are its own, or why they may not be. They may belong
    /// to a commitment with the same UUID in their cluster, which must then be known. An invalid Reservation counts if
    /// it resembles one of them; those of others must not keep this commitment from being served.
    fn completeness_proof(
        &self,
        cluster: &ClusterName,
        key: &ObjectKey,
        object: &CommittedResource,
    ) -> Result<CompletenessProof<Reservation>, Partial> {
        let prefix = format!("{}-", key.name);
        let uuid = object.spec.commitment_uuid.as_str();
        let ours = |one: &InvalidEntry| {
            one.key.name.starts_with(&prefix)
                || one.raw["spec"]["committedResourceReservation"]["commitmentUUID"] == uuid
        };
        let complete = self.reservations.require_complete_for(cluster, ours);
        complete.map(|complete| complete.proof()).and_then(|proof| {
            let has_commitments = self.commitments.clusters().contains(cluster);
            if has_commitments { self.commitments.require_synced(cluster).map(|()| proof) } else { Ok(proof) }
        })
    }

    /// Why the first slot that waits for a host found none.
    fn shortage(&self, holdings: &BTreeMap<ClusterName, Holding>, site: Option<&Site>) -> Option<Shortage> {
        let cluster = &site?.cluster;
        let waiting = holdings.get(cluster)?.slots.iter().find(|slot| slot.waiting)?;
        self.scheduler.waiting(&SlotKey::new(cluster.clone(), waiting.name.clone()))
    }

    fn in_the_way(&self, holdings: &BTreeMap<ClusterName, Holding>, site: Option<&Site>) -> Option<SchedulerError> {
        let cluster = &site?.cluster;
        let bare = holdings.get(cluster)?.slots.iter().filter(|slot| slot.target_host.is_none() && !slot.terminating);
        let keys: Vec<_> = bare.map(|slot| SlotKey::new(cluster.clone(), slot.name.clone())).collect();
        self.scheduler.in_the_way(&keys)
    }

    /// What the first slot says for which nobody can choose a host at the moment.
    fn undecided(&self, holdings: &BTreeMap<ClusterName, Holding>, site: Option<&Site>) -> Option<String> {
        let cluster = &site?.cluster;
        let undecided = |slot: &&Slot| matches!(&slot.ready, Some((ConditionStatus::Unknown, _)));
        let mut bare = holdings.get(cluster)?.slots.iter().filter(|slot| slot.target_host.is_none() && !slot.waiting);
        let slot = bare.find(undecided)?;
        let object = self.reservations.get(&ObjectKey::new(cluster.clone(), slot.name.as_str()))?;
        Some(conditions::ready(&object.status.as_ref()?.conditions)?.message.clone())
    }

    /// Where the slots and the hosts of a zone are.
    fn site(&self, zone: &Zone) -> Result<Site, RouteError> {
        let slots = self.routes.target::<Reservation>(Some(zone.as_str()))?;
        let hosts = self.routes.target::<Hypervisor>(Some(zone.as_str()))?;
        Ok(Site {
            cluster: slots,
            has_hosts: self.hypervisors.count(&HYPERVISOR_BY_ZONE, zone.as_str(), &hosts, 1) > 0,
            hosts_unknown: self.hypervisors.require_synced(&hosts).err(),
            host_unreadable: self.host_unreadable(&hosts, zone),
        })
    }

    fn host_unreadable(&self, cluster: &ClusterName, zone: &Zone) -> Option<UnreadableHost> {
        let invalid = self.hypervisors.invalid_entries();
        let concerns = |one: &&InvalidEntry| one.key.cluster == *cluster && one.may_be_in_zone(zone.as_str());
        let one = invalid.iter().find(concerns)?;
        Some(UnreadableHost { name: one.key.name.to_string(), error: one.error.to_string() })
    }

    fn free_capacity(
        &self,
        holdings: &BTreeMap<ClusterName, Holding>,
        object: &CommittedResource,
        groups: Option<&FlavorGroups>,
    ) -> BTreeMap<HostName, Resources> {
        let group = groups.and_then(|groups| groups.get(&object.spec.flavor_group_name.as_str().into()));
        let slots = holdings.values().map(|holding| &holding.slots);
        let hosts =
            group.into_iter().flat_map(|group| slots.clone().flat_map(|slots| planner::enlargeable(slots, group)));
        hosts.filter_map(|host| Some((host.clone(), self.scheduler.free_capacity(host)?))).collect()
    }

    fn capacity(&self, spec: &Spec, cluster: &ClusterName) -> Capacity {
        match spec.resource {
            ResourceType::Cores => self.cores.capacity(&GroupAndZone::of(spec), cluster),
            ResourceType::Memory => Capacity::NoObject,
        }
    }

    /// Names that exist in any cluster are taken, so that users can tell slots apart by name.
    fn taken(&self) -> NameLookup {
        let (reservations, clusters) = (self.reservations.clone(), self.reservations.clusters());
        NameLookup(Arc::new(move |name: &SlotName| {
            clusters.iter().any(|cluster| reservations.get(&ObjectKey::new(cluster.clone(), name.as_str())).is_some())
        }))
    }
}

/// Other types may carry the data of a commitment in old objects; they are not ours.
pub(crate) fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

/// The name under which the syncer asks for the end of a commitment.
pub(crate) fn syncer(key: &ObjectKey) -> Requester {
    Requester::of::<CommittedResource>(key).because(safety::UNKNOWN_TO_LIMES)
}

fn disruption_limited(slot: &Reservation) -> Option<Condition> {
    let conditions = &slot.status.as_ref()?.conditions;
    let holds = safety::holds(conditions, safety::DISRUPTION_LIMITED);
    conditions::find(conditions, safety::DISRUPTION_LIMITED).filter(|_| holds).cloned()
}

#[cfg(test)]
mod tests;
