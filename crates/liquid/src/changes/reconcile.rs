//! The controller: read, plan, apply, report, one step after the other until the change has to wait.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, Event, EventKind, Events, Guard, ObjectField, ObjectKey, Pauses, Reconciler, Right, Routes, Store, Verb,
    Watches, WriteError, Writer, Written,
};
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, CommitmentChangeStatus, CommittedResource, Reservation, facts, labels};
use berth_telemetry::clock::Clock;
use futures::future::join;
use jiff::Timestamp;
use kube::Resource as _;
use tracing::{info, warn};

use super::apply::Apply;
use super::error::Error;
use super::metrics::{ChangeMetrics, ChangeResult};
use super::read::{ChangedCommitment, Reader};
use super::retention::{changes_to_delete, time_left};
use super::status::{self, describe};
use super::under_way::ChangesUnderWay;
use super::{ChangeFacts, NextStep, RollBackReason, plan, watches};

/// Steps of one run; a change has fewer.
const MAX_STEPS: usize = 20;
/// Failed attempts to undo a change after which it is reported.
const MAX_FAILURES: u32 = 10;
/// A change that waits is reconciled again after this time, even without an event.
const RESYNC: Duration = Duration::from_secs(30);

/// A change whose commitments cannot be read tries again after this time, or at its deadline.
const UNREAD: Duration = Duration::from_secs(1);

/// The settings from the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// `changeRetention`: how long finished changes are kept; zero sets no limit.
    pub retention: Duration,
}

/// The dependencies of the controller.
pub struct Context {
    pub changes: Writer<CommitmentChange>,
    pub commitments: Writer<CommittedResource>,
    /// Slots, read only.
    pub reservations: Store<Reservation>,
    pub routes: Routes,
    pub pauses: Pauses,
    pub under_way: ChangesUnderWay,
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub metrics: ChangeMetrics,
    pub settings: Settings,
}

/// Applies changes of commitments, or undoes them.
pub struct ChangeController {
    context: Context,
}

impl Reconciler for ChangeController {
    const NAME: &'static str = "commitment-change";
    const OBJECT: ObjectField = ObjectField::Object;
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<CommitmentChange>(&[Verb::Get, Verb::Create, Verb::Patch, Verb::Delete])
                .because("Changes are recorded before they begin, and deleted when they are old."),
            Right::status::<CommitmentChange>(&[Verb::Patch]).because("How far a change is."),
            Right::events_about::<CommitmentChange>().because("Events about changes."),
            Right::kind::<CommittedResource>(&[Verb::Get, Verb::Create, Verb::Patch, Verb::Delete])
                .because("Limes creates, changes and deletes commitments."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        let (changes, commitments) = (self.context.changes.store(), self.context.commitments.store());
        watches::declare(watches, changes, commitments, &self.context.reservations);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.context.changes.store().keys()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        for _ in 0..MAX_STEPS {
            if self.context.changes.store().in_doubt(&key) {
                self.context.changes.settle(&key).await?;
            }
            let Some(change) = self.context.changes.store().get(&key) else {
                self.context.under_way.end(&key.name);
                return Ok(Action::AwaitChange);
            };
            let outcome = self.take_step(&key, &change).await;
            match outcome {
                Ok(Progress::Done) => {}
                Ok(Progress::Waits(action)) => return Ok(action),
                Err(error) => {
                    self.note_failure(&key, &change, &error).await?;
                    return Err(error);
                }
            }
        }
        Ok(Action::RequeueAfter(Duration::ZERO))
    }
}

/// What a step has led to.
enum Progress {
    /// The next step can follow.
    Done,
    Waits(Action),
}

impl ChangeController {
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    async fn take_step(&self, key: &ObjectKey, change: &Arc<CommitmentChange>) -> Result<Progress, Error> {
        let now = self.context.clock.now();
        let reader = Reader {
            commitments: self.context.commitments.store(),
            reservations: &self.context.reservations,
            pauses: &self.context.pauses,
            routes: &self.context.routes,
            now,
        };
        if !facts::is_open(change) {
            return self.clean_up(key, change, now).await;
        }
        if reader.is_given_up(change, reader.commitments) {
            warn!(change = %key.name, zone = change.spec.availability_zone, "the cluster of the change was given up");
            return self.write(key, change, status::given_up(change, now)).await;
        }
        let all = reader.commitments(change)?;
        self.settle(&all).await?;
        let all = reader.commitments(change)?;
        let progress = self.context.under_way.progress(&key.name);
        let facts = reader.facts(change, progress.as_ref(), &all);
        let apply = Apply {
            commitments: &self.context.commitments,
            under_way: &self.context.under_way,
            change,
            name: &key.name,
            all: &all,
        };
        match plan(&facts) {
            NextStep::Nothing => self.clean_up(key, change, now).await,
            NextStep::AwaitRead => {
                let left = Some(facts.left).filter(|left| !left.is_zero());
                Ok(Progress::Waits(Action::RequeueAfter(left.unwrap_or(UNREAD).min(UNREAD))))
            }
            NextStep::Begin(places) => self.begin(key, &apply, &places, now).await,
            NextStep::Write(places) => match apply.write(&places).await {
                Err(Error::Write(error)) if is_refused(&error) => {
                    let reason = RollBackReason::Refused(error.to_string());
                    self.roll_back(key, change, &facts, &reason, now).await
                }
                written => written.map(|()| Progress::Done),
            },
            NextStep::AwaitOutcomes(left) => Ok(Progress::Waits(Action::RequeueAfter(left))),
            NextStep::Accept { is_finished } => self.accept(key, change, &facts, is_finished, now).await,
            NextStep::AwaitHandover | NextStep::AwaitRestored => Ok(Progress::Waits(Action::RequeueAfter(RESYNC))),
            NextStep::Delete(places) | NextStep::Remove(places) => apply.delete(&places).await.map(|()| Progress::Done),
            NextStep::Fail(uuid) => {
                let why = format!("commitment {uuid} is paused; it is restored when the pause ends");
                self.write(key, change, status::failed(change, &why, now)).await
            }
            NextStep::RollBack(reason) => self.roll_back(key, change, &facts, &reason, now).await,
            NextStep::Restore(places) => apply.restore(&places).await.map(|()| Progress::Done),
            NextStep::Finish(phase) => self.finish(key, change, phase, now).await,
        }
    }

