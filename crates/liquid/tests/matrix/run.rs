//! One run of a case: the change from its beginning to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::testing::failing;
use berth_core::ClusterName;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, CommitmentState, CommittedResource, Reservation, facts, labels, names};
use berth_liquid::changes::UnderWay;
use berth_testkit::{Fault, Rule, path_of};
use jiff::SignedDuration;
use serde_json::json;

use crate::case::{Act, Case, Items};
use crate::stage::Stage;
use crate::support::*;

const MINUTE: Duration = Duration::from_secs(60);

pub struct Run<'c> {
    case: &'c Case,
    pub stage: Stage,
    /// `None` when the caller has gone away.
    caller: Option<UnderWay>,
    items: Items,
    /// The commitments of the change as they were before it, if they were there.
    before: BTreeMap<&'static str, Option<Picture>>,
    /// A caller has been answered that the change is accepted.
    is_promised: bool,
}

impl<'c> Run<'c> {
    /// The change is recorded, and nothing else has been done.
    pub async fn begin(case: &'c Case) -> Self {
        let stage = (case.start)().await;
        let items = (case.items)(&stage);
        let before = items.iter().map(|(uuid, _)| {
            let server = stage.server();
            (*uuid, exists(server, uuid).then(|| picture(server, uuid)))
        });
        let before = before.collect();
        let caller = Some(stage.process.begin(&items, case.requires_confirmation));
        Self { case, stage, caller, items, before, is_promised: false }
    }

    /// Everything that happens until the change is decided.
    pub async fn drive(&mut self, seed: u64) {
        let server = self.stage.server().clone();
        if let Some(meanwhile) = self.case.meanwhile
            && self.stage.process.settle_until(|| meanwhile.when.has_come(&server)).await
        {
            self.act(meanwhile.act, seed);
        }
        self.settle_for(MINUTE).await;
        self.stage.process.enqueue_all();
        self.settle_for(MINUTE).await;
        self.is_promised = self.is_promised || self.is_accepted_in_memory();
    }

    /// Reconciles for so long at most: while the zone is away there is no rest.
    async fn settle_for(&self, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        // Elapsed: what happens next does not depend on it.
        let _ = tokio::time::timeout(time, self.stage.process.settle()).await;
        tokio::time::sleep_until(until).await;
    }

    fn act(&mut self, act: Act, seed: u64) {
        let server = self.stage.server().clone();
        match act {
            Act::DeleteChange => {
                let delete = || server.delete::<CommitmentChange>(&names::commitment_change("a")).unwrap();
                self.stage.process.checker.act_as_user(delete);
            }
            Act::DropCaller => drop(self.caller.take()),
            Act::StepClock(hours) => self.stage.clock.step(SignedDuration::from_hours(hours)),
            Act::DistrustClock => self.stage.clock.trust(false),
            Act::TakeOver => self.end_process(seed),
            Act::Pause(uuid) => self.annotate(uuid, Some("true")),
            Act::LoseZone => {
                for path in [path_of::<CommittedResource>(""), path_of::<Reservation>("")] {
                    server.rule(Rule::new(Fault::CutBefore).path(path).always());
                }
                self.set_failing(Some("no route"));
            }
        }
    }

    /// What others have done is over.
    fn undo(&self) {
        match self.case.meanwhile.map(|meanwhile| meanwhile.act) {
            Some(Act::Pause(uuid)) => self.annotate(uuid, None),
            Some(Act::DistrustClock) => self.stage.clock.trust(true),
            Some(Act::LoseZone) => {
                self.stage.server().without(Fault::CutBefore);
                self.set_failing(None);
            }
            Some(Act::DeleteChange | Act::DropCaller | Act::StepClock(_) | Act::TakeOver) | None => {}
        }
    }

    fn annotate(&self, uuid: &str, value: Option<&str>) {
        let server = self.stage.server();
        let patch = json!({ "metadata": { "annotations": { labels::PAUSED: value } } });
        if exists(server, uuid) {
            let edit = || server.edit::<CommittedResource>(&names::commitment(uuid), &patch).unwrap();
            self.stage.process.checker.act_as_user(edit);
        }
    }

