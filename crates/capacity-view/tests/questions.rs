//! The result of a request on each host, compared with sums over all reservations; and the lookups of the view,
//! compared with scans of all its input.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use berth_capacity_view::{Class, ClassSet, HostId, HostSet, Question, View};
use berth_core::block::blocks_on;
use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{GroupName, HostName, ProjectId, Resources, SlotKey, VmId};
use proptest::collection::vec;
use proptest::prelude::*;

use support::{Event, act, event, host_name, instance, size, vm};

/// The latest state of the objects.
#[derive(Clone, Debug, Default)]
struct Objects {
    hosts: BTreeMap<HostName, Host>,
    reservations: BTreeMap<SlotKey, Reservation>,
}

impl Objects {
    fn show(&mut self, event: &Event) {
        match event {
            Event::Host(host) => drop(self.hosts.insert(host.name.clone(), (**host).clone())),
            Event::NoHost(name) => drop(self.hosts.remove(name)),
            Event::Reservation(slot) => drop(self.reservations.insert(slot.key.clone(), (**slot).clone())),
            Event::NoReservation(key) => drop(self.reservations.remove(key)),
            _ => {}
        }
    }

    fn on(&self, host: &HostName) -> Vec<&Reservation> {
        self.reservations.values().filter(|one| one.hosts().any(|name| name == host)).collect()
    }

    fn keys(&self, is_wanted: impl Fn(&Reservation) -> bool) -> Vec<&SlotKey> {
        self.reservations.values().filter(|one| is_wanted(one)).map(|one| &one.key).collect()
    }
}

fn reported(events: Vec<Event>) -> (View, Objects) {
    let (mut view, mut objects) = (View::default(), Objects::default());
    for event in events {
        objects.show(&event);
        act(&mut view, event);
    }
    (view, objects)
}

/// Events without entries and claims, which have their own tests.
fn shown() -> impl Strategy<Value = Vec<Event>> {
    let is_shown = |event: &Event| {
        matches!(event, Event::Host(_) | Event::NoHost(_) | Event::Reservation(_) | Event::NoReservation(_))
    };
    vec(event().prop_filter("an object", is_shown), 1..40)
}

/// The options of a request, and its project.
#[derive(Clone, Debug)]
struct Asked {
    switches: [bool; 7],
    owner: Option<(ProjectId, GroupName)>,
    vm: Option<VmId>,
}

fn any_question() -> impl Strategy<Value = Asked> {
    let owner = prop::option::of(("p[01]".prop_map(ProjectId::from), "g[01]".prop_map(GroupName::from)));
    (any::<[bool; 7]>(), owner, prop::option::of(vm())).prop_map(|(switches, owner, vm)| Asked { switches, owner, vm })
}

