//! What goes wrong in a seed besides the faults of requests: processes crash and stand still, clocks are set, servers are
//! away, forget their history and end their watches; and in the end everything heals. When it happens is drawn from the
//! seed.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_testkit::{Random, Server};
use jiff::SignedDuration;

use super::stage::Stage;
use crate::faults;

/// The most things that go wrong in a run, and the least.
const MOST: usize = 6;
const LEAST: usize = 2;
/// How far a clock is wrong.
const MINUTES: usize = 10;

/// A change for the worse or for the better, and to which process or server.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// A process crashes.
    Crash(usize),
    /// Whoever has crashed starts again.
    Start,
    /// A process stands still.
    Pause(usize),
    /// Whoever stands still goes on.
    Resume,
    /// The clock of the operator is wrong by so many minutes.
    Clock(i64),
    /// A server cannot be reached.
    Away(usize),
    /// It can be again.
    Back(usize),
    /// A server forgets what happened, and its watches break.
    Compaction(usize),
    /// A server ends its watches in good order.
    End(usize),
    /// The watches of the home cluster begin anew with lists of an older state.
    StaleLists,
    /// Lists are true again.
    TrueLists,
    /// Everything is as it should be.
    Heal,
}

/// What goes wrong within `span`, with everything healed at its end.
pub fn troubles(random: &mut Random, span: Duration, replicas: usize) -> Vec<(Duration, Trouble)> {
    let mut all = Vec::new();
    for _ in 0..LEAST + random.below(MOST - LEAST + 1) {
        let at = random.duration(&(Duration::ZERO..=span));
        let (first, second) = trouble(random, replicas);
        all.push((at, first));
        all.extend(second.map(|(later, trouble)| ((at + later).min(span), trouble)));
    }
    all.sort_by_key(|(at, _)| *at);
    all.push((span, Trouble::Heal));
    all
}

/// Something that goes wrong, and how it ends.
fn trouble(random: &mut Random, replicas: usize) -> (Trouble, Option<(Duration, Trouble)>) {
    let seconds = Duration::from_secs;
    let (process, server) = (random.below(replicas), random.below(2));
    let lasts = |random: &mut Random, least, most| random.duration(&(seconds(least)..=seconds(most)));
    match random.below(8) {
        // Longer than a request takes: what lands after the next process has listed is the business of repairs.
        0 | 1 => (Trouble::Crash(process), Some((lasts(random, 3, 10), Trouble::Start))),
        2 => (Trouble::Pause(process), Some((lasts(random, 0, 40), Trouble::Resume))),
        3 => {
            let minutes = i64::try_from(random.below(2 * MINUTES + 1)).unwrap() - i64::try_from(MINUTES).unwrap();
            (Trouble::Clock(minutes), None)
        }
        4 => (Trouble::Away(server), Some((lasts(random, 0, 90), Trouble::Back(server)))),
        5 => (Trouble::Compaction(server), None),
        6 => (Trouble::StaleLists, Some((lasts(random, 1, 3), Trouble::TrueLists))),
        _ => (Trouble::End(server), None),
    }
}

impl Trouble {
    /// It comes true, and is counted.
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
                stage.world.judge.interrupted();
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

    /// What it is counted as, unless the server counts it.
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
