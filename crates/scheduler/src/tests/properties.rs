//! Choices are feasible and the best available, refusals mean that no host was feasible, and nothing is booked twice,
//! over random clouds and random orders of events.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{Outcome, Placed, Placement, Scheduler};

fn any_size() -> impl Strategy<Value = Resources> {
    (1_i64..6, 1_i64..6).prop_map(|(cpu, memory)| gib(cpu, memory))
}

fn any_host(number: usize) -> impl Strategy<Value = Host> {
    (0_i64..16, 0_i64..16, 0_i64..6, prop::bool::weighted(0.8), prop::bool::weighted(0.9)).prop_map(
        move |(cpu, memory, used, right_zone, ready)| {
            let mut host = Host { allocation: gib(used, used).into(), ..host(&format!("h{number}"), gib(cpu, memory)) };
            host.zone = if right_zone { "az" } else { "other" }.into();
            let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
            host.conditions.insert("Ready".to_owned(), status);
            host
        },
    )
}

fn any_hosts() -> impl Strategy<Value = Vec<Host>> {
    (0..6).map(any_host).collect::<Vec<_>>()
}

/// A cloud that may be over-booked from the start.
fn start(hosts: &[Host]) -> Watched {
    let scheduler = Watched::new(Settings::default());
    for host in hosts {
        assert!(scheduler.host_changed(&host.name, Some(host.clone())).is_empty());
    }
    scheduler
}

fn good(scheduler: &Watched, hosts: &[Host], slot: &SlotRequest) -> Vec<HostName> {
    let fits = |host: &&Host| {
        host.zone == slot.zone
            && host.conditions.get("Ready") == Some(&ConditionStatus::True)
            && scheduler.free_capacity(&host.name).is_some_and(|free| slot.size.fits(free))
    };
    hosts.iter().filter(fits).map(|host| host.name.clone()).collect()
}

#[derive(Clone, Debug)]
enum Event {
    Place(u64, Resources),
    PlaceAll(u64, Vec<Resources>, bool),
    /// The apply of all answers ends; the writes succeed or fail.
    Apply(bool),
    Delete(u64),
    Host(usize, Resources),
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u64..12, any_size()).prop_map(|(number, size)| Event::Place(number, size)),
        2 => (0_u64..4, vec(any_size(), 1..5), any::<bool>()).prop_map(|(c, sizes, all)| Event::PlaceAll(c, sizes, all)),
        3 => prop::bool::weighted(0.7).prop_map(Event::Apply),
        2 => (0_u64..12).prop_map(Event::Delete),
        1 => (0_usize..6, any_size()).prop_map(|(number, size)| Event::Host(number, size + size)),
    ]
}

/// The world outside the scheduler: answers that are not applied yet, and the existing objects.
#[derive(Default)]
struct World {
    answered: BTreeMap<SlotKey, (SlotRequest, HostName)>,
    exists: BTreeMap<SlotKey, SlotRequest>,
    asks: BTreeMap<SlotKey, SlotRequest>,
}

impl World {
    fn ask(&mut self, scheduler: &Watched, slot: SlotRequest) {
        if self.exists.contains_key(&slot.key) || self.answered.contains_key(&slot.key) {
            return;
        }
        if let Ok(Placed::Host(host)) = now(scheduler.place(&slot)) {
            self.answered.insert(slot.key.clone(), (slot.clone(), host));
        }
        self.asks.insert(slot.key.clone(), slot);
    }

    fn place_enqueued(&mut self, scheduler: &Watched, enqueued: Vec<SlotKey>) {
        for key in enqueued {
            let slot = self.asks[&key].clone();
            assert!(scheduler.waiting(&key).is_none());
            self.ask(scheduler, slot);
            assert!(self.answered.contains_key(&key), "the host that was kept is the answer");
        }
    }

