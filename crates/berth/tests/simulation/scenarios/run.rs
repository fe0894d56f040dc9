//! One run of a scenario: its acts at their times, whatever goes wrong between them, a crash at a certain write, the rest
//! after it all, and the verdict. A run that is not as it should be panics.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use berth_crds::{CommittedResource, conditions};
use berth_telemetry::clock::Clock as _;
use berth_testkit::{Effects, Stop};
use tokio::time::sleep;

use super::scenario::{Deed, End, Kind, Scenario};
use super::stage::Stage;
use super::trouble::Trouble;
use crate::world::{REST, World};
use crate::{faults, leader_law};

/// Once nothing happens any more, the world is at rest after so long.
pub const LIVENESS: Duration = Duration::from_secs(30 * 60);
/// What is not possible yet is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);
/// So long after a crash nobody runs: longer than a request is on its way, because what lands after the next process
/// has listed is the business of repairs.
const DOWN: Duration = Duration::from_secs(1);
/// So often somebody looks whether replicas have lost the Lease.
const SUPERVISED: Duration = Duration::from_secs(5);

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Writes of operators, besides those of Leases: how many were asked for, and how many took effect.
    pub asked: usize,
    pub changed: usize,
    /// What went wrong, and how often.
    pub hit: BTreeMap<&'static str, u64>,
}

/// A run that is under way.
pub struct Run<'a> {
    stage: Stage,
    script: VecDeque<(Duration, &'a Deed)>,
    troubles: VecDeque<(Duration, Trouble)>,
    stop: Option<Stop>,
    ends: &'a [End],
    enough_room: bool,
    excused: &'a [&'a str],
    replicas: bool,
    /// When the last thing happened that the operator has to cope with.
    disturbed: Duration,
    hit: BTreeMap<&'static str, u64>,
}

impl<'a> Run<'a> {
    /// A world as it is before the operator starts.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut stage = Stage::new(scenario.kind, seed);
        for deed in &scenario.before {
            assert!(deed(&mut stage), "the scenario cannot begin");
        }
        Self {
            stage,
            script: scenario.acts.iter().map(|(at, deed)| (*at, deed)).collect(),
            troubles: VecDeque::new(),
            stop: None,
            ends: &scenario.ends,
            enough_room: scenario.enough_room,
            excused: scenario.excused,
            replicas: scenario.kind == Kind::Replicas,
            disturbed: Duration::ZERO,
            hit: BTreeMap::new(),
        }
    }

    pub fn world(&mut self) -> &mut World {
        &mut self.stage.world
    }

    /// The acts happen at other times, in the same order.
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

    /// When the last act happens, if nothing holds it up.
    pub fn last_act(&self) -> Duration {
        self.script.back().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// How many processes there are.
    pub fn replicas(&self) -> usize {
        self.stage.replicas()
    }

    /// These things go wrong, in this order.
    pub fn with(mut self, troubles: Vec<(Duration, Trouble)>) -> Self {
        self.troubles = troubles.into();
        self
    }

    /// The whole operator crashes there.
    pub fn with_crash(mut self, stop: Stop) -> Self {
        self.stage.world.servers().into_iter().for_each(|(_, server)| server.stop(&stop));
        self.stop = Some(stop);
        self
    }

    /// From the start of the operator to the verdict.
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

    /// When the next thing happens.
    fn next(&self) -> Option<Duration> {
        let times = [self.script.front().map(|(at, _)| *at), self.troubles.front().map(|(at, _)| *at)];
        times.into_iter().flatten().min()
    }

    /// Everything that is due happens.
    fn happens(&mut self) {
        let now = self.stage.world.age();
        assert!(now < self.disturbed + LIVENESS, "an act of the scenario has not become possible");
        while self.troubles.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, trouble)) = self.troubles.pop_front() {
                trouble.happens(&mut self.stage, &mut self.hit);
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

    /// Time passes, and the crash comes if it is time for it.
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

    /// Nothing is written any more after a time, however long one waits.
    async fn rests(&mut self) {
        loop {
            let quiet = self.disturbed + LIVENESS + REST;
            self.pass_until(quiet).await;
            if self.disturbed + LIVENESS + REST == quiet {
                break;
            }
        }
        assert!(self.stop.is_none(), "there is no such write: two runs were not the same");
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
        if self.enough_room {
            wrong.extend(unsatisfied(world));
        }
        assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), world.last_writes(40));
        if self.replicas {
            assert_eq!(leader_law::broken(&world.home.calls()), [""; 0]);
        }
        world.has_kept_all_laws(self.excused);
        let processes = self.stage.take();
        self.stage.world.whoever_starts_now_writes_nothing(processes).await;
    }
}

/// Those that want something and have not got it, although there is room.
fn unsatisfied(world: &World) -> Vec<String> {
    let all = world.servers().into_iter().flat_map(|(_, server)| server.all::<CommittedResource>().unwrap());
    let wants = |object: &CommittedResource| {
        let phase = berth_crds::facts::spec(object).phase(world.clock.now());
        phase == berth_core::commitment::Phase::Wanted
    };
    let unserved = all.filter(wants).filter_map(|object| {
        let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
        let said = ready.map_or_else(String::new, |ready| format!("{}: {}", ready.reason, ready.message));
        let name = object.metadata.name.unwrap_or_default();
        (!said.starts_with("Accepted")).then(|| format!("{name} is not accepted, there is room: {said}"))
    });
    unserved.collect()
}
