//! The load of one host, and the requests that it refuses, for users.

use std::cmp::Reverse;

use berth_capacity_view::{Claim, HostState, View};
use berth_core::block::{self, Block};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::Reservation;
use berth_core::{HostName, ProjectId, Resources, Zone};

use super::{BuiltIn, Inner};
use crate::candidates::Scope;
use crate::row::tenants;
use crate::service::out_of_service_reasons;
use crate::{FilterName, OutOfService, Request, SchedulerError};

/// A host with everything that takes free capacity on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    pub host: Host,
    /// The conditions that keep it out of service.
    pub hindrances: Vec<OutOfService>,
    /// The projects that its aggregates admit; empty means all.
    pub tenants: Vec<ProjectId>,
    /// Capacity minus VMs, reservations, assume entries and claims; negative means over-booked.
    pub free: Amounts,
    /// The free capacity that the objects alone show, without promises: capacity minus VMs and reservations.
    pub observed: Amounts,
    /// The reservations that name it, the largest block of memory first.
    pub reservations: Vec<Held>,
    /// The capacity of VMs that have not appeared yet.
    pub claims: Vec<Claim>,
}

/// A reservation on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub reservation: Reservation,
    /// The block there besides the VMs that are there.
    pub block: Block,
    /// The part that covers VMs which were promised into it and which its object does not show yet.
    pub covered: Resources,
}

impl BuiltIn {
    /// The load of a host; `None` if the host is unknown.
    pub fn host_report(&self, name: &HostName) -> Option<HostReport> {
        self.lock().host_report(name)
    }

    /// The hosts of a zone that are over-booked as the objects alone show them, in the order of their names. Cheap enough
    /// for every host of a zone: only a report copies anything.
    pub fn overbooked_hosts(&self, zone: &Zone) -> Vec<HostName> {
        let inner = self.lock();
        let of_zone = inner.fleet.view.hosts().map(|(_, state)| state).filter(|state| state.host().zone == *zone);
        let overbooked = of_zone.filter(|state| observed(state).overbooked());
        let mut names: Vec<HostName> = overbooked.map(|state| state.host().name.clone()).collect();
        names.sort();
        names
    }

    /// The filter that removes a host first for this request, independent of other hosts; `None` if no filter does. An
    /// unknown host refuses nothing.
    pub fn refusal(&self, host: &HostName, request: &Request) -> Result<Option<FilterName>, SchedulerError> {
        let inner = self.lock();
        let Some(id) = inner.fleet.view.id(host) else { return Ok(None) };
        let decision = inner.run(&inner.fleet.view.overlay(), request, Scope::Only(&[id]))?;
        match decision.failed {
            Some(error) => Err(error),
            None => Ok(decision.removed.removed.first().map(|(filter, _)| *filter)),
        }
    }
}

impl Inner {
    fn host_report(&self, name: &HostName) -> Option<HostReport> {
        let view = &self.fleet.view;
        let state = view.state(view.id(name)?)?;
        Some(HostReport {
            host: state.host().clone(),
            hindrances: out_of_service_reasons(state.host()),
            tenants: tenants(state.host()).into_iter().collect(),
            free: state.free(),
            observed: observed(state),
            reservations: held(view, state),
            claims: view.claims_on(name).cloned().collect(),
        })
    }
}

pub(super) fn observed(state: &HostState) -> Amounts {
    block::free(state.host(), state.taken().iter().map(|taken| &taken.block))
}

fn held(view: &View, state: &HostState) -> Vec<Held> {
    let taken = state.taken().iter();
    let held = taken.filter_map(|taken| {
        let reservation = view.reservation(&taken.key)?.clone();
        Some(Held { reservation, block: taken.block, covered: taken.covered })
    });
    let mut held: Vec<Held> = held.collect();
    held.sort_by_key(|held| Reverse((held.block.block.memory, held.block.block.cpu)));
    held
}

#[cfg(test)]
mod tests {
    use berth_core::host::ConditionStatus;

    use super::*;
    use crate::tests::{gib, host, key, request, slot, with_intent};
    use crate::{Intent, Settings};

