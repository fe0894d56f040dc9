//! The scenarios of usage, each without a fault, with a process that ends before and after every write, and with seeds for
//! the order of runs and for faults of the API server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use berth_cluster::testing::failing;
use berth_core::ClusterName;
use berth_crds::{Time, testing};
use berth_telemetry::clock::Clock as _;
use berth_testkit::scenarios::{Disturbance, ScenarioRun};
use berth_testkit::{Server, scenarios, seeds};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::json;
use tokio::time::Instant;

use support::{HOUR, MINUTE, NODE1, NODE2, Process, Stage, with_zone};

const SECOND: Duration = Duration::from_secs(1);

struct Run {
    stage: Stage,
    process: Process,
    disturbance: Disturbance,
}

impl Run {
    /// From now on the process is disturbed.
    fn disturb(&self) {
        self.disturbance.begin(&self.stage.server);
    }

    /// Time passes. A process that ends meanwhile has a successor, which does the rest.
    async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let work = self.process.driver.wait_until(end);
        if self.disturbance.interrupt(&self.stage.server, work).await.is_none() {
            self.process = Process::start(&self.stage, 0);
            self.process.driver.wait_until(end.max(Instant::now())).await;
        }
    }

    /// What follows from an event is written within a second, unless writes fail.
    async fn settle(&mut self) {
        let time = if self.disturbance.has_faults() { MINUTE } else { SECOND };
        self.wait(time).await;
    }

    /// The table is read, and what follows is written.
    async fn read_table(&mut self) {
        self.process.publish();
        self.settle().await;
    }

    fn assert_vms(&self, expected: &[(&str, &[&str])]) {
        let shown: Vec<_> = expected.iter().map(|(uuid, _)| (*uuid, self.stage.vms(uuid))).collect();
        let expected: Vec<_> =
            expected.iter().map(|(uuid, vms)| (*uuid, vms.iter().map(|vm| (*vm).to_owned()).collect())).collect();
        assert_eq!(shown, expected);
    }
}

impl ScenarioRun for Run {
    fn begin(disturbance: Disturbance) -> Self {
        let stage = Stage::new();
        let process = Process::start(&stage, disturbance.seed());
        Self { stage, process, disturbance }
    }

    fn server(&self) -> &Server {
        &self.stage.server
    }

    /// The invariants hold, and another run writes nothing.
    async fn finish(&mut self) {
        self.stage.server.heal();
        self.process.publish();
        self.process.driver.rerun().await;
        assert_eq!(self.process.violations(), [""; 0]);
        self.stage.take_writes();
        self.process.driver.rerun().await;
        assert_eq!(self.stage.take_writes(), [""; 0], "nothing is left to do");
    }
}

scenarios! {
    Run, all:
    vm_comes
    vm_goes
    vm_moves_zone
    resize
    commitment_starts
    commitment_ends
    commitment_is_superseded
    table_away
    table_old
    partial_cluster
    wrong_clock
}

mod all {
    use super::*;

    const FULL: &str = testing::FLAVOR;
    const HALF: &str = seeds::HALF_FLAVOR;

