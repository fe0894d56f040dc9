//! The faults of a seed besides those of requests: processes crash and are suspended, clocks are changed, servers are
//! away, forget their history and close their watches; and in the end everything heals. The seed decides the times.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_testkit::{Random, Server};
use jiff::SignedDuration;

use super::stage::Stage;
use crate::faults;

/// The maximum and the minimum number of faults in a run.
const MOST: usize = 6;
const LEAST: usize = 2;
const MINUTES: usize = 10;

/// A fault or its end, and the process or server that it affects.
#[derive(Clone, Debug)]
pub enum Disturbance {
    Crash(usize),
    Start,
    Pause(usize),
    Resume,
    /// The clock of the operator is wrong by this many minutes.
    Clock(i64),
    Away(usize),
    Back(usize),
    /// A server compacts its history, and its watches break.
    Compaction(usize),
    /// A server closes its watches regularly.
    End(usize),
    /// The watches of the home cluster start again with lists of an older state.
    StaleLists,
    /// Lists are current again.
    TrueLists,
    Heal,
}

/// The faults within `span`, all healed at its end.
pub fn disturbances(random: &mut Random, span: Duration, replicas: usize) -> Vec<(Duration, Disturbance)> {
    let mut all = Vec::new();
    for _ in 0..LEAST + random.below(MOST - LEAST + 1) {
        let at = random.duration(&(Duration::ZERO..=span));
        let (first, second) = disturbance(random, replicas);
        all.push((at, first));
        all.extend(second.map(|(later, disturbance)| ((at + later).min(span), disturbance)));
    }
    all.sort_by_key(|(at, _)| *at);
    all.push((span, Disturbance::Heal));
    all
}

/// A fault, and how it ends.
fn disturbance(random: &mut Random, replicas: usize) -> (Disturbance, Option<(Duration, Disturbance)>) {
    let seconds = Duration::from_secs;
    let (process, server) = (random.below(replicas), random.below(2));
    let lasts = |random: &mut Random, least, most| random.duration(&(seconds(least)..=seconds(most)));
    match random.below(8) {
        // Longer than a request takes: repairs handle a write that lands after the next process has listed.
        0 | 1 => (Disturbance::Crash(process), Some((lasts(random, 3, 10), Disturbance::Start))),
        2 => (Disturbance::Pause(process), Some((lasts(random, 0, 40), Disturbance::Resume))),
        3 => {
            let minutes = i64::try_from(random.below(2 * MINUTES + 1)).unwrap() - i64::try_from(MINUTES).unwrap();
            (Disturbance::Clock(minutes), None)
        }
        4 => (Disturbance::Away(server), Some((lasts(random, 0, 90), Disturbance::Back(server)))),
        5 => (Disturbance::Compaction(server), None),
        6 => (Disturbance::StaleLists, Some((lasts(random, 1, 3), Disturbance::TrueLists))),
        _ => (Disturbance::End(server), None),
    }
}

impl Disturbance {
    /// Applies the change and counts it.
    pub fn happens(&self, stage: &mut Stage, hit: &mut BTreeMap<&'static str, u64>) {
        match self {
            Self::Crash(which) => stage.crash(*which),
            Self::Start => stage.start(),
            Self::Pause(which) => stage.pause(*which),
            Self::Resume => stage.resume(),
            Self::Clock(minutes) => stage.set_clock(SignedDuration::from_mins(*minutes)),
            Self::Away(which) => server(stage, *which).go_away(),
            Self::Back(which) => {
                server(stage, *which).come_back();
                stage.world.checker.interrupted();
            }
            Self::Compaction(which) => {
                server(stage, *which).compact();
                server(stage, *which).break_watches("");
            }
            Self::End(which) => server(stage, *which).end_watches(""),
            Self::StaleLists if stage.has_read_everything() => faults::stale_lists(&stage.world.home),
            Self::StaleLists => {}
            Self::TrueLists => faults::true_lists(&stage.world.home),
            Self::Heal => {
                stage.world.heal();
                stage.set_clock(SignedDuration::ZERO);
                stage.resume();
                stage.start();
            }
        }
        if let Some(name) = self.name() {
            *hit.entry(name).or_default() += 1;
        }
    }

    /// The name in the counters, unless the server counts it.
    fn name(&self) -> Option<&'static str> {
        match self {
            Self::Crash(_) => Some("crash"),
            Self::Pause(_) => Some("pause"),
            Self::Clock(_) => Some("clock step"),
            Self::Compaction(_) => Some("compaction"),
            _ => None,
        }
    }
}

fn server(stage: &Stage, which: usize) -> &Server {
    let servers = stage.world.servers();
    servers[which % servers.len()].1
}
