//! Decisions in one process on one core: slots that are placed and released, whole commitments, VMs, changes of single
//! objects, and the algorithm of the reference for comparison.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use berth_core::SlotKey;
use berth_core::host::Host;
use berth_core::reservation::Reservation;
use berth_scheduler::{BuiltIn, CommitmentRequest, Placed, Scheduler};
use fastrand::Rng;

use super::cloud::{self, HOSTS, PER_HOST};
use super::reference::Cache;
use crate::error::Error;
use crate::proc;
use crate::table::{Goal, Row};
use crate::times::Times;

const WARM_UP: u64 = 2_000;
const WHOLE: u64 = 10;
const REFERENCE_RUNS: u64 = 20;

/// The limit of a decision and of the update after a change, at p99 and in microseconds.
const DECISION: f64 = 200.0;
const UPDATE: f64 = 50.0;

/// Prints the figures of this many decisions in a cloud of the usual size.
pub async fn measure(runs: u64) -> Result<Row, Error> {
    let mut chance = Rng::with_seed(1);
    let (hosts, slots) = cloud::objects(HOSTS, &mut chance);
    println!("{HOSTS} hosts, {} reservations, 3 zones, 50 flavors, 200 projects, one core", slots.len());
    let scheduler = cloud::scheduler(&hosts, &slots);
    let mut story = Story::new(&slots, chance);
    story.run(&scheduler, WARM_UP).await?;
    place(&scheduler, &mut story, runs).await?;
    whole(&scheduler, &mut story.chance, runs / 20).await?;
    vms(&scheduler, &mut story.chance, runs / 4)?;
    let updated = changes(&scheduler, &hosts, &slots, &mut story.chance, runs / 4);
    compare(hosts, slots, story.decisions.median());
    let what = format!("scheduler: {HOSTS} hosts, {} reservations", HOSTS * PER_HOST);
    let goals =
        vec![goal("a slot is placed", DECISION, &story.decisions), goal("a Reservation changes", UPDATE, &updated)];
    Ok(Row { letter: 's', what, goals })
}

fn goal(what: &str, most: f64, times: &Times) -> Goal {
    let micros = |percent| times.percentile(percent).as_secs_f64() * 1e6;
    let (half, most_of_all) = (micros(50), micros(99));
    let found = format!("p99 {most_of_all:.0} us, p50 {half:.0} us");
    Goal::wanted(format!("{what}: p99 below {most:.0} us"), found, most_of_all < most)
}

/// Slots that are placed and released.
pub struct Story {
    pub chance: Rng,
    next: u64,
    standing: VecDeque<SlotKey>,
    pub decisions: Times,
    with_events: Times,
    nowhere: u64,
}

impl Story {
    pub fn new(slots: &[Reservation], chance: Rng) -> Self {
        Self {
            chance,
            next: slots.len() as u64,
            standing: slots.iter().map(|slot| slot.key.clone()).collect(),
            decisions: Times::default(),
            with_events: Times::default(),
            nowhere: 0,
        }
    }

    /// Resets the measurement and runs again: every run places a slot, every second one releases the oldest.
    pub async fn run(&mut self, scheduler: &BuiltIn, runs: u64) -> Result<(), Error> {
        (self.decisions, self.with_events, self.nowhere) = (Times::default(), Times::default(), 0);
        for run in 0..runs {
            self.place(scheduler).await?;
            let oldest = if run % 2 == 1 { self.standing.pop_front() } else { None };
            if let Some(oldest) = oldest {
                scheduler.reservation_changed(&oldest, None);
            }
        }
        Ok(())
    }

    async fn place(&mut self, scheduler: &BuiltIn) -> Result<(), Error> {
        let slot = cloud::slot_request(self.next, &mut self.chance);
        self.next += 1;
        let started = Instant::now();
        let placed = scheduler.place(&slot).await?;
        let decided = started.elapsed();
        let Placed::Host(host) = placed else {
            self.nowhere += 1;
            return Ok(());
        };
        let seen = cloud::placed(&slot, host);
        let started = Instant::now();
        scheduler.reservation_changed(&slot.key, Some(seen));
        scheduler.applied(std::slice::from_ref(&slot.key));
        self.decisions.add(decided);
        self.with_events.add(decided + started.elapsed());
        self.standing.push_back(slot.key);
        Ok(())
    }
}

