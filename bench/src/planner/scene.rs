//! A commitment with its slots, as a reconciliation reads them: ready on hosts, every second one with a VM, ordered by
//! name.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::testing::completeness_proof;
use berth_committed_resource::{Capacity, CommitmentFacts, Holding, NameLookup, Ready, Site};
use berth_core::ClusterName;
use berth_core::commitment::Spec;
use berth_core::flavor::FlavorGroups;
use berth_core::host::ConditionStatus;
use berth_core::planner::PlannerInput;
use berth_core::slot::Slot;
use berth_crds::conditions::commitment::{Message, Reason};
use berth_crds::conditions::{self, Status};
use berth_crds::reservation::Allocation;
use berth_crds::{Reservation, Time, facts, testing};
use jiff::Timestamp;

use crate::cloud;
use crate::error::Error;

const UUID: &str = "bench-plan";
const PER_HOST: u64 = 20;
const GIB: usize = 480;

/// An accepted commitment, and its slots as the API server has them.
pub struct Scene {
    objects: Vec<Reservation>,
    groups: Arc<FlavorGroups>,
}

impl Scene {
    pub fn new(slots: usize) -> Result<Self, Error> {
        let mut objects: Vec<_> = (0..slots as u64).map(object).collect();
        objects.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let parsed = FlavorGroups::parse(&cloud::flavor_groups());
        Ok(Self { objects, groups: Arc::new(parsed.map_err(|error| Error::Scene(error.to_string()))?.groups) })
    }

    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::with_capacity(self.objects.len());
        for object in &self.objects {
            slots.push(facts::slot_beside(object, slots.last()));
        }
        slots
    }

    /// The input of the planning step when the commitment wants this many slots.
    pub fn facts(&self, wanted: usize) -> CommitmentFacts {
        let home = ClusterName::home;
        let site = Ok(Site { cluster: home(), hosts_unknown: None, has_hosts: true, host_unreadable: None });
        let holding = Holding { slots: self.slots(), read: Ok(completeness_proof(&home())), shared: false };
        CommitmentFacts {
            name: berth_crds::names::commitment(UUID),
            cluster: home(),
            paused: None,
            belongs_to: None,
            belongs_unread: None,
            generation: 1,
            created: Timestamp::UNIX_EPOCH,
            deleting: false,
            has_finalizer: true,
            spec: spec(wanted),
            accepted: Some(spec(self.objects.len())),
            ready: Some(accepted()),
            served_instead: None,
            holdings: [(home(), holding)].into(),
            site: site.clone(),
            accepted_site: site,
            forgotten: [].into(),
            taken: NameLookup(Arc::new(|_| false)),
            groups: Ok(self.groups.clone()),
            outdated: None,
            vms: Vec::new(),
            free_capacity: BTreeMap::new(),
            disruption_limited: None,
            stopped_end: None,
            shortage: None,
            in_the_way: None,
            change: None,
            undecided: None,
            capacity: Capacity::NoObject,
        }
    }
}

/// The input of the planner besides the target; `None` without flavor groups.
pub fn world(facts: &CommitmentFacts) -> Option<PlannerInput<'_>> {
    let groups = facts.groups.as_ref().ok()?;
    Some(PlannerInput {
        groups,
        slots: facts.slots(),
        free_capacity: &facts.free_capacity,
        taken: &|_| false,
        vms: &facts.vms,
        max_new_slots: None,
        change: None,
    })
}

fn spec(slots: usize) -> Spec {
    facts::spec(&testing::commitment(UUID, &format!("{}Gi", slots * GIB)))
}

fn accepted() -> Ready {
    let (status, reason, message) = (ConditionStatus::True, Some(Reason::Accepted), Message::Reserved.to_string());
    Ready { status, reason, message, observed_generation: 1, since: Timestamp::UNIX_EPOCH }
}

fn object(number: u64) -> Reservation {
    let (mut slot, host) = (testing::slot(UUID, number), format!("node{:05}", number / PER_HOST));
    let status = slot.status.get_or_insert_default();
    status.host = Some(host.clone());
    let ready = conditions::ready_condition(Status::True, "ReservationActive", "", Some(1), Timestamp::UNIX_EPOCH);
    status.conditions = vec![ready];
    status.committed_resource_reservation.get_or_insert_default().observed_parent_generation = Some(1);
    slot.spec.target_host = Some(host);
    if let Some(data) = slot.spec.committed_resource_reservation.as_mut().filter(|_| number.is_multiple_of(2)) {
        let vm = Allocation { creation_timestamp: Time(Timestamp::UNIX_EPOCH), resources: slot.spec.resources.clone() };
        data.allocations = [(format!("11111111-2222-3333-4444-{number:012}"), vm)].into();
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_what_it_wants_needs_nothing() {
        let facts = Scene::new(30).map(|scene| scene.facts(30)).unwrap();
        let plan = berth_core::planner::plan(&facts.target(&facts.spec), &world(&facts).unwrap());
        assert_eq!(plan.map(|plan| (plan.is_empty(), plan.total())), Ok((true, 30)));
        assert_eq!(facts.slots().iter().filter(|slot| slot.expected.is_empty()).count(), 15);
    }
}
