//! The disruption limit with a `disruptionLimit.slots` so small that it is always reached: whatever users and hosts do,
//! no more slots of a zone are disturbed within ten minutes than it allows, and the remaining work continues when a
//! user confirms.

use std::time::Duration;

use berth_crds::conditions::safety::{DISRUPTION_LIMITED, holds};
use berth_crds::{Hypervisor, Knowledge, Reservation, labels, names, testing};
use berth_telemetry::clock::Clock as _;
use berth_testkit::{Random, seeds};
use jiff::SignedDuration;
use serde_json::json;
use tokio::time::sleep;

use crate::life::{self, Act};
use crate::process::Process;
use crate::world::{Keys, World, ZONES};
use crate::{alone, faults, hosts_of, reason, reported};

pub const MINUTE: Duration = Duration::from_secs(60);

const LIMIT: usize = 2;

const ACTS: [Act; 10] = [
    Act::Commit,
    Act::Commit,
    Act::Resize,
    Act::Move,
    Act::Delete,
    Act::HostComes,
    Act::HostComes,
    Act::HostGoes,
    Act::HostShrinks,
    Act::Vm,
];

/// The configuration of operators with this disruption limit.
pub fn disruption_limit(limit: usize) -> Keys {
    Keys { disruption_limit: Some(limit), ..Keys::default() }
}

/// Three slots on one host, and another host with free capacity for them.
pub async fn three_slots(world: &mut World) -> Process {
    world.hosts(testing::ZONE, &[("h1", 3)]);
    let process = world.start("one");
    world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-1", 3)).unwrap());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
    world.hosts(testing::ZONE, &[("h2", 3)]);
    process
}

/// The host of the slots is deleted, and this many minutes pass.
pub async fn without_their_host(world: &World, minutes: u32) {
    world.people(|world| world.home.delete::<Hypervisor>("h1").unwrap());
    sleep(minutes * MINUTE).await;
}

fn confirm(world: &World, time: SignedDuration) {
    let until = (world.clock.now() + time).to_string();
    let patch = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: until } } });
    world.people(|world| world.home.edit::<Knowledge>(names::FLAVOR_GROUPS, &patch).unwrap());
}

/// The number of slots with the condition `DisruptionLimited`.
fn held_back(world: &World) -> u64 {
    let all = world.servers().into_iter().flat_map(|(_, server)| server.all::<Reservation>().unwrap());
    let reported =
        |slot: &Reservation| slot.status.as_ref().is_some_and(|status| holds(&status.conditions, DISRUPTION_LIMITED));
    u64::try_from(all.filter(reported).count()).unwrap()
}

fn all_on(world: &World, host: &str) -> bool {
    hosts_of(world, "uuid-1") == vec![Some(host.to_owned()); 3]
}

#[test]
fn as_many_slots_as_the_disruption_limit_allows_leave_a_host_that_has_gone() {
    alone(async {
        let mut world = World::with_keys(1, disruption_limit(3));
        let process = three_slots(&mut world).await;
        without_their_host(&world, 10).await;
        assert!(all_on(&world, "h2"));
        assert_eq!(held_back(&world), 0);
        world.holds_invariants(process).await;
    });
}

#[test]
fn one_more_and_none_of_them_leaves_until_a_user_confirms() {
    alone(async {
        let mut world = World::with_keys(1, disruption_limit(LIMIT));
        let process = three_slots(&mut world).await;
        without_their_host(&world, 120).await;
        assert!(all_on(&world, "h1"));
        assert_eq!(held_back(&world), 3);
        world.hosts(testing::ZONE, &[("h1", 3)]);
        sleep(5 * MINUTE).await;
        assert_eq!(held_back(&world), 0, "the host returned in time");
        without_their_host(&world, 20).await;
        assert!(all_on(&world, "h1"));
        assert_eq!(held_back(&world), 3);
        confirm(&world, SignedDuration::from_mins(30));
        sleep(5 * MINUTE).await;
        assert!(all_on(&world, "h2"));
        assert_eq!(held_back(&world), 0);
        world.holds_invariants(process).await;
    });
}

/// The number of slots that the disruption limit held back in the life of this seed.
fn disruption_limited_life(seed: u64) -> u64 {
    alone(async {
        let mut world = World::with_keys(seed, disruption_limit(LIMIT));
        for zone in ZONES {
            world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 4)]);
        }
        let mut random = Random::new(seed);
        world.servers().into_iter().for_each(|(_, server)| faults::disturbance(server, &mut random));
        let process = world.start("one");
        let mut held = 0;
        for _ in 0..40 {
            sleep(random.duration(&(Duration::ZERO..=3 * MINUTE))).await;
            held += held_back(&world);
            if random.chance(30) {
                confirm(&world, SignedDuration::from_mins(10));
            } else {
                life::act(&mut world, &ACTS);
            }
        }
        // Everything that is left to do is allowed now.
        confirm(&world, SignedDuration::from_hours(24));
        world.holds_invariants(process).await;
        assert_eq!(held_back(&world), 0, "{}", world.last_writes(40));
        held
    })
}

#[test]
fn seeds_disturb_no_more_than_a_small_disruption_limit_allows() {
    let (mut held, mut lives) = (0, 0);
    for seed in crate::seeds() {
        eprintln!("seed {seed}");
        let here = disruption_limited_life(seed);
        held += here;
        lives += u64::from(here > 0);
    }
    reported(&format!("simulation of the disruption limit: {held} slots held back in {lives} lives"));
    assert!(held > 0);
}
