//! Many concurrent writers on every ledger, with replicas where there are any: nothing is over-booked or lost,
//! generations only grow, and a client that got an answer sees its write through any replica.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_placement::ledger::{Ledger, RequestError};
use berth_placement_model::command::{ConsumerGuard, NewInventories, ReservedRule};
use berth_placement_model::refusal::Kind;
use berth_placement_model::{ClassName, Command, Key};

use crate::world::{World, capacity, claim, providers, soon};

const WRITERS: usize = 16;
const WRITES: usize = 40;
const PROVIDERS: [&str; 4] = ["p1", "p2", "p3", "p4"];

/// Every amount of every consumer, by provider and class.
async fn allocated(world: &World) -> BTreeMap<(Key, ClassName), u64> {
    let mut sums = BTreeMap::new();
    for name in PROVIDERS {
        let key = Key::new(name);
        let Some(at) = world.ledgers[0].consumers_at(&key, soon()).await.unwrap() else { continue };
        for (class, amount) in at.consumers.into_iter().flat_map(|consumer| consumer.amounts) {
            *sums.entry((key.clone(), class)).or_default() += amount;
        }
    }
    sums
}

async fn what_is_used_is_what_is_allocated(world: &World) {
    let sums = allocated(world).await;
    let model = world.model().await;
    for (uuid, provider) in providers(&model) {
        for (class, held) in &provider.inventories {
            let sum = sums.get(&(uuid.clone(), class.clone())).copied().unwrap_or(0);
            assert_eq!(held.used, sum, "{uuid} {class}");
            assert!(held.inventory.has_capacity(held.used, 0), "{uuid} {class} is over-booked");
        }
    }
}

/// One of many different writes, depending on writer and step.
fn step(writer: usize, at: usize) -> Command {
    let (one, other) = (PROVIDERS[(writer + at) % 4], PROVIDERS[(writer * 3 + at * 7 + 1) % 4]);
    let (own, shared) = (format!("own-{writer}"), format!("shared-{}", at % 3));
    let amount = 1 + (writer + at) as u64 % 3;
    let both = [(one, &[("VCPU", amount)][..]), (other, &[("VCPU", amount), ("DISK_GB", 1)][..])];
    let both = if one == other { &both[..1] } else { &both[..] };
    match at % 8 {
        0..=2 => Command::SetAllocations(claim(&own, both)),
        3 => Command::SetManyAllocations(vec![claim(&shared, both), claim(&own, &[])]),
        4 => Command::SetManyAllocations(vec![claim(&own, both), claim(&shared, &[(other, &[("DISK_GB", 2)])])]),
        5 => Command::DeleteAllocations { consumer: Key::new(&shared) },
        6 => Command::AddInventory {
            provider: Key::new(one),
            class: ClassName::new("CUSTOM_NOT_THERE"),
            inventory: capacity(1),
            reserved: ReservedRule::UpToTotal,
        },
        _ => Command::UpdateProvider {
            uuid: Key::new(one),
            name: format!("{one} of {writer} at {at}"),
            parent: berth_placement_model::command::Parent::Unchanged,
            reparents: true,
        },
    }
}

