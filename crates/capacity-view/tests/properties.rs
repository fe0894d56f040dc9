//! The view equals the sums over its objects, after any events in any order, and never shows free capacity that is
//! taken.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use berth_capacity_view::{Assumed, Claim, Question, View};
use berth_core::block::{Block, blocks_on, free};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, GroupName, HostName, ProjectId, Resources, SlotKey, VmId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use support::{Event, act, event, host, size, vm};

/// The same events on plain maps.
#[derive(Default)]
struct Model {
    hosts: BTreeMap<HostName, Host>,
    reservations: BTreeMap<SlotKey, Reservation>,
    assumed: BTreeMap<SlotKey, Assumed>,
    claims: BTreeMap<VmId, (Claim, BTreeSet<HostName>)>,
}

impl Model {
    fn apply(&mut self, event: &Event) {
        match event.clone() {
            Event::Host(host) => {
                self.claims.retain(|vm, (claim, listed)| {
                    !host.instances.contains_key(vm) || claim.host != host.name && listed.contains(&host.name)
                });
                self.hosts.insert(host.name.clone(), *host);
            }
            Event::NoHost(name) => drop(self.hosts.remove(&name)),
            Event::Reservation(reservation) => {
                let shown = |entry: &Assumed| {
                    let expects = |vm: &VmId| reservation.expected().any(|(expected, _)| expected == vm);
                    Some(&entry.host) == reservation.target_host.as_ref()
                        && entry.size.fits(reservation.size)
                        && entry.vms.keys().all(expects)
                };
                let key = &reservation.key;
                let changed = self.reservations.get(key) != Some(&*reservation);
                if changed && self.assumed.get(key).is_some_and(shown) {
                    self.assumed.remove(key);
                }
                let target = reservation.target_host.as_ref();
                let before = self.reservations.get(key).and_then(|known| known.target_host.as_ref());
                if let Some((claim, _)) = self.claims.get(key.name.as_str()).filter(|_| changed && target.is_some())
                    && (target == Some(&claim.host) || target != before)
                {
                    self.claims.remove(key.name.as_str());
                }
                self.reservations.insert(key.clone(), *reservation);
            }
            Event::NoReservation(key) => {
                if self.reservations.remove(&key).is_some() {
                    self.assumed.remove(&key);
                }
            }
            Event::Assume(entry) => drop(self.assumed.insert(entry.key.clone(), entry)),
            Event::Forget(key) => drop(self.assumed.remove(&key)),
            Event::Claim(claim) => {
                let lists = self.hosts.values().filter(|host| host.instances.contains_key(&claim.instance));
                let listed = lists.map(|host| host.name.clone()).collect();
                self.claims.insert(claim.instance.clone(), (claim, listed));
            }
            Event::Unclaim(instance) => drop(self.claims.remove(&instance)),
            Event::Unbook(instance) => {
                if let Some((claim, _)) = self.claims.get_mut(&instance) {
                    claim.slot = None;
                }
            }
            Event::Expire(now) => self.claims.retain(|_, (claim, _)| claim.expires > now),
            // Free capacity does not change.
            Event::Doubt(_) => {}
        }
    }

    /// The reservations of a host now, or after all assumed changes.
    fn free(&self, host: &Host, with_assumed: bool) -> Amounts {
        let mut here = self.reservations.clone();
        for entry in self.assumed.values().filter(|entry| with_assumed && entry.host == host.name) {
            let promise = match self.reservations.get(&entry.key) {
                Some(known) => {
                    let stands = known.hosts().any(|name| *name == host.name);
                    let size = if stands { known.size.max(entry.size) } else { entry.size };
                    let mut kind = known.kind.clone();
                    if let ReservationKind::Committed(expected) = &mut kind {
                        let new = entry.vms.iter().filter(|(vm, _)| !known.expected().any(|(known, _)| known == *vm));
                        expected.extend(new.map(|(vm, size)| (vm.clone(), *size)));
                    }
                    Reservation { target_host: Some(entry.host.clone()), size, kind, ..known.clone() }
                }
                None => plain(entry),
            };
            here.insert(entry.key.clone(), promise);
        }
        here.retain(|_, reservation| reservation.hosts().any(|name| *name == host.name));
        let mut besides = Resources::ZERO;
        for (claim, _) in self.claims.values().filter(|(claim, _)| with_assumed && claim.host == host.name) {
            besides += expect(host, &mut here, claim);
        }
        // A VM that a slot is about to expect lowers its block only when the object shows that.
        let stands = |reservation: &&Reservation| reservation.hosts().any(|name| *name == host.name);
        let shown = blocks_on(host, self.reservations.values().filter(stands));
        let at_least = |key: &SlotKey| {
            shown.iter().find(|(slot, _)| slot.key == *key).map(|(_, block)| block.block).unwrap_or_default()
        };
        let blocks: Vec<_> = blocks_on(host, here.values())
            .into_iter()
            .map(|(slot, block)| Block { block: block.block.max(at_least(&slot.key)), ..block })
            .collect();
        free(host, &blocks).less(besides)
    }
}

