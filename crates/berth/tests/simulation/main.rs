//! Whole operators against doubles of API servers, on paused time: what a seed decides happens, everything goes wrong, and
//! in the end all laws hold. The same seed gives the same calls, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod faults;
mod life;
mod process;
mod world;

use std::{collections::BTreeMap, future::Future, time::Duration};

use berth_crds::{CommittedResource, conditions, names, testing};
use berth_testkit::{Server, seeds};
use tokio::time::sleep;
use world::{World, ZONES};

/// Lives of each kind; the variable SEEDS says otherwise.
const SEEDS: u64 = 40;

/// On a runtime of its own, so that nothing is left over from another run.
fn alone<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(work)
}

fn reason(server: &Server, uuid: &str) -> String {
    let object: CommittedResource = server.get(&names::commitment(uuid)).unwrap();
    let status = object.status.unwrap_or_default();
    conditions::ready(&status.conditions).map(|ready| ready.reason.clone()).unwrap_or_default()
}

#[test]
fn a_commitment_becomes_slots_in_force() {
    alone(async {
        let mut world = World::one_cluster(1);
        world.hosts(testing::ZONE, &[("h1", 2), ("h2", 2)]);
        let process = world.start("one");
        world.people(|world| world.home.create(&seeds::patient("uuid-1", 3)).unwrap());
        world.rests().await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        world.is_lawful(process).await;
        assert_eq!(world.home.no_op_writes(), 0, "no write without a difference");
    });
}

/// A life of a seed, and the calls that it led to.
fn lived(seed: u64, two: bool, hit: &mut BTreeMap<&'static str, u64>) -> Vec<String> {
    alone(async {
        let mut world = if two { World::two_clusters(seed) } else { World::one_cluster(seed) };
        for zone in ZONES {
            world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 3)]);
        }
        let mut random = berth_testkit::Random::new(seed);
        world.servers().into_iter().for_each(|(_, server)| faults::plague(server, &mut random));
        let process = world.start("one");
        let process = life::life(&mut world, process, 40, Duration::from_secs(20)).await;
        world.servers().into_iter().for_each(|(_, server)| faults::add(hit, server));
        world.is_lawful(process).await;
        world.calls()
    })
}

#[test]
fn seeds_live_through_every_fault() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    let (mut hit, mut calls) = (BTreeMap::new(), 0);
    let first = std::env::var("FROM").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    for seed in first..first + seeds {
        for two in [false, true] {
            eprintln!("seed {seed}, two clusters: {two}");
            calls += lived(seed, two, &mut hit).len();
        }
    }
    eprintln!("{seeds} seeds twice, {calls} calls; faults that hit: {hit:?}");
}

#[test]
fn the_same_seed_gives_the_same_calls_byte_for_byte() {
    for seed in [3, 4] {
        let mut hit = BTreeMap::new();
        let (first, second) = (lived(seed, true, &mut hit), lived(seed, true, &mut hit));
        let differs = first.iter().zip(&second).position(|(a, b)| a != b);
        assert_eq!(differs.map(|at| (&first[at], &second[at])), None);
        assert_eq!(first.len(), second.len());
        assert!(first.len() > 500, "{} calls", first.len());
    }
    let mut hit = BTreeMap::new();
    assert_ne!(lived(3, false, &mut hit), lived(4, false, &mut hit));
}

#[test]
fn d10_a_paused_leader_writes_nothing_when_it_goes_on() {
    alone(async {
        let mut world = World::one_cluster(1);
        world.hosts(testing::ZONE, &[("h1", 4), ("h2", 4)]);
        let (first, second) = (world.start_replica("first"), world.start_replica("second"));
        world.people(|world| world.home.create(&seeds::patient("uuid-1", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        let leads = |world: &World| world.calls().iter().rev().find(|call| call.contains(" update ")).cloned().unwrap();
        let (leader, other) = if leads(&world).contains(" first ") { (first, second) } else { (second, first) };
        leader.pause();
        sleep(Duration::from_secs(40)).await;
        world.people(|world| world.home.create(&seeds::patient("uuid-2", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(reason(&world.home, "uuid-2"), "Accepted", "the other one has taken over");
        leader.resume();
        sleep(Duration::from_secs(60)).await;
        leader.crash();
        world.is_lawful(other).await;
    });
}
