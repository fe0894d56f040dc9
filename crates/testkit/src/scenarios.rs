//! Scenarios of a controller, each run without a disturbance, with a process that ends before and after every write, and with
//! seeds for the order of runs and for faults of the API server.

use std::future::Future;
use std::pin::Pin;

use crate::faults::Rule;
use crate::server::Server;

const SEEDS: u64 = 200;
/// Of a thousand writes, this many have each of the faults.
const PER_MILLE: u32 = 30;

/// What disturbs the process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    Calm,
    Seed(u64),
    /// The process ends before this write, counted from the begin of the disturbance.
    StopBefore(usize),
    StopAfter(usize),
}

impl Disturbance {
    /// The seed for the order of runs.
    pub fn seed(self) -> u64 {
        if let Self::Seed(seed) = self { seed } else { 0 }
    }

    pub fn has_faults(self) -> bool {
        matches!(self, Self::Seed(_))
    }

    fn ends_process(self) -> bool {
        matches!(self, Self::StopBefore(_) | Self::StopAfter(_))
    }

    /// The result of some work; `None` if the process ends meanwhile. Then the API server answers its successor, which nothing
    /// disturbs.
    pub async fn interrupt<T>(&mut self, server: &Server, work: impl Future<Output = T>) -> Option<T> {
        let result = tokio::select! {
            biased;
            () = server.stopped(), if self.ends_process() => None,
            result = work => Some(result),
        };
        if result.is_none() {
            *self = Self::Calm;
            server.answer_again();
        }
        result
    }

    pub fn begin(self, server: &Server) {
        match self {
            Self::Calm => {}
            Self::Seed(seed) => {
                server.seed(seed);
                for rule in Rule::faults_of_writes(PER_MILLE) {
                    server.rule(rule);
                }
            }
            Self::StopBefore(write) => server.stop_before(write),
            Self::StopAfter(write) => server.stop_after(write),
        }
    }
}

/// A process and its world, in which a scenario happens.
pub trait ScenarioRun: Sized {
    fn begin(disturbance: Disturbance) -> Self;

    fn server(&self) -> &Server;

    /// Checks what must be true after every scenario, without a disturbance.
    fn finish(&mut self) -> impl Future<Output = ()>;
}

/// What happens to a run.
pub type Scenario<R> = for<'r> fn(&'r mut R) -> Pin<Box<dyn Future<Output = ()> + Send + 'r>>;

/// Runs a scenario; returns its number of writes.
pub async fn run_disturbed<R: ScenarioRun>(scenario: Scenario<R>, disturbance: Disturbance) -> usize {
    let mut run = R::begin(disturbance);
    let before = run.server().effects().changed;
    scenario(&mut run).await;
    let writes = run.server().effects().changed - before;
    run.finish().await;
    writes
}

/// Runs a scenario with a process that ends before each write, and with one that ends after it.
pub async fn end_at_every_write<R: ScenarioRun>(scenario: Scenario<R>) {
    let writes = run_disturbed(scenario, Disturbance::Calm).await;
    for write in 1..=writes {
        run_disturbed(scenario, Disturbance::StopBefore(write)).await;
        run_disturbed(scenario, Disturbance::StopAfter(write)).await;
    }
}

pub async fn run_seeds<R: ScenarioRun>(scenario: Scenario<R>) {
    for seed in 0..SEEDS {
        run_disturbed(scenario, Disturbance::Seed(seed)).await;
    }
}

/// Makes the tests of scenarios: `scenarios! { Run, all: one two }` runs `all::one` and `all::two` in a `Run`.
#[macro_export]
macro_rules! scenarios {
    ($Run:ident, $all:ident: $($name:ident)*) => { $(
        mod $name {
            use $crate::scenarios::{Disturbance, Scenario, end_at_every_write, run_disturbed, run_seeds};

            const SCENARIO: Scenario<super::$Run> = super::$all::$name;

            #[tokio::test(start_paused = true)]
            async fn ends_as_expected_without_a_fault() {
                run_disturbed(SCENARIO, Disturbance::Calm).await;
            }

            #[tokio::test(start_paused = true)]
            async fn a_process_that_ends_before_or_after_any_write_is_continued() {
                end_at_every_write(SCENARIO).await;
            }

            #[tokio::test(start_paused = true)]
            async fn any_order_and_any_fault_ends_as_expected() {
                run_seeds(SCENARIO).await;
            }
        }
    )* };
}
