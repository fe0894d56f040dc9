//! A request that changes commitments: from the queue to its outcome.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use berth_cluster::indexes::CHANGE_BY_ZONE;
use berth_cluster::{Event, EventKind, ObjectKey, WriteError, Writer};
use berth_core::commitment::Spec;
use berth_core::liquid::changes::{SpecChange, WriteOrder, order_writes};
use berth_core::text::escape_line;
use berth_core::{ClusterName, CommitmentUuid, Zone};
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, facts};
use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::{error, info, warn};

use super::admission::{Admitted, AdmittedItem};
use super::answer::Answer;
use super::proposed::DryRunVerdict;
use super::wait::{Deadline, Ended};
use super::{Asked, ChangeService, texts};
use crate::changes::{ItemOutcome, outcome};
use crate::queue::{Full, Turn};
use crate::refused::Refused;
use crate::rejection::describe_rejection;

/// Executions of one request: one more after a conflict.
const ATTEMPTS: u32 = 2;
/// How often a change is read whose creation had no answer. After that the API server is away.
const READS_IN_DOUBT: u32 = 30;
const READ_AGAIN: Duration = Duration::from_secs(1);
/// Characters of a note.
const NOTE: usize = 1000;

impl ChangeService {
    pub(super) async fn apply(&self, asked: &Asked) -> Answer {
        if let Err(obstacle) = self.check(asked) {
            return self.answer_obstacle(asked, obstacle);
        }
        let Ok(turn) = self.wait_for_turn(asked).await.map(Arc::new) else {
            return self.no_verdict(asked, texts::ZONE_BUSY.to_owned());
        };
        let deadline = self.deadline();
        for _ in 0..ATTEMPTS {
            if let Some(answer) = self.attempt(asked, &turn, deadline).await {
                return answer;
            }
            info!(greq = asked.global_id(), "a commitment was changed by another client during its change");
        }
        self.no_verdict(asked, texts::OVERTAKEN.to_owned())
    }

    /// The request is the first of its zone, and no other change of the zone is under way, for example one whose caller
    /// has gone away.
    async fn wait_for_turn(&self, asked: &Asked) -> Result<Turn<Zone>, Full> {
        let turn = self.queues.enter(&asked.request.zone).await?;
        let zone = asked.request.zone.as_str();
        let is_free = |changes: &berth_cluster::Store<CommitmentChange>| {
            changes.select(&CHANGE_BY_ZONE, zone).iter().all(|entry| !is_executed(entry.object.phase()))
        };
        timeout_at(turn.until(), self.context.changes.store().wait_until(is_free)).await.map_err(|_| Full)?;
        Ok(turn)
    }

    fn deadline(&self) -> Deadline {
        let (now, left) = (self.context.clock.now(), self.context.settings.watch_timeout);
        Deadline { instant: Instant::now() + left, time: now.checked_add(left).unwrap_or(Timestamp::MAX) }
    }

    /// Executes the request once; `None` after a conflict.
    async fn attempt(&self, asked: &Asked, turn: &Arc<Turn<Zone>>, deadline: Deadline) -> Option<Answer> {
        let admitted = match self.admit(asked) {
            Ok(admitted) => admitted,
            Err(obstacle) => return Some(self.answer_obstacle(asked, obstacle)),
        };
        if is_done(asked, &admitted) {
            return Some(Answer::Accepted);
        }
        if asked.requires_confirmation && self.context.settings.tries_first {
            match self.try_admitted(asked, &admitted).await {
                DryRunVerdict::Fits => {}
                DryRunVerdict::Rejected(rejected) => return Some(self.reject(asked, &admitted, &rejected)),
                DryRunVerdict::Undecided(uuid, why) => return Some(self.undecided(asked, &uuid, &why)),
            }
        }
        let Some(change) = self.journal(asked, &admitted, deadline.time).await else {
            return Some(Answer::refused(StatusCode::BAD_REQUEST, texts::TOO_LARGE));
        };
        self.carry_out(asked, &change, turn, deadline).await
    }

    /// Rejected before anything was written.
    fn reject(&self, asked: &Asked, admitted: &Admitted, rejected: &[(CommitmentUuid, String)]) -> Answer {
        let text = describe_rejection(rejected);
        info!(
            greq = asked.global_id(),
            zone = asked.request.zone.as_str(),
            commitments = admitted.items.len(),
            reason = escape_line(&text, NOTE),
            "change of commitments rejected before it began",
        );
        for item in &admitted.items {
            let Some(object) = &item.object else { continue };
            let event = Event {
                kind: EventKind::Warning,
                reason: "ChangeRejected".to_owned(),
                action: "ChangeCommitments".to_owned(),
                note: escape_line(&format!("request {}: {text}", asked.global_id()), NOTE),
            };
            self.context.events.publish(&item.key.cluster, &object.object_ref(&()), event);
        }
        self.rejected_for_now(text)
    }

