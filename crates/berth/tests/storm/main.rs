//! Real processes under faults: operator, API server and etcd are killed and paused while commitments and hosts come
//! and go. No host stays over-booked for longer than a reconciliation takes, in the end every commitment has exactly
//! its slots, and an operator that starts then writes nothing (docs/testing.md, "The storm").
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod blows;
mod checker;
mod commits;
mod hands;
mod histories;
mod load;
#[path = "../support/mod.rs"]
mod support;

use std::env;
use std::io::Write as _;
use std::ops::Range;
use std::time::Duration;

use berth_control_plane::Part;
use berth_crds::testing;
use berth_testkit::Random;
use futures::future::{join, join_all};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use blows::{Blow, Tally, VICTIMS};
use checker::{Checker, ONE_RECONCILIATION, Record};
use commits::follow_commits;
use hands::Hands;
use load::{DISTRICTS, DesiredSlots, Load};
use support::chronicle::Chronicle;
use support::objects::{SLOT_GIB, host, non_rejectable, rejectable, slot_name};
use support::replicas::{Replicas, TWO};
use support::seen::{Seen, in_force_on, ready};
use support::waiting::{WITHIN, none, so};
use support::world::World;

/// Rounds of kills and pauses; the variables ROUNDS and SEED override the number and the first seed.
const ROUNDS: u64 = 3;

/// A leader is suspended once for this many rounds.
const ROUNDS_PER_STANDSTILL: u64 = 5;

/// How long it is suspended, while commitments are placed.
const STANDSTILL: Duration = Duration::from_secs(20);
const PLACEMENTS: u64 = 200;

/// How long before the leader resumes the second half of the commitments is created.
const JUST_BEFORE: Duration = Duration::from_millis(100);

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|number| number.parse().ok())
}

fn rounds() -> u64 {
    number("ROUNDS").unwrap_or(ROUNDS)
}