impl Asked {
    fn question(&self) -> Question<'_> {
        let [
            assume_empty,
            ignore_committed,
            ignore_failover,
            ignore_in_flight,
            count_ungrouped,
            own_failover,
            any_failover,
        ] = self.switches;
        Question {
            assume_empty,
            ignore_committed,
            ignore_failover,
            ignore_in_flight,
            count_ungrouped,
            owner: self.owner.as_ref().map(|(project, group)| (project, group)),
            own_failover,
            any_failover,
            vm: self.vm.as_ref(),
        }
    }

    fn counts(&self, one: &Reservation) -> bool {
        let question = self.question();
        match &one.kind {
            ReservationKind::Committed(_) if question.ignore_committed => false,
            ReservationKind::Committed(_) => !one.ready || !one.group.is_empty() || question.count_ungrouped,
            ReservationKind::Failover(_) if question.ignore_failover => false,
            ReservationKind::Failover(_) => !one.ready || !question.any_failover,
            ReservationKind::InFlight(_) => !question.ignore_in_flight && !question.assume_empty,
            ReservationKind::Other => true,
        }
    }

    /// Whether only this request ignores the reservation.
    fn unlocks(&self, one: &Reservation) -> bool {
        let question = self.question();
        let is_own = |vms: &BTreeSet<VmId>| self.vm.as_ref().is_some_and(|vm| vms.contains(vm));
        match &one.kind {
            ReservationKind::Committed(_) => {
                one.ready && !one.group.is_empty() && question.owner == Some((&one.project, &one.group))
            }
            ReservationKind::Failover(vms) => one.ready && question.own_failover && is_own(vms),
            ReservationKind::InFlight(vm) => Some(vm) == self.vm.as_ref(),
            ReservationKind::Other => false,
        }
    }

    fn free(&self, objects: &Objects, host: &Host) -> Option<Resources> {
        let question = self.question();
        let before = if question.assume_empty { host.capacity.known()? } else { host.unreserved().known()? };
        let mut taken = Resources::ZERO;
        for (one, block) in blocks_on(host, objects.on(&host.name)) {
            taken += match (self.counts(one), self.unlocks(one), question.assume_empty) {
                (false, ..) | (true, true, true) => Resources::ZERO,
                (true, false, true) => one.size.at_least_zero(),
                (true, false, false) => block.block,
                (true, true, false) => self.still_to_come(one, host),
            };
        }
        Some(before - taken)
    }

    fn still_to_come(&self, one: &Reservation, host: &Host) -> Resources {
        let ReservationKind::Committed(vms) = &one.kind else { return Resources::ZERO };
        let comes = |vm: &VmId| Some(vm) != self.vm.as_ref() && !host.instances.contains_key(vm);
        vms.iter().filter(|(vm, _)| comes(vm)).map(|(_, size)| size.at_least_zero()).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_request_finds_the_capacity_that_is_left_by_all_that_counts_for_it(events in shown(), asked in any_question()) {
        let (view, objects) = reported(events);
        let overlay = view.overlay();
        let free_capacities = overlay.free_capacities(&asked.question());
        for (id, state) in view.hosts() {
            let host = &objects.hosts[&state.host().name];
            prop_assert_eq!(free_capacities.at(id), asked.free(&objects, host), "{}", host.name);
        }
    }

    #[test]
    fn the_hosts_that_fit_are_those_with_the_capacity(events in shown(), asked in any_question(), need in size(), some in any::<[bool; 4]>()) {
        let (view, objects) = reported(events);
        let overlay = view.overlay();
        let free_capacities = overlay.free_capacities(&asked.question());
        let among: HostSet = view.hosts().zip(some).filter(|(_, is_asked)| *is_asked).map(|((id, _), _)| id).collect();
        let mut fitting = among.clone();
        free_capacities.keep_fitting(need, &mut fitting);
        for (id, state) in view.hosts() {
            let free = asked.free(&objects, &objects.hosts[&state.host().name]);
            prop_assert_eq!(fitting.has(id), among.has(id) && free.is_some_and(|free| need.fits(free)));
        }
    }

    #[test]
    fn who_counts_more_reservations_finds_no_more_capacity(events in vec(event(), 1..40), asked in any_question(), ignored in 1_usize..4) {
        let (view, _) = reported(events);
        let mut more = asked.clone();
        more.switches[ignored] = false;
        let mut less = asked;
        less.switches[ignored] = true;
        let overlay = view.overlay();
        let (more, less) = (overlay.free_capacities(&more.question()), overlay.free_capacities(&less.question()));
        for (id, _) in view.hosts() {
            prop_assert_eq!(more.at(id).is_some(), less.at(id).is_some());
            if let Some((more, less)) = more.at(id).zip(less.at(id)) {
                prop_assert!(more.fits(less), "{more} {less}");
            }
        }
    }

    #[test]
    fn a_view_that_is_reported_the_last_state_at_once_shows_the_same(events in shown(), hosts_first in any::<bool>()) {
        let (view, objects) = reported(events);
        let hosts = objects.hosts.values().map(|host| Event::Host(Box::new(host.clone())));
        let slots = objects.reservations.values().map(|slot| Event::Reservation(Box::new(slot.clone())));
        let events: Vec<Event> = if hosts_first { hosts.chain(slots).collect() } else { slots.chain(hosts).collect() };
        let (anew, _) = reported(events);
        for name in objects.hosts.keys() {
            prop_assert_eq!(anew.free(name), view.free(name));
            let takes = |view: &View| view.state(view.id(name).unwrap()).unwrap().taken().to_vec();
            prop_assert_eq!(takes(&anew), takes(&view));
        }
        prop_assert_eq!((anew.host_count(), anew.reservation_count()), (view.host_count(), view.reservation_count()));
    }

    #[test]
    fn a_need_of_nothing_fits_wherever_nothing_is_over_booked(events in shown()) {
        let (view, _) = reported(events);
        let overlay = view.overlay();
        let free_capacities = overlay.free_capacities(&Question { count_ungrouped: true, ..Question::default() });
        let mut hosts = view.present().clone();
        free_capacities.keep_fitting(Resources::ZERO, &mut hosts);
        for (id, state) in view.hosts() {
            let is_sound = state.free().known().is_some() && !state.free().overbooked();
            prop_assert_eq!(hosts.has(id), is_sound);
        }
    }

    #[test]
    fn lookups_find_what_a_scan_of_the_reservations_finds(events in vec(event(), 1..60), vm in vm(), instance in instance()) {
        let (view, objects) = reported(events);
        prop_assert_eq!(view.reservation_count(), objects.reservations.len());
        for (project, group) in [("p0", "g0"), ("p0", "g1"), ("p1", "g0"), ("p1", "")] {
            let (project, group) = (ProjectId::from(project), GroupName::from(group));
            let is_own = |one: &Reservation| {
                matches!(one.kind, ReservationKind::Committed(_))
                    && one.ready
                    && !one.group.is_empty()
                    && (&one.project, &one.group) == (&project, &group)
            };
            let found: Vec<_> = view.slots_of(&project, &group).map(|slot| &slot.key).collect();
            prop_assert_eq!(found, objects.keys(is_own));
        }
        let expects = |one: &Reservation| matches!(&one.kind, ReservationKind::Committed(vms) if vms.contains_key(&vm));
        prop_assert_eq!(view.slots_expecting(&vm).map(|slot| &slot.key).collect::<Vec<_>>(), objects.keys(expects));
        let protects = |one: &Reservation| matches!(&one.kind, ReservationKind::Failover(vms) if vms.contains(&vm));
        let lands = |one: &Reservation| one.kind == ReservationKind::InFlight(vm.clone());
        let concerned = objects.keys(|one| protects(one) || lands(one));
        prop_assert_eq!(view.reservations_for(&vm).map(|one| &one.key).collect::<Vec<_>>(), concerned);
        let ready: Vec<_> = objects.keys(|one| one.ready && protects(one));
        prop_assert_eq!(view.failovers_for(&vm).map(|one| &one.key).collect::<Vec<_>>(), ready);
        let all = objects.keys(|one| one.ready && matches!(one.kind, ReservationKind::Failover(_)));
        prop_assert_eq!(view.failovers().map(|one| &one.key).collect::<Vec<_>>(), all);
        let named = objects.keys(|one| one.key.name.as_str() == instance.as_str());
        prop_assert_eq!(view.reservations_named(instance.as_str()).collect::<Vec<_>>(), named);
    }

    #[test]
    fn a_host_keeps_its_place_while_it_is_known_and_no_two_share_one(events in vec(event(), 1..60)) {
        let (mut view, mut places) = (View::default(), BTreeMap::<HostName, HostId>::new());
        for event in events {
            if let Event::NoHost(name) = &event {
                places.remove(name);
            }
            act(&mut view, event);
            for (name, place) in &places {
                prop_assert_eq!(view.id(name), Some(*place));
            }
            places = view.hosts().map(|(id, state)| (state.host().name.clone(), id)).collect();
            let taken: BTreeSet<HostId> = places.values().copied().collect();
            prop_assert_eq!(taken.len(), view.host_count());
            prop_assert_eq!(view.present().iter().collect::<BTreeSet<_>>(), taken);
            prop_assert!(view.hosts().all(|(id, _)| id.index() < 4), "places are reused");
        }
    }

    #[test]
    fn claims_are_found_by_instance_and_by_host(events in vec(event(), 1..60), name in host_name()) {
        let (view, _) = reported(events);
        let on_host: Vec<_> = view.all_claims().filter(|claim| claim.host == name).map(|claim| &claim.instance).collect();
        let found: BTreeSet<_> = view.claims_on(&name).map(|claim| &claim.instance).collect();
        prop_assert_eq!(found, on_host.into_iter().collect::<BTreeSet<_>>());
        for claim in view.all_claims() {
            prop_assert_eq!(view.claim_of(&claim.instance), Some(claim));
        }
        for entry in view.all_assumed() {
            prop_assert_eq!(view.assumed(&entry.key), Some(entry));
        }
    }

    #[test]
    fn sets_of_classes_are_sets(bits in any::<[[bool; 8]; 2]>()) {
        let all: Vec<Class> = ClassSet::ALL.iter().collect();
        let set = |bits: &[bool; 8]| all.iter().zip(bits).filter(|(_, is_in)| **is_in).map(|(class, _)| *class).collect::<ClassSet>();
        let (a, b) = (set(&bits[0]), set(&bits[1]));
        for (place, class) in all.iter().enumerate() {
            let (in_a, in_b) = (bits[0][place], bits[1][place]);
            prop_assert_eq!(a.has(*class), in_a);
            prop_assert_eq!(a.and(b).has(*class), in_a || in_b);
            prop_assert_eq!(a.without(b).has(*class), in_a && !in_b);
        }
        prop_assert_eq!(a.iter().count(), bits[0].iter().filter(|is_in| **is_in).count());
    }
}