    fn act(&mut self, scheduler: &Watched, event: Event) {
        match event {
            Event::Place(number, size) => self.ask(scheduler, wanted("one", 5, number, size)),
            Event::PlaceAll(commitment, sizes, all_or_nothing) => {
                let name = format!("c{commitment}");
                let created = i64::try_from(commitment).unwrap();
                let slots = sizes.iter().zip(0..).map(|(size, number)| wanted(&name, created, number, *size));
                let new =
                    |slot: &SlotRequest| !self.exists.contains_key(&slot.key) && !self.answered.contains_key(&slot.key);
                let slots: Vec<SlotRequest> = slots.filter(new).collect();
                let answer = now(scheduler.place_all(&request_of(slots.clone(), all_or_nothing))).unwrap();
                let Placement::Decided { hosts, shortage, .. } = answer else { unreachable!() };
                if all_or_nothing && shortage.is_some() {
                    return;
                }
                for (slot, host) in slots.into_iter().zip(hosts) {
                    self.asks.insert(slot.key.clone(), slot.clone());
                    self.answered.extend(host.map(|host| (slot.key.clone(), (slot, host))));
                }
            }
            Event::Apply(succeeds) => {
                let mut enqueued = Vec::new();
                let answered = std::mem::take(&mut self.answered);
                for (key, (slot, host)) in answered.iter().filter(|_| succeeds) {
                    enqueued.extend(scheduler.reservation_changed(key, Some(placed(slot, host.as_str()))));
                    self.exists.insert(key.clone(), slot.clone());
                }
                enqueued.extend(scheduler.applied(&answered.into_keys().collect::<Vec<_>>()));
                self.place_enqueued(scheduler, enqueued);
            }
            Event::Delete(number) => {
                let Some(key) = self.exists.keys().nth(usize::try_from(number).unwrap()).cloned() else { return };
                self.exists.remove(&key);
                let enqueued = scheduler.reservation_changed(&key, None);
                self.place_enqueued(scheduler, enqueued);
            }
            Event::Host(number, size) => {
                let name = format!("h{number}");
                // Hosts only grow here, so only the scheduler can cause over-booking.
                let free = scheduler.free_capacity(&name.as_str().into()).unwrap_or_default();
                let used = self.booked(&name);
                let enqueued = scheduler.host_changed(&name.as_str().into(), Some(host(&name, free.max(size) + used)));
                self.place_enqueued(scheduler, enqueued);
            }
        }
    }

    fn booked(&self, host: &str) -> Resources {
        let answered = self.answered.values().filter(|(_, on)| on.as_str() == host).map(|(slot, _)| slot.size);
        let fixed: Resources = answered.sum();
        fixed + gib(64, 64)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn each_choice_is_legal_and_the_best_and_a_refusal_means_that_none_was_eligible(
        hosts in any_hosts(),
        sizes in vec(any_size(), 1..12),
    ) {
        let scheduler = start(&hosts);
        for (size, number) in sizes.into_iter().zip(0..) {
            let slot = wanted("a", 1, number, size);
            let eligible = good(&scheduler, &hosts, &slot);
            let explanation = scheduler.explain(&Request::for_slot(&slot)).unwrap();
            let ranked = explanation.hosts.iter().filter(|host| matches!(host.outcome, Outcome::Ranked { .. }));
            let ranked: Vec<HostName> = ranked.map(|host| host.host.clone()).collect();
            match now(scheduler.place(&slot)).unwrap() {
                Placed::Host(host) => {
                    prop_assert!(eligible.contains(&host));
                    prop_assert_eq!(Some(&host), ranked.first(), "no better host existed");
                }
                Placed::Nowhere(shortage) => {
                    prop_assert!(eligible.is_empty());
                    let removed: usize = shortage.removed.iter().map(|(_, count)| count).sum();
                    prop_assert_eq!((shortage.hosts, removed), (hosts.len(), hosts.len()));
                }
                Placed::Unplanned => prop_assert!(false, "no commitment has to be planned"),
            }
            prop_assert_eq!(ranked.len(), eligible.len());
        }
    }

    #[test]
    fn nothing_is_ever_booked_twice(hosts in any_hosts(), events in vec(any_event(), 1..40)) {
        let mut world = World::default();
        let scheduler = start(&hosts);
        let over: Vec<bool> = hosts.iter().map(|host| host.unreserved().overbooked()).collect();
        for event in events {
            world.act(&scheduler, event);
            for (host, over) in hosts.iter().zip(&over) {
                let free = scheduler.free_capacity(&host.name).unwrap();
                prop_assert!(*over || Resources::ZERO.fits(free), "{} {free}", host.name);
            }
            prop_assert_eq!(scheduler.assumed(), world.answered.len(), "an entry per answer that is not applied");
            prop_assert_eq!(scheduler.drift(), Vec::<HostName>::new());
            for (slot, _) in scheduler.waiting_slots() {
                prop_assert!(good(&scheduler, &hosts_now(&scheduler, &hosts), &slot).is_empty(), "a host is feasible");
            }
        }
    }
}

/// The hosts with their current zone and conditions.
fn hosts_now(scheduler: &Watched, hosts: &[Host]) -> Vec<Host> {
    let request = Request { candidates: crate::Candidates::All, ..request(1, 1024, &[]) };
    let explanation = scheduler.explain(&Request { zone: "az".into(), ..request }).unwrap();
    let offered = explanation.hosts.iter().filter(|host| match host.outcome {
        Outcome::Removed(filter) => filter.short == "capacity",
        Outcome::Ranked { .. } => true,
    });
    let names: BTreeSet<&HostName> = offered.map(|host| &host.host).collect();
    let now = |host: &&Host| names.contains(&host.name);
    hosts.iter().filter(now).map(|known| host(known.name.as_str(), Resources::ZERO)).collect()
}
