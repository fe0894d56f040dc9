//! One run of a scenario: its actions at their times, the faults between them, a crash at a certain write, the idle
//! time after everything, and the checks. A failed check panics.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use berth_crds::{CommittedResource, conditions};
use berth_telemetry::clock::Clock as _;
use berth_testkit::{Effects, Stop};
use tokio::time::sleep;

use super::disturbance::Disturbance;
use super::scenario::{Deed, End, Kind, Scenario};
use super::stage::Stage;
use crate::world::{REST, World};
use crate::{faults, leader_invariant};

/// Once nothing happens any more, the world is at rest after this time.
pub const LIVENESS: Duration = Duration::from_secs(30 * 60);
/// An action that is not possible yet is tried again after this time.
const AGAIN: Duration = Duration::from_secs(5);
/// No process runs for this time after a crash: longer than a request takes, because repairs handle a write that lands
/// after the next process has listed.
const DOWN: Duration = Duration::from_secs(1);
/// How often a replica is checked for a lost Lease.
const SUPERVISED: Duration = Duration::from_secs(5);

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The writes of operators, besides those of Leases: how many were requested, and how many took effect.
    pub asked: usize,
    pub changed: usize,
    pub hit: BTreeMap<&'static str, u64>,
}

pub struct Run<'a> {
    stage: Stage,
    script: VecDeque<(Duration, &'a Deed)>,
    disturbances: VecDeque<(Duration, Disturbance)>,
    stop: Option<Stop>,
    ends: &'a [End],
    enough_capacity: bool,
    excused: &'a [&'a str],
    replicas: bool,
    /// The time of the last event that the operator has to handle.
    disturbed: Duration,
    hit: BTreeMap<&'static str, u64>,
}