#[test]
fn every_reservation_is_of_one_class() {
    let one = |kind: ReservationKind, ready, group: &str| {
        let key = SlotKey::new("home".into(), "s");
        let (project, group, zone) = ("p".into(), group.into(), "az".into());
        Class::of(&Reservation {
            key,
            kind,
            project,
            group,
            zone,
            size: Resources::ZERO,
            target_host: None,
            status_host: None,
            ready,
        })
    };
    let (slot, failover) = (ReservationKind::Committed(BTreeMap::new()), ReservationKind::Failover(BTreeSet::new()));
    let landing = ReservationKind::InFlight("v".into());
    for (kind, ready, group, class) in [
        (slot.clone(), true, "g", Class::Committed),
        (slot.clone(), true, "", Class::Ungrouped),
        (slot.clone(), false, "g", Class::CommittedUnready),
        (slot, false, "", Class::CommittedUnready),
        (failover.clone(), true, "g", Class::Failover),
        (failover, false, "", Class::FailoverUnready),
        (landing.clone(), true, "", Class::InFlight),
        (landing, false, "g", Class::InFlight),
        (ReservationKind::Other, true, "", Class::Other),
    ] {
        assert_eq!(one(kind.clone(), ready, group), class, "{kind:?} {ready} {group}");
    }
}