async fn nothing_is_over_booked_or_lost(world: World) {
    for name in PROVIDERS {
        world.provider(name, &[("VCPU", 20), ("DISK_GB", 30)]).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let watched = world.ledgers.iter().map(|ledger| tokio::spawn(generations_grow(ledger.clone(), stop.clone())));
    let watched: Vec<_> = watched.collect();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let ledger = world.ledgers[writer % world.ledgers.len()].clone();
        writers.push(tokio::spawn(async move {
            let mut done = 0;
            for at in 0..WRITES {
                match ledger.write(step(writer, at), soon()).await {
                    Ok(_) => done += 1,
                    Err(RequestError::Refused(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            done
        }));
    }
    let mut done = 0;
    for writer in writers {
        done += writer.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for watch in watched {
        assert!(watch.await.unwrap() > 0);
    }
    assert!(done > WRITERS * WRITES / 4, "only {done} writes were granted");
    what_is_used_is_what_is_allocated(&world).await;
}

/// Reads the model until it is stopped; returns the number of reads.
async fn generations_grow(ledger: Arc<dyn Ledger>, stop: Arc<AtomicBool>) -> usize {
    let mut last: BTreeMap<Key, i64> = BTreeMap::new();
    let mut reads = 0;
    while !stop.load(Ordering::Relaxed) {
        let model = ledger.model(soon()).await.unwrap();
        for provider in model.providers() {
            for (class, held) in provider.inventories() {
                assert!(held.inventory.has_capacity(held.used, 0), "{class} is over-booked");
            }
            let before = last.insert(provider.uuid().clone(), provider.generation());
            assert!(before.is_none_or(|before| before <= provider.generation()));
        }
        reads += 1;
        tokio::task::yield_now().await;
    }
    reads
}

async fn the_last_unit_is_given_to_one(world: World) {
    world.provider("p1", &[("VCPU", 5)]).await;
    let claims = (0..20).map(|number| {
        let ledger = world.ledgers[number % world.ledgers.len()].clone();
        tokio::spawn(async move {
            let one = claim(&format!("c-{number}"), &[("p1", &[("VCPU", 1)])]);
            ledger.write(Command::SetAllocations(one), soon()).await
        })
    });
    let mut done = 0;
    for one in claims.collect::<Vec<_>>() {
        match one.await.unwrap() {
            Ok(_) => done += 1,
            Err(RequestError::Refused(refusal)) => assert_eq!(refusal.kind, Kind::Conflict),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(done, 5);
    what_is_used_is_what_is_allocated(&world).await;
}

async fn one_of_two_creations_of_a_consumer_wins(world: World) {
    world.provider("p1", &[("VCPU", 50)]).await;
    for round in 0..10 {
        let race = (0..4).map(|number| {
            let ledger = world.ledgers[number % world.ledgers.len()].clone();
            let mut one = claim(&format!("c-{round}"), &[("p1", &[("VCPU", 1)])]);
            one.generation = ConsumerGuard::Expected(None);
            tokio::spawn(async move { ledger.write(Command::SetAllocations(one), soon()).await })
        });
        let mut done = 0;
        for one in race.collect::<Vec<_>>() {
            done += usize::from(one.await.unwrap().is_ok());
        }
        assert_eq!(done, 1);
    }
}

async fn own_writes_are_seen_through_every_replica(world: World) {
    world.provider("p1", &[("VCPU", 1000)]).await;
    let tasks = (0..8).map(|number| {
        let ledgers = world.ledgers.clone();
        tokio::spawn(async move {
            let (writes, reads) = (&ledgers[number % ledgers.len()], &ledgers[(number + 1) % ledgers.len()]);
            for amount in 1..15 {
                let one = claim(&format!("c-{number}"), &[("p1", &[("VCPU", amount)])]);
                writes.write(Command::SetAllocations(one), soon()).await.unwrap();
                let model = reads.model(soon()).await.unwrap();
                let used = model.provider(&Key::new("p1")).unwrap().inventory(&ClassName::new("VCPU")).unwrap().used;
                // The usage of the others only grows here.
                assert!(used >= amount);
                let consumer = reads.consumer(&Key::new(&format!("c-{number}")), soon()).await.unwrap().unwrap();
                assert_eq!(consumer.allocations[0].2[&ClassName::new("VCPU")], amount);
                let made = Key::new(&format!("made-{number}-{amount}"));
                let create = Command::CreateProvider { uuid: made.clone(), name: made.to_string(), parent: None };
                writes.write(create, soon()).await.unwrap();
                assert!(reads.model(soon()).await.unwrap().provider(&made).is_some());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

async fn trees_that_change_at_once_have_no_loop(world: World) {
    let names: Vec<_> = (0..6).map(|number| format!("t{number}")).collect();
    for name in &names {
        world.provider(name, &[]).await;
    }
    let tasks = (0..6).map(|writer| {
        let (names, ledger) = (names.clone(), world.ledgers[writer % world.ledgers.len()].clone());
        tokio::spawn(async move {
            for at in 0..20 {
                let (one, other) = (&names[(writer + at) % 6], &names[(writer * 5 + at * 3 + 1) % 6]);
                let parent = (at % 4 != 3).then(|| Key::new(other));
                let parent = berth_placement_model::command::Parent::Set(parent);
                let uuid = Key::new(one);
                let command = Command::UpdateProvider { uuid, name: one.clone(), parent, reparents: true };
                match ledger.write(command, soon()).await {
                    Ok(_) | Err(RequestError::Refused(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let model = world.model().await;
    for provider in model.providers() {
        let mut at = provider;
        let mut steps = 0;
        while let Some(parent) = at.parent() {
            at = parent;
            steps += 1;
            assert!(steps <= names.len(), "a loop");
        }
        assert_eq!(at.id(), model.provider(at.uuid()).unwrap().root().id());
    }
}

async fn a_reshape_and_claims_meet_without_a_deadlock(world: World) {
    for name in PROVIDERS {
        world.provider(name, &[("VCPU", 40)]).await;
    }
    let tasks = (0..6).map(|writer: usize| {
        let ledger = world.ledgers[writer % world.ledgers.len()].clone();
        tokio::spawn(async move {
            for at in 0..15_usize {
                let (one, other) = (PROVIDERS[(writer + at) % 4], PROVIDERS[(writer + at + 1) % 4]);
                let moved = claim(&format!("m-{}", writer % 2), &[(other, &[("VCPU", 1)])]);
                let command = if at % 3 == 0 {
                    let model = ledger.model(soon()).await.unwrap();
                    let generation = model.provider(&Key::new(one)).unwrap().generation();
                    let inventories = vec![(ClassName::new("VCPU"), capacity(40 + at as u64))];
                    let new = NewInventories { provider: Key::new(one), generation, inventories };
                    Command::Reshape { inventories: vec![new], allocations: vec![moved] }
                } else {
                    Command::SetManyAllocations(vec![moved, claim(&format!("n-{writer}"), &[(one, &[("VCPU", 2)])])])
                };
                match ledger.write(command, soon()).await {
                    Ok(_) | Err(RequestError::Refused(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    what_is_used_is_what_is_allocated(&world).await;
}

crate::on_every_ledger!(
    nothing_is_over_booked_or_lost,
    the_last_unit_is_given_to_one,
    one_of_two_creations_of_a_consumer_wins,
    own_writes_are_seen_through_every_replica,
    trees_that_change_at_once_have_no_loop,
    a_reshape_and_claims_meet_without_a_deadlock,
);