/// Changes the reservations of a host as a claim will change them; returns the part that none of them covers.
fn expect(host: &Host, here: &mut BTreeMap<SlotKey, Reservation>, claim: &Claim) -> Resources {
    if let Some(own) = here.values_mut().find(|own| own.key.name.as_str() == claim.instance.as_str()) {
        own.size = own.size.max(claim.size);
        return Resources::ZERO;
    }
    let slot = claim.slot.as_ref().and_then(|key| here.get_mut(key)).map(|slot| &mut slot.kind);
    match slot {
        Some(ReservationKind::Committed(vms)) if !host.instances.contains_key(&claim.instance) => {
            let size = vms.entry(claim.instance.clone()).or_default();
            *size = size.max(claim.size);
            Resources::ZERO
        }
        _ => claim.size,
    }
}

fn plain(entry: &Assumed) -> Reservation {
    Reservation {
        key: entry.key.clone(),
        kind: ReservationKind::Committed(entry.vms.clone()),
        project: ProjectId::default(),
        group: GroupName::default(),
        zone: "".into(),
        size: entry.size,
        target_host: Some(entry.host.clone()),
        status_host: None,
        ready: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_view_equals_the_formula_over_its_objects_after_every_event(events in vec(event(), 1..40)) {
        let (mut view, mut model) = (View::default(), Model::default());
        for event in events {
            model.apply(&event);
            act(&mut view, event);
            prop_assert_eq!(view.host_count(), model.hosts.len());
            for host in model.hosts.values() {
                let shown = view.free(&host.name).unwrap();
                prop_assert_eq!(shown, model.free(host, true), "{}", host.name);
                let Some((shown, slots)) = shown.known().zip(model.free(host, false).known()) else { continue };
                prop_assert!(shown.fits(slots), "never above capacity minus VMs minus slots");
            }
            prop_assert_eq!(view.drift(), Vec::<HostName>::new());
        }
    }

    #[test]
    fn a_host_is_reported_exactly_when_it_gained_capacity(events in vec(event(), 1..40)) {
        let mut view = View::default();
        for event in events {
            let free_capacities = |view: &View| -> BTreeMap<_, _> { view.hosts().map(|(id, state)| (id, state.free_capacity())).collect() };
            let before = free_capacities(&view);
            let gained = match event {
                Event::Reservation(reservation) => view.set_reservation(*reservation),
                Event::NoReservation(key) => view.remove_reservation(&key),
                Event::Assume(entry) => view.assume(entry),
                Event::Forget(key) => view.forget(&key),
                Event::Claim(claim) => view.claim(claim),
                Event::Unclaim(instance) => view.unclaim(&instance),
                Event::Expire(now) => view.expire(now),
                Event::Host(host) if view.id(&host.name).is_some() => {
                    let grew = view.state(view.id(&host.name).unwrap()).unwrap().free_capacity();
                    let change = view.set_host(*host);
                    let now = view.state(change.id).unwrap().free_capacity();
                    let grew = now.is_some_and(|now| grew.is_none_or(|before| !now.fits(before)));
                    prop_assert!(change.gained || !grew);
                    change.freed.into_iter().chain(grew.then_some(change.id)).collect()
                }
                other => {
                    act(&mut view, other);
                    continue;
                }
            };
            for (id, free) in free_capacities(&view) {
                let grew = free.is_some_and(|after| before[&id].is_none_or(|before| !after.fits(before)));
                prop_assert_eq!(grew, gained.contains(&id));
            }
        }
    }

    #[test]
    fn what_is_assumed_is_never_free_before_it_is_shown(
        host in host(),
        entry_size in size(),
        grown in size(),
        also_on in option::of(support::host_name()),
    ) {
        let mut view = View::default();
        let name = host.name.clone();
        view.set_host(host);
        let entry = Assumed {
            key: SlotKey::new(ClusterName::home(), "s"), host: name.clone(), size: entry_size, vms: [].into(), doubt: false,
        };
        let before = view.free(&name).unwrap().known();
        view.assume(entry.clone());
        let assumed = view.free(&name).unwrap().known();
        let mut shown = Reservation { size: entry_size + grown, ..plain(&entry) };
        shown.status_host = also_on;
        view.set_reservation(shown);
        prop_assert!(view.assumed(&entry.key).is_none());
        prop_assert!(view.placed_by_us(&entry.key));
        let after = view.free(&name).unwrap().known();
        if let Some(((before, assumed), after)) = before.zip(assumed).zip(after) {
            prop_assert_eq!(before - assumed, entry_size);
            prop_assert!(after.fits(assumed));
        }
    }

    #[test]
    fn what_is_unlocked_never_gives_more_than_the_host_without_it(events in vec(event(), 1..30), own in vm()) {
        let mut view = View::default();
        for event in events {
            act(&mut view, event);
        }
        let (project, group) = (ProjectId::from("p0"), GroupName::from("g0"));
        let overlay = view.overlay();
        let all = overlay.free_capacities(&Question { count_ungrouped: true, ..Question::default() });
        let unlocked = overlay.free_capacities(&Question {
            owner: Some((&project, &group)),
            own_failover: true,
            vm: Some(&own),
            ..Question::default()
        });
        for (id, state) in view.hosts() {
            prop_assert_eq!(all.at(id), state.free_capacity());
            let bare = state.host().unreserved().known();
            let Some(((all, unlocked), bare)) = all.at(id).zip(unlocked.at(id)).zip(bare) else { continue };
            let claimed = view.claim_of(&own).is_some_and(|claim| claim.host == state.host().name);
            prop_assert!(all.fits(unlocked) && unlocked.fits(bare) || claimed && unlocked.fits(bare));
        }
    }
}

#[test]
fn a_host_of_another_cluster_with_the_same_name_counts_last_and_is_counted() {
    let of = |cluster: &str, memory| Host {
        cluster: cluster.into(),
        name: "h".into(),
        capacity: Resources::new(Bytes::new(memory), Cores::new(1)).into(),
        ..Host::default()
    };
    let mut view = View::default();
    for (cluster, memory) in [("a", 1), ("b", 2), ("b", 3)] {
        view.set_host(of(cluster, memory));
    }
    assert_eq!((view.displaced(), view.host_count()), (1, 1));
    assert_eq!(view.free(&"h".into()).unwrap().memory, Some(Bytes::new(3)));
}

#[test]
fn absurd_sizes_never_make_capacity() {
    let huge = Resources::new(Bytes::MAX, Cores::MAX);
    let small = Resources::new(Bytes::new(8), Cores::new(8));
    let mut view = View::default();
    view.set_host(Host { name: "h".into(), capacity: small.into(), ..Host::default() });
    let (project, group) = (ProjectId::from("p"), GroupName::from("g"));
    for name in ["a", "b", "c"] {
        let entry = Assumed {
            key: SlotKey::new(ClusterName::home(), name),
            host: "h".into(),
            size: huge,
            vms: [].into(),
            doubt: false,
        };
        let owned = if name == "c" { ("other".into(), "g".into()) } else { (project.clone(), group.clone()) };
        view.set_reservation(Reservation { project: owned.0, group: owned.1, ready: true, ..plain(&entry) });
    }
    let overlay = view.overlay();
    let free_capacities = overlay.free_capacities(&Question { owner: Some((&project, &group)), ..Question::default() });
    let (id, _) = view.hosts().next().unwrap();
    assert!(!small.fits(free_capacities.at(id).unwrap()), "c still blocks everything");
}