    async fn carry_out(
        &self,
        asked: &Asked,
        change: &CommitmentChange,
        turn: &Arc<Turn<Zone>>,
        deadline: Deadline,
    ) -> Option<Answer> {
        let name = change.name_any();
        let caller = self.context.under_way.begin(&name);
        let Ok(created) = create_in_turn(self.context.changes.clone(), change.clone(), turn.clone()).await else {
            return Some(Refused::lost_leadership().into());
        };
        if let Err(error) = created {
            // One whose outcome is unknown may exist, and is then undone because its caller has gone away.
            if !matches!(error, WriteError::Unknown { .. } | WriteError::Malformed { .. }) {
                caller.forget();
            }
            return Some(not_created(asked, &error));
        }
        let ended = self.wait_for_end(&name, deadline).await;
        match ended {
            Ended::Accepted => Some(Answer::Accepted),
            Ended::Rejected(reason) => Some(self.rejected_for_now(reason)),
            Ended::Timeout(waiting) => Some(self.timed_out(asked, waiting)),
            Ended::Conflict => None,
            Ended::Stopped => Some(self.no_verdict(asked, texts::DELETED.to_owned())),
            Ended::Refused => Some(Answer::internal(&asked.id)),
            Ended::Unknown => Some(Answer::unavailable(texts::NOT_IN_TIME, 5)),
        }
    }

    fn timed_out(&self, asked: &Asked, waiting: usize) -> Answer {
        self.context.metrics.count_timeout(false);
        warn!(greq = asked.global_id(), waiting, "change of commitments timed out");
        if !asked.requires_confirmation {
            return Answer::unavailable(texts::NOT_IN_TIME, 5);
        }
        self.rejected_for_now(texts::timeout(self.context.settings.watch_timeout, waiting))
    }
}

/// Creates the object in a task of its own, which keeps the turn until it is known whether there is one: although its
/// caller has gone away meanwhile, the next request of the zone must wait for it. Without an answer the process ends.
fn create_in_turn(
    changes: Writer<CommitmentChange>,
    change: CommitmentChange,
    turn: Arc<Turn<Zone>>,
) -> oneshot::Receiver<Result<(), WriteError>> {
    let (sender, created) = oneshot::channel();
    tokio::spawn(async move {
        let key = ObjectKey::new(ClusterName::home(), change.name_any());
        let result = changes.create(&key.cluster, &change).await.map(drop);
        // The caller may be gone.
        let _ = sender.send(result);
        for _ in 0..READS_IN_DOUBT {
            if !changes.store().in_doubt(&key) || changes.settle(&key).await.is_ok() {
                break;
            }
            sleep(READ_AGAIN).await;
        }
        drop(turn);
    });
    created
}

/// Whether a change of the zone must end before the next one begins.
fn is_executed(phase: ChangePhase) -> bool {
    matches!(phase, ChangePhase::Pending | ChangePhase::Applying | ChangePhase::RollingBack)
}

/// Whether everything is as requested already, and was agreed to if that is asked for.
fn is_done(asked: &Asked, admitted: &Admitted) -> bool {
    let is_accepted = |item: &AdmittedItem| match (&item.object, &item.after) {
        (Some(object), Some(after)) => {
            outcome(object, &facts::spec_of(after), false, admitted.now) == ItemOutcome::Accepted
        }
        _ => false,
    };
    let specs: Vec<_> = admitted.items.iter().map(spec_change).collect();
    order_writes(&specs, admitted.now) == WriteOrder::default()
        && (!asked.requires_confirmation || admitted.items.iter().all(is_accepted))
}

fn spec_change(item: &AdmittedItem) -> SpecChange {
    let before: Option<Spec> = item.object.as_deref().map(facts::spec);
    SpecChange { before, after: item.after.as_ref().map(facts::spec_of) }
}

/// What the API server says is for the log only.
fn not_created(asked: &Asked, error: &WriteError) -> Answer {
    match error {
        WriteError::NotLeader { .. } => Refused::lost_leadership().into(),
        WriteError::Unavailable { .. } | WriteError::NotServed { .. } | WriteError::Unknown { .. } => {
            warn!(greq = asked.global_id(), %error, "change of commitments not begun");
            Answer::unavailable(texts::API_SERVER_AWAY, 5)
        }
        error => {
            error!(greq = asked.global_id(), %error, "change of commitments not begun");
            Answer::internal(&asked.id)
        }
    }
}