/// Prints past the capture of the test harness, so that totals show in every run.
fn reported(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The results of the rounds.
#[derive(Default)]
struct Totals {
    blows: Tally,
    seen: Record,
    changes: u64,
}

impl Totals {
    fn add(&mut self, seen: &Record, changes: u64) {
        self.changes += changes;
        self.seen.commits += seen.commits;
        self.seen.placements += seen.placements;
        self.seen.over_booked += seen.over_booked;
        self.seen.longest = self.seen.longest.max(seen.longest);
        self.seen.longest_anyway = self.seen.longest_anyway.max(seen.longest_anyway);
    }
}

fn summary(seen: &Record) -> String {
    format!(
        "{} placements in {} commits, {} times a host was over-booked, for at most {:.2} s, {:.2} s while all processes ran",
        seen.placements,
        seen.commits,
        seen.over_booked,
        seen.longest_anyway.as_secs_f64(),
        seen.longest.as_secs_f64(),
    )
}

#[tokio::test]
async fn whatever_is_killed_or_paused_no_host_stays_over_booked_and_all_slots_are_there_in_the_end() {
    let (first, rounds) = (number("SEED").unwrap_or(1), rounds());
    let mut totals = Totals::default();
    for number in 0..rounds {
        let seed = first + number;
        reported(&format!("storm: round {} of {rounds}, SEED={seed}", number + 1));
        round(seed, &mut totals).await;
    }
    reported(&format!("storm: {rounds} rounds; {}; {} changes by people and hosts", totals.blows, totals.changes));
    reported(&format!("storm: {}", summary(&totals.seen)));
    assert!(totals.blows.has_everything(rounds), "{}", totals.blows);
    assert!(totals.seen.placements >= 20 * rounds, "{}", summary(&totals.seen));
}

async fn round(seed: u64, totals: &mut Totals) {
    let mut random = Random::new(seed);
    let longest = VICTIMS[usize::try_from(seed).unwrap() % VICTIMS.len()];
    let blows = blows::of_round(&mut random, longest);
    let mut world = stage().await;
    let (checker, _chronicle) = watched(&mut world).await;
    let hands = Hands::of(world.control_plane()).await;
    join_all(DISTRICTS.iter().flat_map(|district| district.hosts()).map(async |host| hands.sets_up(&host).await)).await;
    world.start().await;
    let load = Load::begin(&hands, random.draw());
    for blow in blows {
        sleep(blows::pause(&mut random)).await;
        strike(blow, &mut world, &checker, &mut totals.blows).await;
        if random.chance(700) {
            everybody_is_there(&world, &checker).await;
        }
    }
    everybody_is_there(&world, &checker).await;
    let desired_objects = timeout(2 * WITHIN, load.end()).await.expect("the desired state is known");
    fulfilled(&world, &desired_objects).await;
    world.rest().await;
    let record = checked(&world, &checker).await;
    world.end().await;
    reported(&format!("storm: {}", summary(&record)));
    totals.add(&record, hands.done());
}

#[tokio::test]
async fn a_leader_that_stands_still_for_20_s_in_the_middle_of_200_placements_over_books_nothing() {
    for _ in 0..rounds().div_ceil(ROUNDS_PER_STANDSTILL) {
        standstill().await;
    }
}

/// The first half of the placements is under way when the leader is suspended, the second half when it resumes.
async fn standstill() {
    let [old, new] = TWO;
    let mut world = stage().await;
    let (checker, _chronicle) = watched(&mut world).await;
    let hands = Hands::of(world.control_plane()).await;
    let hosts: Vec<_> = (0..PLACEMENTS / 4).map(|number| host(&format!("node{number:02}"), 4)).collect();
    join_all(hosts.iter().map(|host| hands.sets_up(host))).await;
    let mut replicas = Replicas::two(world).await;
    checker.calm();

    let half = PLACEMENTS / 2;
    join(arrive(&hands, 0..half), placed(&checker, half / 4)).await;
    checker.disturbed();
    replicas.pause(old);
    let stopped = Instant::now();
    let done = checker.record().placements;
    assert!(done < half, "{done} of {half} placements were done before the leader stopped");
    replicas.leader_is(new).await;
    checker.calm();
    sleep_until(stopped + STANDSTILL - JUST_BEFORE).await;
    let goes_on = async {
        sleep_until(stopped + STANDSTILL).await;
        let done = checker.record().placements;
        replicas.resume(old);
        done
    };
    let ((), done) = join(arrive(&hands, half..PLACEMENTS), goes_on).await;
    assert!(done < PLACEMENTS, "{done} placements were done before the leader resumed");
    replicas.loses(old, "the lease could not be renewed for 10 s").await;

    let desired_objects = (0..PLACEMENTS).map(|number| (uuid(number), 1)).collect();
    fulfilled(&replicas.world, &desired_objects).await;
    assert_eq!(replicas.writers(), [old, new]);
    let seen = checked(&replicas.world, &checker).await;
    reported(&format!("standstill: it went on at {done} of {PLACEMENTS} placements; {}", summary(&seen)));
    replicas.end(new).await;
}

fn uuid(number: u64) -> String {
    format!("placed-{number:03}")
}

/// Commitments of one slot each; every second one allows rejection, although there is free capacity for exactly all of
/// them.
async fn arrive(hands: &Hands, numbers: Range<u64>) {
    let desired =
        |number| if number % 2 == 0 { non_rejectable(&uuid(number), 1) } else { rejectable(&uuid(number), 1) };
    join_all(numbers.map(async |number| hands.commits(&desired(number)).await)).await;
}

async fn placed(checker: &Checker, count: u64) {
    while checker.record().placements < count {
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn the_checker_finds_what_is_not_repaired_also_after_an_outage_of_etcd() {
    let mut world = World::without_operator().await;
    let checker = Checker::new(Duration::from_millis(100));
    let _chronicle = reported_to(&checker, &mut world).await;
    let on_one_host = |number| {
        let mut slot = testing::slot("nobody-1", number);
        slot.spec.target_host = Some("node1".to_owned());
        slot
    };
    world.create(&host("node1", 1)).await;
    world.create(&non_rejectable("nobody-1", 2)).await;
    world.create(&on_one_host(0)).await;
    world.control_plane().kill(Part::Etcd).await.unwrap();
    world.control_plane().restart(Part::Etcd).await.unwrap();
    world.create(&on_one_host(1)).await;
    let over_booked = |all: Vec<String>| all.iter().any(|text| text.contains("host_overbooked"));
    let is_open = || so(over_booked(checker.open()), || format!("{:#?}", checker.open()));
    world.until("the checker sees two slots on a host for one", |_| is_open()).await;
    let wrong = || checker.record().wrong.into_iter().collect();
    assert!(!over_booked(wrong()), "a process that would repair it may be missing");
    checker.calm();
    world.until("it lasts too long", |_| so(over_booked(wrong()), || "nothing is wrong".to_owned())).await;
    world.edit_slot(&slot_name("nobody-1", 1), json!({ "targetHost": null })).await;
    world.until("it is over", |_| so(is_open().is_err(), || "it is not".to_owned())).await;
    assert_eq!(checker.record().placements, 2);
}

/// Starts without an operator. Its requeue intervals are short, so that a round is short, and the disruption limit is
/// never reached.
async fn stage() -> World {
    let mut world = World::without_operator().await;
    let retry = json!({ "requeueIntervalRetry": "1s", "maxRequeueInterval": "2s" });
    world.use_keys(&json!({
        "disruptionLimit": { "slots": 1_000_000 },
        "committedResourceController": retry,
        "committedResourceReservationController": { "requeueIntervalRetry": "1s" },
    }));
    let reason =
        "writes of killed processes take effect late, and hosts shrink; the checker of the storm limits the time";
    world.host_checker().allow_repair(Duration::MAX, reason);
    world
}

async fn watched(world: &mut World) -> (Checker, Chronicle) {
    let checker = Checker::new(ONE_RECONCILIATION);
    let chronicle = reported_to(&checker, world).await;
    (checker, chronicle)
}

async fn reported_to(checker: &Checker, world: &mut World) -> Chronicle {
    let checker = checker.clone();
    let etcd = world.control_plane().etcd_url();
    follow_commits(&etcd, move |entry| checker.committed(entry)).await
}

async fn strike(blow: Blow, world: &mut World, checker: &Checker, tally: &mut Tally) {
    checker.disturbed();
    blow.strikes(world, tally).await;
}

/// Waits until the operator watches everything. From then on violations must be repaired.
async fn everybody_is_there(world: &World, checker: &Checker) {
    world
        .until_reported("the operator follows everything", async |world, _| {
            let metrics = world.operator().metrics().await;
            let lines: Vec<_> = metrics.lines().filter(|line| line.starts_with("berth_store_complete{")).collect();
            let missing = lines.iter().find(|line| !line.ends_with(" 1"));
            so(!lines.is_empty() && missing.is_none(), || format!("{missing:?} of {} stores", lines.len()))
        })
        .await;
    checker.calm();
}

/// Every commitment has exactly its desired slots, ready, and there are no other slots.
async fn fulfilled(world: &World, desired_objects: &DesiredSlots) {
    world.until("every commitment has its slots", |seen| has_everything(seen, desired_objects)).await;
}

fn has_everything(seen: &Seen, desired_objects: &DesiredSlots) -> Result<(), String> {
    for (uuid, count) in desired_objects {
        let commitment = seen.commitment(uuid);
        let Some(commitment) = commitment.filter(|_| *count > 0) else {
            so(commitment.is_none() && *count == 0, || format!("{uuid} is to have {count} slots: {commitment:?}"))?;
            continue;
        };
        let reported = ready(commitment);
        so(reported.is_some_and(|reported| reported.reason == "Accepted"), || format!("{uuid} has {reported:?}"))?;
        let slots = seen.slots_of(uuid);
        let good = slots.iter().filter(|slot| in_force_on(slot).is_some() && slot.spec.target_host.is_some());
        so(good.count() == slots.len(), || format!("not all slots of {uuid} are in force"))?;
        let (sizes, slot) = (seen.sizes_of(uuid), i64::try_from(SLOT_GIB * 1024).unwrap());
        let whole = u64::try_from(sizes.len()) == Ok(*count) && sizes.iter().all(|size| *size == slot);
        so(whole, || format!("{uuid} is to have {count} slots of {slot} MiB and has {sizes:?}"))?;
    }
    let (all, wanted) = (seen.slots().count(), desired_objects.values().sum::<u64>());
    so(u64::try_from(all) == Ok(wanted), || format!("{all} slots instead of {wanted}"))
}

/// What the checker has recorded. It must have seen every commit: its state equals that of the API server.
async fn checked(world: &World, checker: &Checker) -> Record {
    world
        .until("the checker has seen everything, and nothing is broken", |seen| {
            so(seen.versions() == checker.versions(), || "the checker knows another world".to_owned())?;
            none(&checker.open())
        })
        .await;
    let record = checker.record();
    assert!(record.wrong.is_empty(), "{:#?}\n{}", record.wrong, world.report().await);
    record
}