    fn scheduler(host: Host, slots: &[Reservation]) -> BuiltIn {
        let scheduler = BuiltIn::new(Settings::default(), Box::new(|_| {}));
        scheduler.host_changed(&host.name.clone(), Some(host));
        for slot in slots {
            scheduler.reservation_changed(&slot.key, Some(slot.clone()));
        }
        scheduler
    }

    #[test]
    fn a_report_has_the_sums_of_the_view_and_the_largest_block_first() {
        let mut node = host("node", gib(16, 64));
        node.instances = [("vm".into(), true)].into();
        node.allocation = gib(2, 8).into();
        let slots = [
            slot("a", "node", gib(4, 16), &[("vm", gib(2, 8))]),
            slot("b", "node", gib(4, 16), &[]),
            slot("elsewhere", "other", gib(4, 16), &[]),
        ];
        let report = scheduler(node, &slots).host_report(&"node".into()).unwrap();
        let held: Vec<_> =
            report.reservations.iter().map(|held| (held.reservation.key.clone(), held.block.block)).collect();
        assert_eq!(held, [(key("b"), gib(4, 16)), (key("a"), gib(2, 8))]);
        assert_eq!(report.free, gib(8, 32).into(), "16/64 minus VM 2/8 minus 4/16 minus 2/8");
        assert_eq!(report.hindrances, []);
    }

    #[test]
    fn the_over_booked_hosts_of_a_zone_are_those_that_objects_show() {
        let scheduler = scheduler(host("b", gib(4, 16)), &[slot("b1", "b", gib(8, 32), &[])]);
        let mut elsewhere = host("elsewhere", gib(4, 16));
        elsewhere.zone = "other".into();
        for host in [host("a", gib(4, 16)), host("full", gib(4, 16)), elsewhere] {
            scheduler.host_changed(&host.name.clone(), Some(host));
        }
        for (name, host, cpu) in [("a1", "a", 5), ("full1", "full", 4), ("elsewhere1", "elsewhere", 8)] {
            scheduler.reservation_changed(&key(name), Some(slot(name, host, gib(cpu, 16), &[])));
        }
        let names = |zone: &str| scheduler.overbooked_hosts(&zone.into()).into_iter().map(|name| name.to_string());
        assert_eq!(names("az").collect::<Vec<_>>(), ["a", "b"], "in the order of their names");
        assert_eq!(names("other").collect::<Vec<_>>(), ["elsewhere"]);
        assert_eq!(names("none").count(), 0);
    }

    #[test]
    fn conditions_that_keep_a_host_out_of_service_are_named() {
        let mut node = host("node", gib(16, 64));
        node.conditions = [
            ("Ready".to_owned(), ConditionStatus::Unknown),
            ("Onboarding".to_owned(), ConditionStatus::True),
            ("Terminating".to_owned(), ConditionStatus::True),
            ("HypervisorDisabled".to_owned(), ConditionStatus::False),
        ]
        .into();
        let report = scheduler(node, &[]).host_report(&"node".into()).unwrap();
        let text: Vec<_> = report.hindrances.iter().map(|one| (one.condition, one.status)).collect();
        assert_eq!(text, [("Ready", ConditionStatus::Unknown), ("Terminating", ConditionStatus::True)]);
        assert_eq!(scheduler(host("node", gib(1, 1)), &[]).host_report(&"other".into()), None);
    }

    #[test]
    fn a_refusal_names_the_filter_and_asks_this_host_only() {
        let scheduler = scheduler(host("node", gib(16, 64)), &[]);
        let refusal = |request: &Request| scheduler.refusal(&"node".into(), request).unwrap().map(|filter| filter.step);
        let slot =
            |vcpus, mib, specs: &[_]| with_intent(request(vcpus, mib, specs), Intent::ReserveForCommittedResource);
        assert_eq!(refusal(&slot(4, 1024, &[])), None);
        assert_eq!(refusal(&slot(17, 1024, &[])), Some("filter_has_enough_capacity"));
        assert_eq!(refusal(&slot(4, 1024, &[("trait:CUSTOM_X", "required")])), Some("filter_has_requested_traits"));
        let mut elsewhere = slot(4, 1024, &[]);
        elsewhere.zone = "other".into();
        assert_eq!(refusal(&elsewhere), Some("filter_correct_az"));
    }
}