    /// Writes the first status and the first items at the same time.
    async fn begin(
        &self,
        key: &ObjectKey,
        apply: &Apply<'_>,
        places: &[usize],
        now: Timestamp,
    ) -> Result<Progress, Error> {
        let status = self.write(key, apply.change, status::begun(apply.change, now));
        let (begun, written) = join(status, apply.write(places)).await;
        match written {
            // It is refused again by the next step, which undoes the change.
            Err(Error::Write(error)) if is_refused(&error) => begun,
            written => written.and(begun),
        }
    }

    /// Reads commitments in doubt again before anything is decided about them.
    async fn settle(&self, all: &[ChangedCommitment]) -> Result<(), Error> {
        let is_changed = |key: &ObjectKey| all.iter().any(|one| one.key == *key);
        Ok(self.context.commitments.settle_doubts(is_changed).await?)
    }

    async fn accept(
        &self,
        key: &ObjectKey,
        change: &CommitmentChange,
        facts: &ChangeFacts,
        is_finished: bool,
        now: Timestamp,
    ) -> Result<Progress, Error> {
        let progress = self.write(key, change, status::accepted(change, facts, is_finished, now)).await?;
        self.context.metrics.decided(change, ChangeResult::Accepted, now);
        info!(change = %key.name, commitments = change.spec.items.len(), "change of commitments accepted");
        Ok(progress)
    }

    async fn roll_back(
        &self,
        key: &ObjectKey,
        change: &CommitmentChange,
        facts: &ChangeFacts,
        reason: &RollBackReason,
        now: Timestamp,
    ) -> Result<Progress, Error> {
        let progress = self.write(key, change, status::rolling_back(change, facts, reason, now)).await?;
        self.context.metrics.decided(change, ChangeResult::of(reason), now);
        info!(change = %key.name, reason = describe(reason, facts), "change of commitments is undone");
        Ok(progress)
    }

    async fn finish(
        &self,
        key: &ObjectKey,
        change: &CommitmentChange,
        phase: ChangePhase,
        now: Timestamp,
    ) -> Result<Progress, Error> {
        self.write(key, change, status::finished(change, phase, now)).await
    }

    async fn write(
        &self,
        key: &ObjectKey,
        old: &CommitmentChange,
        status: CommitmentChangeStatus,
    ) -> Result<Progress, Error> {
        let new = CommitmentChange { status: Some(status), ..old.clone() };
        match self.context.changes.patch_status(key, old, &new).await? {
            Written::Changed(_) | Written::Gone => Ok(Progress::Done),
            Written::Unchanged => Ok(Progress::Waits(Action::RequeueAfter(RESYNC))),
        }
    }

    /// A finished change needs no finalizer, and is deleted when it is old.
    async fn clean_up(
        &self,
        key: &ObjectKey,
        change: &Arc<CommitmentChange>,
        now: Timestamp,
    ) -> Result<Progress, Error> {
        self.context.under_way.end(&key.name);
        self.context.changes.remove_finalizer(key, change, labels::FINISH_CHANGE).await?;
        let store = self.context.changes.store();
        let old = changes_to_delete(store, (key, change), self.context.settings.retention, now);
        for old in &old {
            let Some(seen) = store.get(old) else { continue };
            let proof = store.require_complete(&old.cluster)?.proof();
            self.context.changes.delete(old, &seen, Guard::None, &proof).await?;
        }
        let left = time_left(change, self.context.settings.retention, now).filter(|left| !left.is_zero());
        Ok(Progress::Waits(Action::from_delay(left)))
    }

    /// After many failures the phase says so. The attempts go on.
    async fn note_failure(&self, key: &ObjectKey, change: &CommitmentChange, error: &Error) -> Result<(), Error> {
        if !change.phase().is_undoing() {
            return Ok(());
        }
        let failures = self.context.under_way.failed(&key.name);
        if failures < MAX_FAILURES || change.phase() == ChangePhase::Failed {
            return Ok(());
        }
        let now = self.context.clock.now();
        let new = CommitmentChange { status: Some(status::failed(change, &error.to_string(), now)), ..change.clone() };
        self.context.changes.patch_status(key, change, &new).await?;
        warn!(change = %key.name, %error, "a change of commitments cannot be undone; it is tried again");
        self.context.events.publish(
            &key.cluster,
            &change.object_ref(&()),
            Event {
                kind: EventKind::Warning,
                reason: "RollBackFailed".to_owned(),
                action: "RollBack".to_owned(),
                note: error.to_string(),
            },
        );
        Ok(())
    }
}

/// The API server will not take the object later either: a change is then undone as a whole.
fn is_refused(error: &WriteError) -> bool {
    matches!(error, WriteError::Elsewhere { .. } | WriteError::Refused { .. } | WriteError::Invalid { .. })
}
