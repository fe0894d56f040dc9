//! The scenarios of the syncer, each without a fault, with a process that ends before and after every write, and with seeds
//! for the order of comparisons and for faults of the API server.

use std::time::Duration;

use berth_crds::{CommitmentState, labels, testing};
use berth_openstack::limes::ListedCommitment;
use berth_testkit::scenarios::{Disturbance, ScenarioRun};
use berth_testkit::{Server, scenarios};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use crate::support::limes::{Failure, listed};
use crate::support::{HOUR, Process, QUIET, Stage, time};

const MINUTE: Duration = Duration::from_secs(60);

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

    /// One run and all comparisons. Whether the process has ended meanwhile and its successor has done it.
    async fn sync(&mut self) -> bool {
        let work = self.process.sync().boxed();
        let has_ended = self.disturbance.interrupt(&self.stage.server, work).await.is_none();
        if has_ended {
            self.process = Process::start(&self.stage);
            self.process.sync().boxed().await;
        }
        has_ended
    }

    /// So many runs by the same process, an hour after each other.
    async fn sync_times(&mut self, times: usize) {
        let mut done = 0;
        while done < times {
            done = if self.sync().await { 1 } else { done + 1 };
            self.wait(HOUR).await;
        }
    }

    fn restart(&mut self) {
        self.stage.server.answer_again();
        self.process = Process::start(&self.stage);
    }

    async fn wait(&self, time: Duration) {
        self.process.wait(time).await;
    }

    fn amounts(&self, uuids: &[&str]) -> Vec<String> {
        uuids.iter().map(|uuid| self.stage.amount(uuid).unwrap_or_else(|| "none".to_owned())).collect()
    }

    fn is_deleted(&self, uuid: &str) -> bool {
        self.stage.commitment(uuid).is_none_or(|object| object.metadata.deletion_timestamp.is_some())
    }

    /// Both sides have these commitments of 32 GiB in `p-0`, and have agreed on them for a day.
    async fn agree(&mut self, uuids: &[String]) {
        self.stage.limes.set("p-0", uuids.iter().map(|uuid| listed(uuid, 32)).collect());
        self.process.sync().await;
        self.wait(24 * HOUR).await;
    }
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("c-{number:05}")).collect()
}

impl ScenarioRun for Run {
    fn begin(disturbance: Disturbance) -> Self {
        let stage = Stage::new(4);
        let process = Process::start_ordered(&stage, disturbance.seed());
        Self { stage, process, disturbance }
    }

    fn server(&self) -> &Server {
        &self.stage.server
    }

    /// One more run of an undisturbed process writes nothing.
    async fn finish(&mut self) {
        self.stage.server.heal();
        self.process.retry().await;
        self.wait(HOUR).await;
        self.process.sync().await;
        self.stage.take_writes();
        self.wait(HOUR).await;
        self.process.sync().await;
        assert_eq!(self.stage.take_writes(), [""; 0], "nothing is left to do");
    }
}

scenarios! {
    Run, all:
    first_run
    nothing_new
    missed_change
    change_during_fetch
    change_between_our_answer_and_limes_commit
    limes_rolls_back
    transfer_during_fetch
    empty_limes
    half_of_limes
    keystone_away_at_start
    group_missing_for_an_hour
    ended_everywhere
    left_over_never_listed
    wrong_clock
}

mod all {
    use super::*;

