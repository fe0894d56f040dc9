//! The processes of a scenario in their world: they start, crash, stand still and go on, and whoever has lost the Lease is
//! started again. When that happens is decided by those who run the scenario.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;

use super::scenario::Kind;
use crate::faults;
use crate::process::Process;
use crate::world::World;

/// A world with its processes.
pub struct Stage {
    pub world: World,
    /// Where each VM runs, where it came to last at the end.
    pub vms: BTreeMap<&'static str, Vec<String>>,
    /// The slot that somebody has broken, and its resources as they were.
    pub broken: Option<(String, Value)>,
    /// How far the trouble of a seed has set the clock.
    clock_is_off: SignedDuration,
    kind: Kind,
    names: &'static [&'static str],
    running: Vec<Option<Process>>,
}

impl Stage {
    /// A world without a process.
    pub fn new(kind: Kind, seed: u64) -> Self {
        let world = match kind {
            Kind::TwoClusters => World::two_clusters(seed),
            Kind::OneCluster | Kind::Replicas => World::one_cluster(seed),
        };
        let names: &[_] = if kind == Kind::Replicas { &["first", "second"] } else { &["one"] };
        let (vms, broken, clock_is_off) = Default::default();
        Self { world, vms, broken, clock_is_off, kind, names, running: names.iter().map(|_| None).collect() }
    }

    /// How many processes there are to be.
    pub fn replicas(&self) -> usize {
        self.names.len()
    }

    /// All processes that do not run are started.
    pub fn start(&mut self) {
        faults::true_lists(&self.world.home);
        for (process, who) in self.running.iter_mut().zip(self.names) {
            if process.as_ref().is_none_or(Process::has_ended) {
                let start = if self.kind == Kind::Replicas { World::start_replica } else { World::start };
                *process = Some(start(&mut self.world, who));
            }
        }
    }

    /// There is one process, and it has read its only cluster.
    pub fn has_read_everything(&self) -> bool {
        let begun = self.running.iter().flatten().all(Process::has_begun);
        self.kind == Kind::OneCluster && begun && self.running.iter().all(Option::is_some)
    }

    /// The replica that leads, once it has read everything.
    pub fn leader(&self) -> Option<usize> {
        let leads = |process: &Process| process.has_begun() && !process.has_ended();
        self.running.iter().position(|process| process.as_ref().is_some_and(leads))
    }

    /// One process is gone.
    pub fn crash(&mut self, which: usize) {
        self.running[which].take().into_iter().for_each(Process::crash);
    }

    /// Whoever watches over processes starts those again that have ended by themselves.
    pub fn supervise(&mut self) {
        if self.running.iter().flatten().any(Process::has_ended) {
            self.start();
        }
    }

    /// One process stands still.
    pub fn pause(&mut self, which: usize) {
        self.running[which].iter().for_each(Process::pause);
    }

    /// All processes go on.
    pub fn resume(&mut self) {
        self.running.iter().flatten().for_each(Process::resume);
    }

    /// The clock of the operator is wrong by this.
    pub fn set_clock(&mut self, off: SignedDuration) {
        self.world.clock.step(off - self.clock_is_off);
        self.clock_is_off = off;
    }

    /// All processes, which are the caller's now.
    pub fn take(&mut self) -> Vec<Process> {
        self.running.iter_mut().filter_map(Option::take).collect()
    }
}
