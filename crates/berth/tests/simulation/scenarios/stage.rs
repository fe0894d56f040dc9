//! The processes of a scenario in their world: they start, crash, pause and resume, and a replica that has lost the
//! Lease is started again. The caller decides when.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;

use super::scenario::Kind;
use crate::faults;
use crate::process::Process;
use crate::world::World;

pub struct Stage {
    pub world: World,
    /// The hosts of each VM, the current one last.
    pub vms: BTreeMap<&'static str, Vec<String>>,
    /// The slot that a user has broken, with its original resources.
    pub violations: Option<(String, Value)>,
    /// By how much a fault of the seed has changed the clock.
    clock_is_off: SignedDuration,
    kind: Kind,
    names: &'static [&'static str],
    running: Vec<Option<Process>>,
}

impl Stage {
    pub fn new(kind: Kind, seed: u64) -> Self {
        let world = match kind {
            Kind::TwoClusters => World::two_clusters(seed),
            Kind::OneCluster | Kind::Replicas => World::one_cluster(seed),
        };
        let names: &[_] = if kind == Kind::Replicas { &["first", "second"] } else { &["one"] };
        let (vms, violations, clock_is_off) = Default::default();
        Self { world, vms, violations, clock_is_off, kind, names, running: names.iter().map(|_| None).collect() }
    }

    pub fn replicas(&self) -> usize {
        self.names.len()
    }

    /// Starts all processes that do not run.
    pub fn start(&mut self) {
        faults::true_lists(&self.world.home);
        for (process, who) in self.running.iter_mut().zip(self.names) {
            if process.as_ref().is_none_or(Process::has_ended) {
                let start = if self.kind == Kind::Replicas { World::start_replica } else { World::start };
                *process = Some(start(&mut self.world, who));
            }
        }
    }

    /// Whether the only process has read its only cluster.
    pub fn has_read_everything(&self) -> bool {
        let started = self.running.iter().flatten().all(Process::has_begun);
        self.kind == Kind::OneCluster && started && self.running.iter().all(Option::is_some)
    }

    /// The leading replica, once it has read everything.
    pub fn leader(&self) -> Option<usize> {
        let leads = |process: &Process| process.has_begun() && !process.has_ended();
        self.running.iter().position(|process| process.as_ref().is_some_and(leads))
    }

    pub fn crash(&mut self, which: usize) {
        self.running[which].take().into_iter().for_each(Process::crash);
    }

    /// Restarts processes that have exited by themselves, as a kubelet does.
    pub fn supervise(&mut self) {
        if self.running.iter().flatten().any(Process::has_ended) {
            self.start();
        }
    }

    pub fn pause(&mut self, which: usize) {
        self.running[which].iter().for_each(Process::pause);
    }

    pub fn resume(&mut self) {
        self.running.iter().flatten().for_each(Process::resume);
    }

    /// Makes the clock of the operator wrong by this.
    pub fn set_clock(&mut self, off: SignedDuration) {
        self.world.clock.step(off - self.clock_is_off);
        self.clock_is_off = off;
    }

    pub fn take(&mut self) -> Vec<Process> {
        self.running.iter_mut().filter_map(Option::take).collect()
    }
}