async fn place(scheduler: &BuiltIn, story: &mut Story, runs: u64) -> Result<(), Error> {
    let before = proc::usage(std::process::id())?.cpu_seconds;
    story.run(scheduler, runs).await?;
    let processor = proc::usage(std::process::id())?.cpu_seconds - before;
    row("place one slot: the decision", &story.decisions);
    row("place one slot: the decision and its events", &story.with_events);
    let per_second = |took: Duration| 1.0 / took.as_secs_f64().max(1e-9);
    println!(
        "{:>12.0} decisions/s by the mean, {:.0} by the median; {:.0} runs/s of processor time with requests and events; \
         {} slots found no host",
        per_second(story.decisions.mean()),
        per_second(story.decisions.median()),
        f64::from(u32::try_from(runs).unwrap_or(u32::MAX)) / processor.max(0.01),
        story.nowhere
    );
    Ok(())
}

async fn whole(scheduler: &BuiltIn, chance: &mut Rng, runs: u64) -> Result<(), Error> {
    let mut times = Times::default();
    for run in 0..runs {
        let first = cloud::slot_request(u64::MAX / 2 + run * WHOLE, chance);
        let slots = (0..WHOLE).map(|number| {
            let key = SlotKey::new(first.key.cluster.clone(), format!("{}-{number}", first.key.name));
            berth_scheduler::SlotRequest { key, ..first.clone() }
        });
        let whole = CommitmentRequest { slots: slots.collect(), ..CommitmentRequest::default() };
        let started = Instant::now();
        black_box(scheduler.place_all(&whole).await?);
        times.add(started.elapsed());
        let keys: Vec<SlotKey> = whole.slots.into_iter().map(|slot| slot.key).collect();
        scheduler.applied(&keys);
    }
    row("place a commitment of 10 slots as a whole", &times);
    Ok(())
}

fn vms(scheduler: &BuiltIn, chance: &mut Rng, runs: u64) -> Result<(), Error> {
    let mut times = Times::default();
    for number in 0..runs {
        let request = cloud::vm_request(number, chance);
        let started = Instant::now();
        black_box(scheduler.run(&request)?);
        times.add(started.elapsed());
    }
    row("rank all hosts for a VM, own slots unlocked", &times);
    Ok(())
}

fn changes(scheduler: &BuiltIn, hosts: &[Host], slots: &[Reservation], chance: &mut Rng, runs: u64) -> Times {
    let (mut of_slots, mut of_hosts) = (Times::default(), Times::default());
    for (slot, number) in slots.iter().rev().zip(0..runs) {
        let changed = Reservation { ready: number % 2 == 0, ..slot.clone() };
        let started = Instant::now();
        scheduler.reservation_changed(&slot.key, Some(changed));
        of_slots.add(started.elapsed());
    }
    for number in (0..hosts.len()).cycle().take(5_000) {
        let changed = cloud::host(number, chance);
        let started = Instant::now();
        scheduler.host_changed(&hosts[number].name, Some(changed));
        of_hosts.add(started.elapsed());
    }
    row("a Reservation changes", &of_slots);
    row("a Hypervisor changes", &of_hosts);
    of_slots
}

/// Decides the same kind of request with the algorithm of the reference.
fn compare(hosts: Vec<Host>, slots: Vec<Reservation>, ours: Duration) {
    let reservations = slots.into_iter().map(|slot| (slot.key.clone(), slot)).collect();
    let cache = Cache { hosts, reservations };
    let (mut chance, mut times) = (Rng::with_seed(2), Times::default());
    for number in 0..REFERENCE_RUNS {
        let slot = cloud::slot_request(number, &mut chance);
        let started = Instant::now();
        black_box(cache.decide(&slot));
        times.add(started.elapsed());
    }
    row("the decision as the reference makes it", &times);
    let ratio = times.median().as_secs_f64() / ours.as_secs_f64().max(1e-9);
    println!("{ratio:>12.0} times as long as ours (medians, both without the network)");
}

fn row(what: &str, times: &Times) {
    println!("{what:<48} {times}");
}