impl<'a> Run<'a> {
    /// A world before the operator starts.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut stage = Stage::new(scenario.kind, seed);
        for deed in &scenario.before {
            assert!(deed(&mut stage), "the scenario cannot begin");
        }
        Self {
            stage,
            script: scenario.acts.iter().map(|(at, deed)| (*at, deed)).collect(),
            disturbances: VecDeque::new(),
            stop: None,
            ends: &scenario.ends,
            enough_capacity: scenario.enough_capacity,
            excused: scenario.excused,
            replicas: scenario.kind == Kind::Replicas,
            disturbed: Duration::ZERO,
            hit: BTreeMap::new(),
        }
    }

    pub fn world(&mut self) -> &mut World {
        &mut self.stage.world
    }

    /// The actions happen at other times, in the same order.
    pub fn at_other_times(mut self, mut pause: impl FnMut(Duration) -> Duration) -> Self {
        let (mut before, mut now) = (Duration::ZERO, Duration::ZERO);
        for (at, _) in &mut self.script {
            let gap = at.saturating_sub(before);
            before = *at;
            now += pause(gap);
            *at = now;
        }
        self
    }

    /// The time of the last action, if nothing delays it.
    pub fn last_act(&self) -> Duration {
        self.script.back().map_or(Duration::ZERO, |(at, _)| *at)
    }

    pub fn replicas(&self) -> usize {
        self.stage.replicas()
    }

    pub fn with(mut self, disturbances: Vec<(Duration, Disturbance)>) -> Self {
        self.disturbances = disturbances.into();
        self
    }

    pub fn with_crash(mut self, stop: Stop) -> Self {
        self.stage.world.servers().into_iter().for_each(|(_, server)| server.stop(&stop));
        self.stop = Some(stop);
        self
    }

    /// Runs from the start of the operator to the checks.
    pub async fn goes(mut self) -> Outcome {
        self.stage.start();
        while let Some(at) = self.next() {
            self.pass_until(at).await;
            self.happens();
        }
        self.rests().await;
        let outcome = self.outcome();
        self.verdict().await;
        outcome
    }

    fn next(&self) -> Option<Duration> {
        let times = [self.script.front().map(|(at, _)| *at), self.disturbances.front().map(|(at, _)| *at)];
        times.into_iter().flatten().min()
    }

    fn happens(&mut self) {
        let now = self.stage.world.age();
        assert!(now < self.disturbed + LIVENESS, "an action of the scenario did not become possible");
        while self.disturbances.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, disturbance)) = self.disturbances.pop_front() {
                disturbance.happens(&mut self.stage, &mut self.hit);
            }
            self.disturbed = now;
        }
        while let Some((at, deed)) = self.script.front_mut().filter(|(at, _)| *at <= now) {
            if !deed(&mut self.stage) {
                *at = now + AGAIN;
                return;
            }
            self.script.pop_front();
            self.disturbed = now;
        }
    }

    /// Lets time pass, and crashes the operator when it is time for that.
    async fn pass_until(&mut self, until: Duration) {
        while let Some(left) = until.checked_sub(self.stage.world.age()) {
            let step = if self.replicas { left.min(SUPERVISED) } else { left };
            match &self.stop {
                None => sleep(step).await,
                Some(crash) => tokio::select! {
                    biased;
                    () = crash.comes() => self.crashes().await,
                    () = sleep(step) => {}
                },
            }
            self.stage.supervise();
            if step == left {
                return;
            }
        }
    }

    async fn crashes(&mut self) {
        self.stop = None;
        (0..self.stage.replicas()).for_each(|which| self.stage.crash(which));
        *self.hit.entry("crash").or_default() += 1;
        sleep(DOWN).await;
        self.stage.world.servers().into_iter().for_each(|(_, server)| server.answer_again());
        self.disturbed = self.stage.world.age();
        self.stage.start();
    }

    /// Waits until nothing is written any more.
    async fn rests(&mut self) {
        loop {
            let quiet = self.disturbed + LIVENESS + REST;
            self.pass_until(quiet).await;
            if self.disturbed + LIVENESS + REST == quiet {
                break;
            }
        }
        assert!(self.stop.is_none(), "the write does not exist: two runs differed");
        let (last, rest) = (self.effects().last, self.disturbed + LIVENESS);
        assert!(last <= rest, "not at rest at {rest:?}, but at {last:?}:\n{}", self.stage.world.last_writes(20));
    }

    fn effects(&self) -> Effects {
        let all = self.stage.world.servers().into_iter().map(|(_, server)| server.effects());
        all.fold(Effects::default(), |sum, one| Effects {
            asked: sum.asked + one.asked,
            changed: sum.changed + one.changed,
            last: sum.last.max(one.last),
        })
    }

    fn outcome(&mut self) -> Outcome {
        let mut hit = std::mem::take(&mut self.hit);
        self.stage.world.servers().into_iter().for_each(|(_, server)| faults::add(&mut hit, server));
        let Effects { asked, changed, .. } = self.effects();
        Outcome { asked, changed, hit }
    }

    async fn verdict(mut self) {
        let world = &self.stage.world;
        let mut wrong: Vec<_> = self.ends.iter().filter_map(|end| end(world).err()).collect();
        if self.enough_capacity {
            wrong.extend(unsatisfied(world));
        }
        assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), world.last_writes(40));
        if self.replicas {
            assert_eq!(leader_invariant::violations(&world.home.calls()), [""; 0]);
        }
        world.has_kept_all_invariants(self.excused);
        let processes = self.stage.take();
        self.stage.world.a_new_process_writes_nothing(processes).await;
    }
}

/// The commitments that have less than they want, although there is free capacity.
fn unsatisfied(world: &World) -> Vec<String> {
    let all = world.servers().into_iter().flat_map(|(_, server)| server.all::<CommittedResource>().unwrap());
    let wants = |object: &CommittedResource| {
        let phase = berth_crds::facts::spec(object).phase(world.clock.now());
        phase == berth_core::commitment::Phase::Wanted
    };
    let unserved = all.filter(wants).filter_map(|object| {
        let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
        let reported = ready.map_or_else(String::new, |ready| format!("{}: {}", ready.reason, ready.message));
        let name = object.metadata.name.unwrap_or_default();
        (!reported.starts_with("Accepted")).then(|| format!("{name} is not accepted, there is capacity: {reported}"))
    });
    unserved.collect()
}