    pub fn vm_comes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 2);
            run.disturb();
            run.settle().await;
            assert_eq!(run.stage.usage("uuid-1"), (vec![], "0".to_owned(), "0".to_owned()));
            run.stage.run_on(NODE1, &["vm-1"]);
            run.settle().await;
            run.assert_vms(&[("uuid-1", &[])]);
            run.stage.insert_row("vm-1", FULL, NODE1, 0);
            run.read_table().await;
            assert_eq!(run.stage.usage("uuid-1"), (vec!["vm-1".to_owned()], "480Gi".to_owned(), "30".to_owned()));
            let status = run.stage.status("uuid-1");
            assert_eq!((status.used_declared_gib, status.usage_observed_generation), (Some(480), Some(1)));
            assert_eq!(status.status_summary.as_deref(), Some("Accepted · 1 VM · no expiry"));
        }
        .boxed()
    }

    /// Its place goes to the one that had none.
    pub fn vm_goes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.insert_row("vm-1", FULL, NODE1, 1);
            run.stage.insert_row("vm-2", HALF, NODE1, 2);
            run.stage.run_on(NODE1, &["vm-1", "vm-2"]);
            run.disturb();
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &["vm-1"])]);
            run.stage.run_on(NODE1, &["vm-2"]);
            run.stage.remove_row("vm-1");
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &["vm-2"])]);
            run.stage.run_on(NODE1, &[]);
            run.stage.remove_row("vm-2");
            run.read_table().await;
            assert_eq!(run.stage.usage("uuid-1"), (vec![], "0".to_owned(), "0".to_owned()));
        }
        .boxed()
    }

    /// The hosts know it before the table does.
    pub fn vm_moves_zone(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.commit(&with_zone(seeds::waiting_commitment("uuid-2", 1), seeds::OTHER_ZONE));
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &[])]);
            run.stage.run_on(NODE2, &["vm-1"]);
            run.stage.run_on(NODE1, &[]);
            run.settle().await;
            run.assert_vms(&[("uuid-1", &[]), ("uuid-2", &["vm-1"])]);
        }
        .boxed()
    }

    pub fn resize(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 2);
            run.stage.insert_row("vm-1", FULL, NODE1, 1);
            run.stage.insert_row("vm-2", HALF, NODE1, 2);
            run.stage.run_on(NODE1, &["vm-1", "vm-2"]);
            run.disturb();
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &["vm-1", "vm-2"])]);
            run.stage.edit_row("vm-2", |row| row.flavor = FULL.into());
            run.read_table().await;
            assert_eq!(run.stage.usage("uuid-1").1, "960Gi");
            run.stage.edit_spec("uuid-1", &json!({ "amount": "480Gi" }));
            run.settle().await;
            assert_eq!(run.stage.usage("uuid-1").1, "960Gi", "it is not accepted yet");
            run.stage.accept("uuid-1");
            run.settle().await;
            run.assert_vms(&[("uuid-1", &["vm-1"])]);
            assert_eq!(run.stage.status("uuid-1").usage_observed_generation, Some(2));
        }
        .boxed()
    }

    pub fn commitment_starts(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let mut object = seeds::waiting_commitment("uuid-1", 1);
            object.spec.start_time = Some(Time(run.stage.clock.now() + SignedDuration::from_mins(30)));
            run.stage.commit(&object);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.wait(20 * MINUTE).await;
            assert!(run.stage.status("uuid-1").used_resources.is_empty(), "it has not started");
            run.wait(10 * MINUTE).await;
            run.assert_vms(&[("uuid-1", &["vm-1"])]);
        }
        .boxed()
    }

    /// Its VM moves to the one that lasts.
    pub fn commitment_ends(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let mut object = seeds::waiting_commitment("uuid-1", 1);
            object.spec.end_time = Some(Time(run.stage.clock.now() + SignedDuration::from_mins(30)));
            run.stage.commit(&object);
            run.stage.commit_slots("uuid-2", 1);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.wait(25 * MINUTE).await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &[])]);
            run.wait(6 * MINUTE).await;
            run.assert_vms(&[("uuid-1", &[]), ("uuid-2", &["vm-1"])]);
            let status = run.stage.status("uuid-1");
            assert!(status.used_resources.is_empty() && status.used_declared_gib.is_none());
            assert!(status.last_usage_reconcile_at.is_none() && status.usage_observed_generation.is_none());
            assert_eq!(status.status_summary.as_deref(), Some("Accepted · 0 VMs · expired"));
        }
        .boxed()
    }

    /// It counts until its controller has released it.
    pub fn commitment_is_superseded(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.stage.edit_spec("uuid-1", &json!({ "state": "superseded", "amount": "0" }));
            run.stage.commit_slots("uuid-2", 1);
            run.settle().await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &[])]);
            run.stage.release("uuid-1");
            run.settle().await;
            run.assert_vms(&[("uuid-1", &[]), ("uuid-2", &["vm-1"])]);
            assert!(run.stage.status("uuid-1").used_resources.is_empty());
        }
        .boxed()
    }

    /// No read has succeeded for longer than the data may be used.
    pub fn table_away(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.process.vms.report_failure("connection refused");
            run.wait(3 * HOUR).await;
            run.stage.take_writes();
            run.stage.run_on(NODE1, &[]);
            run.stage.remove_row("vm-1");
            run.stage.edit_spec("uuid-1", &json!({ "amount": "960Gi" }));
            run.stage.accept("uuid-1");
            run.wait(HOUR).await;
            assert_eq!(run.stage.take_writes(), [""; 0]);
            run.assert_vms(&[("uuid-1", &["vm-1"])]);
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &[])]);
        }
        .boxed()
    }

    /// The table is read, but nothing was copied into it for two hours.
    pub fn table_old(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            run.stage.age = SignedDuration::from_hours(2);
            run.process.stage.age = run.stage.age;
            run.stage.run_on(NODE1, &[]);
            run.stage.remove_row("vm-1");
            run.process.publish();
            run.wait(MINUTE).await;
            run.stage.take_writes();
            run.process.publish();
            run.wait(HOUR).await;
            assert_eq!(run.stage.take_writes(), [""; 0]);
            run.assert_vms(&[("uuid-1", &["vm-1"])]);
            run.stage.age = SignedDuration::ZERO;
            run.process.stage.age = run.stage.age;
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &[])]);
        }
        .boxed()
    }

    /// Neither hosts nor commitments of a cluster that does not answer are gone.
    pub fn partial_cluster(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.commit_slots("uuid-1", 1);
            run.stage.start_vm("vm-1", FULL, 0);
            run.disturb();
            run.read_table().await;
            let home = ClusterName::home();
            let stores = run.process.world.stores.clone();
            run.stage.remove_row("vm-1");
            run.stage.take_writes();
            for away in [true, false] {
                let (why, other) = (Some("no route to host"), None);
                failing(&stores.commitments, &home, if away { why } else { other });
                failing(&stores.hypervisors, &home, if away { other } else { why });
                run.process.publish();
                run.wait(10 * MINUTE).await;
                assert_eq!(run.stage.take_writes(), [""; 0]);
                run.assert_vms(&[("uuid-1", &["vm-1"])]);
            }
            failing(&stores.hypervisors, &home, None);
            run.settle().await;
            run.assert_vms(&[("uuid-1", &[])]);
        }
        .boxed()
    }

    /// A clock that is two years ahead ends nothing, and moves no VM out of what it would have ended.
    pub fn wrong_clock(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let mut object = seeds::waiting_commitment("uuid-1", 1);
            object.spec.end_time = Some(Time(run.stage.clock.now() + SignedDuration::from_hours(24 * 365)));
            run.stage.commit(&object);
            run.stage.commit_slots("uuid-2", 1);
            run.stage.insert_row("vm-1", FULL, NODE1, 1);
            run.stage.run_on(NODE1, &["vm-1"]);
            run.disturb();
            run.read_table().await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &[])]);
            run.stage.clock.trust(false);
            run.stage.clock.step(SignedDuration::from_hours(24 * 730));
            run.stage.insert_row("vm-2", FULL, NODE1, 2);
            run.stage.run_on(NODE1, &["vm-1", "vm-2"]);
            run.process.publish();
            run.wait(MINUTE).await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &["vm-2"])]);
            run.stage.remove_row("vm-1");
            run.process.publish();
            run.wait(10 * MINUTE).await;
            run.assert_vms(&[("uuid-1", &["vm-1"]), ("uuid-2", &["vm-2"])]);
            run.stage.clock.step(SignedDuration::from_hours(-24 * 730));
            run.stage.clock.trust(true);
            run.process.publish();
            run.wait(2 * MINUTE).await;
            run.assert_vms(&[("uuid-1", &["vm-2"]), ("uuid-2", &[])]);
        }
        .boxed()
    }
}
