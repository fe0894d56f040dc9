//! Scenarios with VMs, and the three ways in which each of them runs.

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Reservation, conditions, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{CheckerSettings, InvariantChecker, Rule, Server, seeds, vms};
use berth_vm_source::VmSource;

use crate::support::{Process, clock};

const SEEDS: u64 = 200;
/// Of a thousand writes, this many have each of the faults.
const PER_MILLE: u32 = 30;
const MAX_AGE: Duration = Duration::from_secs(86_400);

/// A world, what users and hosts do in it, and what must be so in the end.
pub struct Scenario {
    pub hosts: &'static [(&'static str, u64)],
    pub commitments: fn() -> Vec<CommittedResource>,
    pub before: fn(&Server),
    pub act: fn(&Server),
    pub check: fn(&Server),
}

/// A world at rest, in which a process runs.
pub struct Stage {
    pub server: Server,
    clock: Arc<dyn Clock>,
    checker: InvariantChecker,
    vms: VmSource,
    pub process: Process,
}

impl Scenario {
    pub async fn begin(&self) -> Stage {
        let clock = clock();
        let server = Server::new(clock.clone());
        let checker = InvariantChecker::new(CheckerSettings { clock: clock.clone(), ..CheckerSettings::default() });
        checker.watch(&ClusterName::home(), &server);
        checker.act_as_user(|| {
            server.create(&seeds::flavor_groups_with_half(clock.now())).unwrap();
            self.hosts.iter().for_each(|(name, free)| drop(server.create(&seeds::host(name, *free)).unwrap()));
            (self.before)(&server);
            for commitment in (self.commitments)() {
                server.create(&commitment).unwrap();
            }
        });
        let (vms, process) = start(&server, &clock, &checker);
        let stage = Stage { server, clock, checker, vms, process };
        assert_eq!(stage.process.settle().await, []);
        stage
    }

    pub async fn run_without_a_fault(&self) {
        let stage = self.begin().await;
        stage.drive(self).await;
        stage.finish(self).await;
    }

    pub async fn run_seeds(&self) {
        for seed in 0..SEEDS {
            let mut stage = self.begin().await;
            stage.process.set_order(seed);
            if seed % 2 == 1 {
                stage.server.seed(seed);
                for rule in Rule::faults_of_writes(PER_MILLE) {
                    stage.server.rule(rule);
                }
            }
            stage.drive(self).await;
            stage.finish(self).await;
        }
    }

    pub async fn end_at_every_write(&self, name: &str) {
        let stage = self.begin().await;
        let before = stage.server.effects().changed;
        stage.drive(self).await;
        let writes = stage.server.effects().changed - before;
        for write in 1..=writes {
            for is_before in [true, false] {
                let mut stage = self.begin().await;
                if is_before {
                    stage.server.stop_before(write);
                } else {
                    stage.server.stop_after(write);
                }
                tokio::select! {
                    () = stage.server.stopped() => {}
                    () = stage.drive(self) => {}
                }
                stage.server.answer_again();
                (stage.vms, stage.process) = start(&stage.server, &stage.clock, &stage.checker);
                stage.finish(self).await;
            }
        }
        println!("{name}: {writes} writes, {} runs", 2 * writes);
    }
}

/// A process that knows all VMs.
fn start(server: &Server, clock: &Arc<dyn Clock>, checker: &InvariantChecker) -> (VmSource, Process) {
    checker.begins();
    let source = VmSource::new(clock.clone(), MAX_AGE);
    source.publish(vms::snapshot(server, clock.now()).unwrap());
    let process = Process::start_with_vms(server, clock, &source);
    process.enqueue_all();
    (source, process)
}

impl Stage {
    /// The hosts and the users act first; the VMs become known later.
    async fn drive(&self, scenario: &Scenario) {
        self.act(scenario);
        self.process.settle().await;
        self.vms.publish(vms::snapshot(&self.server, self.clock.now()).unwrap());
        self.process.settle().await;
    }

    pub fn act(&self, scenario: &Scenario) {
        self.checker.act_as_user(|| (scenario.act)(&self.server));
    }

    /// The snapshot becomes too old.
    pub fn forget_vms(&self) {
        self.vms.publish(vms::snapshot(&self.server, jiff::Timestamp::UNIX_EPOCH).unwrap());
    }

    async fn finish(&self, scenario: &Scenario) {
        self.server.heal();
        self.process.enqueue_all();
        self.process.settle().await;
        self.process.settle_for_good().await;
        self.checker.mark_observed();
        assert_eq!(self.checker.violations(), [""; 0]);
        assert_eq!(self.checker.violations_at_rest(), [""; 0]);
        assert_eq!(self.process.world.scheduler.assumed(), 0);
        assert_eq!(self.server.no_op_writes(), 0);
        (scenario.check)(&self.server);
    }
}

/// A failed run shows what was called.
impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.server.calls().join("\n"));
        }
    }
}

pub fn reason(server: &Server, uuid: &str) -> String {
    let object: CommittedResource = server.get(&names::commitment(uuid)).unwrap();
    conditions::ready(&object.status.unwrap().conditions).unwrap().reason.clone()
}

/// The slots of a commitment: number, host, and the VMs in it, which are all confirmed.
pub fn described(server: &Server, uuid: &str) -> Vec<String> {
    let all: Vec<Reservation> = server.all().unwrap();
    let prefix = format!("{}-", names::commitment(uuid));
    let described = |slot: Reservation| {
        let number = slot.metadata.name.as_deref()?.strip_prefix(&prefix)?.to_owned();
        let data = slot.spec.committed_resource_reservation.unwrap_or_default();
        let expected: Vec<_> = data.allocations.keys().cloned().collect();
        let outcome = slot.status.and_then(|status| status.committed_resource_reservation).unwrap_or_default();
        assert_eq!(
            outcome.allocations.keys().collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>(),
            "slot {number}"
        );
        Some(format!("{number} {} [{}]", slot.spec.target_host.unwrap_or("-".to_owned()), expected.join(", ")))
    };
    all.into_iter().filter_map(described).collect()
}
