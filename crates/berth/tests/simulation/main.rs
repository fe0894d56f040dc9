//! Whole operators against doubles of API servers, on paused time: a seed decides what happens, every kind of fault
//! occurs, and all invariants hold in the end. The same seed gives the same calls, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod churn;
#[path = "../support/controllers.rs"]
mod controllers;
mod crash_witness;
mod disruption_limit;
mod endpoint;
mod faults;
mod leader_invariant;
mod life;
mod nova;
mod overbooked;
mod pause;
mod process;
mod promises;
#[allow(dead_code, reason = "the story of the real server uses more of it")]
#[path = "../support/recorded.rs"]
mod recorded;
mod same_calls;
mod scenarios;
mod taking_over;
mod violations;
mod world;

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Write as _;
use std::time::Duration;

use berth_crds::{CommittedResource, Reservation, conditions, names, testing};
use berth_testkit::{Fault, Rule, Server, Verb, seeds};
use tokio::time::sleep;

use world::{World, ZONES};

/// The number of seeds of each kind; the variables SEEDS and FROM override the number and the first seed.
const SEEDS: u64 = 40;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

fn seeds() -> std::ops::Range<u64> {
    let first: u64 = number("FROM").unwrap_or(0);
    first..first + number("SEEDS").unwrap_or(SEEDS)
}

/// Runs on its own runtime, so that nothing is left over from another run.
fn alone<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(work)
}

/// Prints past the capture of the test harness, so that totals show in every run.
fn reported(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn reason(server: &Server, uuid: &str) -> String {
    let object: CommittedResource = server.get(&names::commitment(uuid)).unwrap();
    let status = object.status.unwrap_or_default();
    conditions::ready(&status.conditions).map(|ready| ready.reason.clone()).unwrap_or_default()
}

/// The target hosts of the slots of a commitment.
fn hosts_of(world: &World, uuid: &str) -> Vec<Option<String>> {
    let slots = world.home.all::<Reservation>().unwrap();
    let mine = slots.iter().filter(|slot| slot.metadata.name.as_deref().is_some_and(|name| name.contains(uuid)));
    mine.map(|slot| slot.spec.target_host.clone()).collect()
}

#[test]
fn a_commitment_becomes_slots_in_force() {
    alone(async {
        let mut world = World::one_cluster(1);
        world.hosts(testing::ZONE, &[("h1", 2), ("h2", 2)]);
        let process = world.start("one");
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-1", 3)).unwrap());
        world.rests().await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        world.holds_invariants(process).await;
        assert_eq!(world.home.no_op_writes(), 0, "no write without a difference");
    });
}

/// Two hosts in each zone, and servers with every kind of fault.
fn plagued(world: World, seed: u64) -> World {
    for zone in ZONES {
        world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 3)]);
    }
    let mut random = berth_testkit::Random::new(seed);
    world.servers().into_iter().for_each(|(_, server)| faults::plague(server, &mut random));
    world
}

/// The life of a seed, and its calls.
fn lived(seed: u64, two: bool, hit: &mut BTreeMap<&'static str, u64>) -> Vec<String> {
    alone(async {
        let mut world = plagued(if two { World::two_clusters(seed) } else { World::one_cluster(seed) }, seed);
        let process = world.start("one");
        let process = life::life(&mut world, process, 40, Duration::from_secs(20)).await;
        world.servers().into_iter().for_each(|(_, server)| faults::add(hit, server));
        world.holds_invariants(process).await;
        world.nova.add(hit);
        world.checker.add(hit);
        let calls = world.calls();
        verified(&calls, hit);
        calls
    })
}