    pub fn first_run(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let planned = ListedCommitment { status: "planned".to_owned(), ..listed("c-00002", 16) };
            run.stage.limes.set("p-0", vec![listed("c-00001", 32), planned]);
            run.stage.limes.set("p-1", vec![listed("c-00003", 64)]);
            run.disturb();
            run.sync().await;
            assert_eq!(run.amounts(&["c-00001", "c-00002", "c-00003"]), ["32Gi", "0", "64Gi"]);
        }
        .boxed()
    }

    pub fn nothing_new(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(3)).await;
            run.disturb();
            run.stage.take_writes();
            run.sync_times(3).await;
            assert_eq!(run.stage.take_writes(), [""; 0]);
        }
        .boxed()
    }

    pub fn missed_change(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(4)).await;
            let mut all: Vec<_> = many(4).iter().map(|uuid| listed(uuid, 32)).collect();
            (all[0].amount, all[1].status) = (64, "superseded".to_owned());
            let moved = all.remove(2);
            run.stage.limes.set("p-0", all);
            run.stage.limes.set("p-1", vec![moved, listed("c-00009", 8)]);
            run.disturb();
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000", "c-00001", "c-00002", "c-00009"]), ["64Gi", "0", "32Gi", "8Gi"]);
            assert_eq!(run.stage.state("c-00001"), Some(CommitmentState::Superseded));
            assert_eq!(run.stage.commitment("c-00002").unwrap().spec.project_id, "p-1");
        }
        .boxed()
    }

    /// Its project was read before a change wrote it, and others are still being read.
    pub fn change_during_fetch(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(2)).await;
            let stage = run.stage.clone();
            run.stage.limes.meanwhile("p-3", move || {
                stage.edit("c-00000", &json!({ "spec": { "amount": "96Gi" } }));
                stage.server.create(&testing::commitment("c-00007", "8Gi")).unwrap();
            });
            run.disturb();
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000", "c-00007"]), ["96Gi", "8Gi"]);
            let mut now: Vec<_> = many(2).iter().map(|uuid| listed(uuid, 32)).collect();
            now[0].amount = 96;
            now.push(listed("c-00007", 8));
            run.stage.limes.set("p-0", now);
        }
        .boxed()
    }

    /// Limes commits after our answer: until then it lists what was before.
    pub fn change_between_our_answer_and_limes_commit(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(2)).await;
            run.stage.open_change("a", "c-00000");
            run.stage.edit("c-00000", &json!({ "spec": { "amount": "96Gi" } }));
            run.wait(MINUTE).await;
            run.disturb();
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000"]), ["96Gi"], "the change is open");
            run.stage.finish_change("a");
            run.wait(QUIET / 2).await;
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000"]), ["96Gi"], "it has ended a minute before");
            let mut all: Vec<_> = many(2).iter().map(|uuid| listed(uuid, 32)).collect();
            all[0].amount = 96;
            run.stage.limes.set("p-0", all);
            run.wait(HOUR).await;
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000"]), ["96Gi"]);
        }
        .boxed()
    }

    /// Its transaction fails after our answer.
    pub fn limes_rolls_back(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(2)).await;
            run.stage.open_change("a", "c-00000");
            run.stage.edit("c-00000", &json!({ "spec": { "amount": "96Gi" } }));
            run.stage.finish_change("a");
            run.wait(QUIET + MINUTE).await;
            run.disturb();
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000"]), ["32Gi"]);
        }
        .boxed()
    }

    /// It leaves one project after that was read, or enters one before that is read.
    pub fn transfer_during_fetch(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.ends_stale = true;
            run.restart();
            run.agree(&many(20)).await;
            let rest: Vec<_> = many(20).iter().skip(1).map(|uuid| listed(uuid, 32)).collect();
            let (limes, moved) = (run.stage.limes.clone(), listed("c-00000", 32));
            run.stage.limes.meanwhile("p-3", move || limes.set("p-3", vec![moved]));
            run.disturb();
            run.sync().await;
            assert_eq!(run.stage.commitment("c-00000").unwrap().spec.project_id, "p-0", "in both projects");
            run.stage.limes.set("p-0", rest.clone());
            run.stage.limes.set("p-3", Vec::new());
            run.wait(HOUR).await;
            run.sync().await;
            assert_eq!(run.stage.state("c-00000"), Some(CommitmentState::Confirmed), "in neither project");
            run.stage.limes.set("p-0", rest);
            run.stage.limes.set("p-3", vec![listed("c-00000", 32)]);
            run.wait(HOUR).await;
            run.sync().await;
            assert_eq!(run.stage.commitment("c-00000").unwrap().spec.project_id, "p-3");
        }
        .boxed()
    }

    pub fn empty_limes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.ends_stale = true;
            run.restart();
            run.agree(&many(3)).await;
            run.stage.create_by_change("c-00009", "32Gi");
            run.stage.limes.remove_all();
            run.disturb();
            run.stage.take_writes();
            run.sync_times(5).await;
            run.stage.limes.remove_projects();
            run.sync_times(5).await;
            assert_eq!(run.stage.take_writes(), [""; 0]);
        }
        .boxed()
    }

    pub fn half_of_limes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.ends_stale = true;
            run.restart();
            run.agree(&many(3)).await;
            run.stage.limes.set("p-1", vec![listed("c-00009", 8)]);
            run.stage.limes.fail("p-0", Some(Failure::Internal));
            run.disturb();
            run.sync_times(5).await;
            assert_eq!(run.amounts(&["c-00000", "c-00001", "c-00002", "c-00009"]), ["32Gi", "32Gi", "32Gi", "8Gi"]);
            run.stage.limes.fail("p-0", Some(Failure::Unknown));
            run.sync_times(5).await;
            assert_eq!(run.amounts(&["c-00000", "c-00001", "c-00002"]), ["32Gi", "32Gi", "32Gi"]);
            run.stage.limes.fail("p-0", None);
        }
        .boxed()
    }

    pub fn keystone_away_at_start(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.limes.set("p-0", vec![listed("c-00001", 32)]);
            run.stage.limes.fail_keystone(Some(Failure::Internal));
            run.disturb();
            run.sync_times(3).await;
            assert_eq!(run.amounts(&["c-00001"]), ["none"]);
            run.stage.limes.fail_keystone(None);
            run.sync().await;
            assert_eq!(run.amounts(&["c-00001"]), ["32Gi"]);
        }
        .boxed()
    }

    pub fn group_missing_for_an_hour(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.stage.ends_stale = true;
            run.restart();
            run.agree(&many(3)).await;
            run.stage.set_groups(false);
            run.stage.limes.set("p-1", vec![listed("c-00009", 8)]);
            run.disturb();
            run.sync_times(4).await;
            assert_eq!(run.amounts(&["c-00000", "c-00001", "c-00002", "c-00009"]), ["32Gi", "32Gi", "32Gi", "none"]);
            run.stage.set_groups(true);
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000", "c-00009"]), ["32Gi", "8Gi"]);
        }
        .boxed()
    }

    pub fn ended_everywhere(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let mut all: Vec<_> = many(3).iter().map(|uuid| listed(uuid, 32)).collect();
            all[0].expires_at = Some(time("2026-03-02T00:00:00Z"));
            run.stage.limes.set("p-0", all.clone());
            run.process.sync().await;
            run.wait(24 * HOUR).await;
            run.stage.limes.set("p-0", all.split_off(1));
            run.stage.limes.fail("p-3", Some(Failure::Unknown));
            run.disturb();
            run.sync_times(2).await;
            assert!(!run.is_deleted("c-00000"), "the view is incomplete");
            run.stage.limes.fail("p-3", None);
            run.sync().await;
            assert!(run.is_deleted("c-00000") && !run.is_deleted("c-00001"));
        }
        .boxed()
    }

    /// A change has created it, and Limes has undone its part of the change.
    pub fn left_over_never_listed(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.agree(&many(30)).await;
            run.stage.create_by_change("c-00099", "32Gi");
            run.stage.limes.set("p-0", many(29).iter().map(|uuid| listed(uuid, 32)).collect());
            run.wait(HOUR).await;
            run.disturb();
            run.sync_times(2).await;
            assert_eq!(run.amounts(&["c-00099"]), ["32Gi"]);
            run.sync_times(3).await;
            assert_eq!(run.stage.state("c-00099"), Some(CommitmentState::Superseded));
            assert_eq!(run.amounts(&["c-00099", "c-00029"]), ["0", "32Gi"], "what Limes has listed before stays");
            let object = run.stage.commitment("c-00099").unwrap();
            assert!(object.metadata.annotations.unwrap().contains_key(labels::NOT_YET_LISTED));
        }
        .boxed()
    }

    pub fn wrong_clock(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let mut all: Vec<_> = many(3).iter().map(|uuid| listed(uuid, 32)).collect();
            all[0].expires_at = Some(time("2027-03-02T00:00:00Z"));
            run.stage.limes.set("p-0", all);
            run.process.sync().await;
            run.stage.clock.trust(false);
            run.stage.clock.step(jiff::SignedDuration::from_hours(24 * 700));
            run.stage.limes.set("p-1", vec![listed("c-00009", 8)]);
            run.disturb();
            run.stage.take_writes();
            run.wait(HOUR).await;
            run.sync_times(2).await;
            assert_eq!(run.stage.take_writes(), [""; 0]);
            run.stage.clock.step(jiff::SignedDuration::from_hours(-24 * 700));
            run.stage.clock.trust(true);
            run.process.wait(MINUTE).await;
            run.sync().await;
            assert_eq!(run.amounts(&["c-00000", "c-00009"]), ["32Gi", "8Gi"]);
        }
        .boxed()
    }
}
