//! Measures how long it takes to plan a large commitment that has its slots: one more, one fewer, and no change. It
//! measures the planner of the domain alone and the whole step of the controller, from facts to plan, in this process
//! on one core.

mod scene;

use std::hint::black_box;
use std::time::Instant;

use berth_committed_resource::{CommitmentFacts, Limits, plan};
use berth_core::planner::{self, SlotPlan};
use jiff::Timestamp;

use crate::error::Error;
use crate::table::{Goal, Row};
use crate::times::Times;
use scene::{Scene, world};

const SMALL: usize = 1_000;
const LARGE: usize = 10_000;
const WARM_UP: usize = 20;
const RUNS: usize = 501;
const MILLISECONDS: f64 = 5.0;
const TIMES_THE_SMALL: f64 = 12.0;

/// The change that a user makes to a commitment.
#[derive(Clone, Copy, Debug)]
enum PlannedChange {
    Grow,
    Shrink,
    Replan,
}

impl PlannedChange {
    const ALL: [Self; 3] = [Self::Grow, Self::Shrink, Self::Replan];

    fn describe(self) -> &'static str {
        match self {
            Self::Grow => "grow by one",
            Self::Shrink => "shrink by one",
            Self::Replan => "replan",
        }
    }

    fn of(self, slots: usize) -> usize {
        match self {
            Self::Grow => slots + 1,
            Self::Shrink => slots - 1,
            Self::Replan => slots,
        }
    }

    fn outcome(self) -> (usize, usize) {
        match self {
            Self::Grow => (1, 0),
            Self::Shrink => (0, 1),
            Self::Replan => (0, 0),
        }
    }
}

/// One row for the planner and one for the whole step.
pub fn measure() -> Result<Vec<Row>, Error> {
    let (small, large) = (Scene::new(SMALL)?, Scene::new(LARGE)?);
    let both = Both { small: &small, large: &large };
    let now = Timestamp::UNIX_EPOCH;
    Ok(vec![
        both.row("the planner", |facts| planner::plan(&facts.target(&facts.spec), &world(facts)?).ok())?,
        both.row("the whole step, from facts to plan", |facts| Some(plan(facts, Limits::default(), Ok(now)).slots))?,
        both.reading(),
    ])
}

struct Both<'a> {
    small: &'a Scene,
    large: &'a Scene,
}

impl Both<'_> {
    fn row(&self, step: &str, work: impl Fn(&CommitmentFacts) -> Option<SlotPlan>) -> Result<Row, Error> {
        let what = format!("a commitment of {LARGE} slots in force: {step}");
        let mut goals = Vec::new();
        for desired in PlannedChange::ALL {
            let small = times(&self.small.facts(desired.of(SMALL)), desired, &work)?;
            let large = times(&self.large.facts(desired.of(LARGE)), desired, &work)?;
            goals.extend(compared(desired.describe(), &small, &large));
        }
        Ok(Row { letter: 'c', what, goals })
    }

    fn reading(&self) -> Row {
        let times = |scene: &Scene| repeated(|| drop(black_box(scene.slots())));
        let (small, large) = (times(self.small), times(self.large));
        let found = format!("{:.1} ms; with {SMALL} slots {:.1} ms", millis(&large), millis(&small));
        let goals = vec![Goal::new("shown", found)];
        Row { letter: 'c', what: "the same commitment: from its objects to facts".to_owned(), goals }
    }
}

fn compared(desired: &str, small: &Times, large: &Times) -> [Goal; 2] {
    let (few, many) = (millis(small), millis(large));
    let times = many / few;
    [
        Goal::wanted(
            format!("{desired}: at most {MILLISECONDS} ms"),
            format!("{many:.2} ms, p99 {:.2} ms", large.percentile(99).as_secs_f64() * 1e3),
            many <= MILLISECONDS,
        ),
        Goal::wanted(
            format!("{desired}: at most {TIMES_THE_SMALL} times the time at {SMALL}"),
            format!("{times:.1} times ({few:.3} ms)"),
            times <= TIMES_THE_SMALL,
        ),
    ]
}

fn millis(times: &Times) -> f64 {
    times.median().as_secs_f64() * 1e3
}

/// The plan must be what should be measured.
fn times(
    facts: &CommitmentFacts,
    desired: PlannedChange,
    work: impl Fn(&CommitmentFacts) -> Option<SlotPlan>,
) -> Result<Times, Error> {
    let outcome = work(facts).map(|plan| (plan.create.len(), plan.release.len()));
    if outcome != Some(desired.outcome()) {
        return Err(Error::Planned { desired: desired.describe(), outcome });
    }
    Ok(repeated(|| drop(black_box(work(black_box(facts))))))
}

fn repeated(work: impl Fn()) -> Times {
    let mut times = Times::default();
    for run in 0..WARM_UP + RUNS {
        let began = Instant::now();
        work();
        if run >= WARM_UP {
            times.add(began.elapsed());
        }
    }
    times
}