/// Counts what was written about the VMs of slots.
fn verified(calls: &[String], hit: &mut BTreeMap<&'static str, u64>) {
    for call in calls.iter().filter(|call| call.contains(" status ") && call.contains("/reservations/")) {
        let confirms = call.contains(r#""allocations":{"#);
        let kind = match call.contains(r#""host":"h"#) {
            true if confirms => "VM followed",
            false if confirms => "VM confirmed",
            _ => continue,
        };
        *hit.entry(kind).or_default() += 1;
    }
}

#[test]
fn seeds_live_through_every_fault() {
    let (mut hit, mut calls) = (BTreeMap::new(), 0);
    for seed in seeds() {
        for two in [false, true] {
            eprintln!("seed {seed}, two clusters: {two}");
            calls += lived(seed, two, &mut hit).len();
        }
    }
    reported(&format!("simulation: {calls} calls; what hit: {hit:?}"));
    assert!(seeds().count() < 40 || hit.contains_key("VM followed"), "no slot has followed its VM: {hit:?}");
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

/// Two replicas run, and only the leader writes.
fn two_lived(seed: u64, hit: &mut BTreeMap<&'static str, u64>) -> Vec<String> {
    alone(async {
        let mut world = plagued(World::one_cluster(seed), seed);
        let replicas = life::life_of_two(&mut world, 30, Duration::from_secs(20)).await;
        faults::add(hit, &world.home);
        assert_eq!(leader_invariant::violations(&world.home.calls()), [""; 0]);
        let [first, second] = replicas;
        second.crash();
        first.crash();
        let one = world.start("one");
        world.holds_invariants(one).await;
        world.nova.add(hit);
        world.checker.add(hit);
        *hit.entry("VM forwarded").or_default() += world.network.forwarded();
        world.calls()
    })
}

#[test]
fn of_two_replicas_only_the_leader_writes_whatever_happens() {
    let (mut hit, mut calls) = (BTreeMap::new(), 0);
    for seed in seeds() {
        eprintln!("seed {seed}");
        calls += two_lived(seed, &mut hit).len();
    }
    reported(&format!("simulation of two replicas: {calls} calls; what hit: {hit:?}"));
    assert!(hit["VM forwarded"] > 0, "no follower has forwarded a request to the leader: {hit:?}");
    let (first, second) = (two_lived(1, &mut hit), two_lived(1, &mut hit));
    assert!(first == second, "the same seed gives the same calls");
}

#[test]
fn a_write_beside_the_lease_is_noticed() {
    let renewed = r#"1 10.0 a update /x/leases/berth 200 changed {"spec":{"holderIdentity":"a"}}"#.to_owned();
    let write = |at: &str, who: &str| format!("2 {at} {who} patch /x/reservations/r 200 changed {{}}");
    let violations = |calls: &[String]| leader_invariant::violations(calls).len();
    assert_eq!(violations(&[renewed.clone(), write("19.9", "a")]), 0);
    assert_eq!(violations(&[renewed.clone(), write("20.1", "a")]), 1, "the fence closes 5 s before the lease expires");
    assert_eq!(violations(&[renewed, write("11.0", "b")]), 1, "another replica leads");
}

/// With kube-runtime's `Controller`, whose order a seed does not decide: the invariants hold, and calls may differ.
#[test]
fn with_the_queue_of_production_it_lives_as_well() {
    let mut hit = BTreeMap::new();
    for seed in 0..20 {
        alone(async {
            let mut world = plagued(World::two_clusters(seed), seed);
            let process = world.start_as_shipped("one");
            let process = life::life(&mut world, process, 30, Duration::from_secs(20)).await;
            world.servers().into_iter().for_each(|(_, server)| faults::add(&mut hit, server));
            world.holds_invariants(process).await;
        });
    }
}

#[test]
fn a_list_of_an_older_state_is_made_good_by_the_watch_that_follows() {
    alone(async {
        let mut world = World::one_cluster(1);
        world.hosts(testing::ZONE, &[("h1", 4), ("h2", 4)]);
        let process = world.start("one");
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-1", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        let stale = Rule::new(Fault::Stale { versions: 3 }).verb(Verb::List).per_mille(500);
        world.home.rule(stale);
        for amount in [2, 4, 1] {
            world.people(|world| {
                let patch = serde_json::json!({ "spec": { "amount": seeds::slots(amount) } });
                world.home.edit::<CommittedResource>(&names::commitment("uuid-1"), &patch).unwrap();
            });
            world.home.compact();
            world.home.break_watches("");
            sleep(Duration::from_secs(100)).await;
        }
        world.heal();
        world.rests().await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        assert_eq!(world.checker.violations_at_rest(), [""; 0]);
        process.crash();
    });
}

#[test]
fn every_kind_of_fault_hits() {
    let mut hit = BTreeMap::new();
    (0..10).for_each(|seed| [false, true].into_iter().for_each(|two| drop(lived(seed, two, &mut hit))));
    let wanted = [
        "409",
        "429",
        "500",
        "503",
        "504 afterwards",
        "answer lost",
        "hang",
        "watch broken",
        "watch late",
        "latency",
        "VM started",
        "VM booked",
        "VM moved",
        "VM unanswered",
        "VM confirmed",
        "VM forced",
        "answer checked",
    ];
    let missing: Vec<_> = wanted.into_iter().filter(|name| !hit.contains_key(name)).collect();
    assert_eq!(missing, [""; 0], "{hit:?}");
}

#[test]
fn a_paused_leader_writes_nothing_when_it_goes_on() {
    alone(async {
        let mut world = World::one_cluster(1);
        world.hosts(testing::ZONE, &[("h1", 4), ("h2", 4)]);
        let (first, second) = (world.start_replica("first"), world.start_replica("second"));
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-1", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        let leads = |world: &World| world.calls().iter().rev().find(|call| call.contains(" update ")).cloned().unwrap();
        let (leader, other) = if leads(&world).contains(" first ") { (first, second) } else { (second, first) };
        leader.pause();
        sleep(Duration::from_secs(40)).await;
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-2", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(reason(&world.home, "uuid-2"), "Accepted", "the other replica has taken over");
        leader.resume();
        sleep(Duration::from_secs(60)).await;
        leader.crash();
        world.holds_invariants(other).await;
    });
}
