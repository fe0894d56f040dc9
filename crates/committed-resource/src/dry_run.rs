//! A dry run of the reconciliation of a commitment, for `berth explain`. Facts, plan, decision and report are those of
//! a reconciliation; nothing is written.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_crds::CommittedResource;
use berth_scheduler::Scheduler;

use crate::block_reason::BlockReason;
use crate::disruption::unless_stopped;
use crate::facts::CommitmentFacts;
use crate::plan::CommitmentDecision;
use crate::reconcile::CommittedResourceController;
use crate::status::{CommitmentReport, Delays, report, status};

/// The result of a dry run.
#[derive(Clone, Debug)]
pub struct CommitmentDryRun {
    pub object: Arc<CommittedResource>,
    pub facts: CommitmentFacts,
    /// The plan, with hosts for new slots.
    pub decided: CommitmentDecision,
    /// The whole is refused: nothing of the plan is done.
    pub refused: bool,
    /// The condition that follows from the present facts, and when to reconcile again.
    pub report: CommitmentReport,
    /// The condition differs from that of the object.
    pub is_change: bool,
    pub delays: Delays,
}

impl<S: Scheduler> CommittedResourceController<S> {
    /// Plans a commitment as a dry run; `None` when there is no readable one. The assume entries of the
    /// decision end with it.
    pub async fn dry_run(&self, key: &ObjectKey) -> Option<CommitmentDryRun> {
        let object = self.context.commitments.store().get(key)?;
        // Cores that the dry run takes are returned when it ends.
        let _looking = self.context.cores.start_reconciliation(key);
        let mut facts = self.reader().facts(key, &object);
        let decided = match self.decide(&mut facts, &self.request_id(&object)).await {
            Ok(decided) => self.counted(key, decided),
            Err(error) => CommitmentDecision::blocked(BlockReason::Scheduler(error)),
        };
        // The window is empty here: only the operator knows the disruptions of others, besides the condition of the
        // object.
        let (decided, _) = unless_stopped(key, &facts, decided, &self.context.disruption_limit);
        self.context.scheduler.applied(&decided.assumed);
        let now = self.context.clock.now();
        let report = report(&facts, &decided, self.context.settings.delays, now);
        // Another detail alone is no other condition.
        let reported = |ready| Some(status(&object, ready, Duration::MAX, now)) == object.status;
        Some(CommitmentDryRun {
            refused: decided.is_refused(&facts),
            is_change: report.ready.as_ref().is_some_and(|ready| !reported(ready)),
            delays: self.context.settings.delays,
            object,
            facts,
            decided,
            report,
        })
    }
}
