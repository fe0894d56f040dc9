//! Read: gathers the facts of a look from the stores and the scheduler. Nothing is decided here.

use std::{collections::BTreeMap, sync::Arc};

use berth_cluster::{
    Entry, FlavorGroupsCache, ObjectKey, Store,
    indexes::{COMMITMENT_BY_UUID, RESERVATION_BY_COMMITMENT},
};
use berth_core::{
    ClusterName, HostName, Resources, SlotName, flavor::FlavorGroups, host::ConditionStatus, planner, slot::Slot,
};
use berth_crds::{
    CommittedResource, Hypervisor, Reservation, ReservationType,
    conditions::{self, commitment::Reason},
    facts, labels, names,
};
use berth_scheduler::{Scheduler, Shortage};
use kube::ResourceExt;

use crate::{
    facts::{Facts, Ready, Taken},
    slot_key,
};

/// Where facts come from.
pub(crate) struct Reader<'a, S> {
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) reservations: &'a Store<Reservation>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) scheduler: &'a S,
}

impl<S: Scheduler> Reader<'_, S> {
    pub(crate) fn facts(&self, key: &ObjectKey, object: &CommittedResource) -> Facts {
        let known = self.flavor_groups.get();
        let outdated = known.as_ref().ok().and_then(|known| Some(known.outdated.as_ref()?.error.to_string()));
        let groups = known.map(|known| known.groups).map_err(|error| error.to_string());
        let (slots, shortage) = self.slots(key, object);
        let partial = self.partial(key, object);
        Facts {
            name: object.name_any(),
            cluster: key.cluster.clone(),
            generation: object.metadata.generation.unwrap_or_default(),
            created: object.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            has_finalizer: object.finalizers().iter().any(|finalizer| finalizer == labels::RELEASE_SLOTS),
            spec: facts::spec(object),
            accepted: facts::accepted_spec(object),
            ready: ready(object),
            served_instead: self.served_instead(key, object),
            room: self.room(&slots, object, groups.as_deref().ok()),
            slots,
            taken: self.taken(key),
            groups,
            outdated,
            shortage,
            hosts_unknown: self.hypervisors.followed(&key.cluster).err().map(|partial| partial.to_string()),
            host_unreadable: self.host_unreadable(key),
            unreadable: unreadable(key, object, partial.as_ref()),
            partial,
        }
    }

    /// The slots with the commitment's UUID, and why the first that waits for a host found none.
    fn slots(&self, key: &ObjectKey, object: &CommittedResource) -> (Vec<Slot>, Option<Shortage>) {
        let entries = self.reservations.select(&RESERVATION_BY_COMMITMENT, &object.spec.commitment_uuid);
        let mut shortage = None;
        let mut slot = |entry: Entry<Reservation>| {
            let mut slot = facts::slot(&entry.object);
            if slot.target_host.is_none()
                && let Some(why) = self.scheduler.waiting(&slot_key(&entry.key))
            {
                slot.waiting = true;
                shortage.get_or_insert(why);
            }
            slot
        };
        let slots = entries
            .into_iter()
            .filter(|entry| entry.key.cluster == key.cluster && is_slot(&entry.object))
            .map(&mut slot)
            .collect();
        (slots, shortage)
    }

    fn host_unreadable(&self, key: &ObjectKey) -> Option<String> {
        let malformed = self.hypervisors.malformed();
        let one = malformed.iter().find(|one| one.key.cluster == key.cluster)?;
        Some(format!("Hypervisor {} cannot be read, correct or delete it: {}", one.key.name, one.error))
    }

    /// Of two objects with one UUID the one with the canonical name is served, else the first by name (U14).
    fn served_instead(&self, key: &ObjectKey, object: &CommittedResource) -> Option<String> {
        let uuid = &object.spec.commitment_uuid;
        let mut same = self.commitments.select(&COMMITMENT_BY_UUID, uuid);
        same.retain(|entry| entry.key.cluster == key.cluster);
        let canonical = names::commitment(uuid);
        let served = same.iter().find(|entry| *entry.key.name == *canonical).or(same.first())?;
        (served.key != *key).then(|| served.key.name.to_string())
    }

    fn room(
        &self,
        slots: &[Slot],
        object: &CommittedResource,
        groups: Option<&FlavorGroups>,
    ) -> BTreeMap<HostName, Resources> {
        let group = groups.and_then(|groups| groups.get(&object.spec.flavor_group_name.as_str().into()));
        let hosts = group.into_iter().flat_map(|group| planner::enlargeable(slots, group));
        hosts.filter_map(|host| Some((host.clone(), self.scheduler.room(host)?))).collect()
    }

    fn taken(&self, key: &ObjectKey) -> Taken {
        let (reservations, cluster) = (self.reservations.clone(), key.cluster.clone());
        Taken(Arc::new(move |name: &SlotName| {
            reservations.get(&ObjectKey::new(cluster.clone(), name.as_str())).is_some()
        }))
    }

    /// Why the slots of this commitment may not all be known. A Reservation that cannot be read counts when it looks
    /// like one of them; those of others must not keep this commitment from being served.
    fn partial(&self, key: &ObjectKey, object: &CommittedResource) -> Option<String> {
        if let Err(partial) = self.reservations.followed(&key.cluster) {
            return Some(partial.to_string());
        }
        let prefix = format!("{}-", key.name);
        let ours = |raw: &serde_json::Value| {
            raw["spec"]["committedResourceReservation"]["commitmentUUID"] == object.spec.commitment_uuid.as_str()
        };
        let malformed = self.reservations.malformed();
        let one = malformed.iter().find(|one| one.key.name.starts_with(&prefix) || ours(&one.raw))?;
        Some(format!("Reservation {} cannot be read, correct or delete it: {}", one.key.name, one.error))
    }
}

/// Other types may carry the data of a commitment in old objects; they are not ours.
fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

/// The clusters that keep the finalizer, except one that a person has given up (D1).
fn unreadable(key: &ObjectKey, object: &CommittedResource, partial: Option<&String>) -> Vec<ClusterName> {
    let forgotten = object.annotations().get(labels::FORGET_CLUSTER);
    let cluster = partial.map(|_| key.cluster.clone());
    cluster.into_iter().filter(|cluster| forgotten.is_none_or(|name| name != cluster.as_str())).collect()
}

fn ready(object: &CommittedResource) -> Option<Ready> {
    let condition = conditions::ready(&object.status.as_ref()?.conditions)?;
    Some(Ready {
        status: match condition.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: Reason::parse(&condition.reason),
        message: condition.message.clone(),
        observed_generation: condition.observed_generation.unwrap_or_default(),
        since: condition.last_transition_time.0,
    })
}