    fn set_failing(&self, why: Option<&str>) {
        let (stores, home) = (&self.stage.process.world.stores, ClusterName::home());
        failing(&stores.commitments, &home, why);
        failing(&stores.reservations, &home, why);
    }

    /// The process ends, and its successor takes over.
    pub fn end_process(&mut self, seed: u64) {
        self.is_promised = self.is_promised || self.is_accepted_in_memory();
        drop(self.caller.take());
        let (server, checker) = (self.stage.server().clone(), self.stage.process.checker.clone());
        server.answer_again();
        let clock = self.stage.process.clock.clone();
        self.stage.process = Process::start_after(&checker, &server, &clock, seed);
        self.stage.process.enqueue_all();
    }

    /// What the service would answer its caller from.
    fn is_accepted_in_memory(&self) -> bool {
        let key = home(&names::commitment_change("a"));
        let change = self.stage.process.world.stores.changes.get(&key);
        self.caller.is_some() && change.is_some_and(|change| change.phase() == ChangePhase::Accepted)
    }

    /// Everything is as usual again, and the change comes to its end.
    pub async fn finish(&mut self) {
        self.stage.server().heal();
        self.undo();
        self.stage.process.enqueue_all();
        self.stage.process.settle().await;
        self.stage.process.wait(WATCH_TIMEOUT).await;
        self.stage.process.wait(MINUTE).await;
        self.stage.process.settle_for_good().await;
    }

    /// All or nothing. Returns which of them.
    pub fn check(&self) -> ChangePhase {
        let phase = self.phase();
        match phase {
            ChangePhase::Accepted => self.check_accepted(),
            _ => self.check_rolled_back(),
        }
        phase
    }

    fn phase(&self) -> ChangePhase {
        let server = self.stage.server();
        let change: Option<CommitmentChange> = server.get(&names::commitment_change("a")).ok();
        if let Some(change) = change {
            assert!(!facts::is_open(&change), "{:?}", change.status);
            assert_finished(server, change.phase());
            return change.phase();
        }
        let is_in_force = self.items.iter().all(|(uuid, after)| match after {
            Some(after) => exists(server, uuid) && spec_of(server, uuid) == *after,
            None => !exists(server, uuid),
        });
        if is_in_force { ChangePhase::Accepted } else { ChangePhase::RolledBack }
    }

    /// Why it was rolled back, if nothing but its own rejection ends it.
    pub fn check_message(&self) {
        let found = self.stage.server().get::<CommitmentChange>(&names::commitment_change("a")).ok();
        let message = found.and_then(|change| change.status?.message).unwrap_or_default();
        assert!(message.contains(self.case.message), "{message}");
    }

    fn check_accepted(&self) {
        let server = self.stage.server();
        for (uuid, after) in &self.items {
            match after {
                Some(after) => {
                    assert_eq!(spec_of(server, uuid), *after);
                    let is_over = after.state == CommitmentState::Superseded;
                    assert!(!is_over || slots_of(server, uuid).is_empty(), "{uuid} has slots");
                }
                None => assert!(!exists(server, uuid) && slots_of(server, uuid).is_empty(), "{uuid}"),
            }
        }
        for (uuid, slots) in self.case.slots {
            assert_eq!(placed(server, uuid).len(), *slots, "slots of {uuid}");
        }
        (self.case.check)(&self.stage);
    }

    fn check_rolled_back(&self) {
        let server = self.stage.server();
        assert!(!self.is_promised, "its caller has been answered that it is accepted");
        for (uuid, before) in &self.before {
            match before {
                Some(before) if self.case.may_move => {
                    assert_eq!(picture(server, uuid).without_places(), before.clone().without_places());
                }
                Some(before) => assert_eq!(picture(server, uuid), *before),
                None => assert!(!exists(server, uuid) && slots_of(server, uuid).is_empty(), "{uuid}"),
            }
        }
        assert_eq!(placed(server, WAITING).len(), 0, "another commitment has what was given back");
    }
}

/// A failed run shows what was called.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.stage.server().calls().join("\n"));
        }
    }
}
