//! What a look at a commitment would do and say, without doing it: for people who ask why. The facts, the plan, the
//! decision and the report are those of a look; nothing is written.

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_crds::CommittedResource;
use berth_scheduler::Scheduler;

use crate::braking::unless_stopped;
use crate::facts::Facts;
use crate::hindrance::Hindrance;
use crate::plan::Decided;
use crate::reconcile::CommittedResourceController;
use crate::status::{Delays, Report, report, status};

/// What a look would do and say now.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The commitment.
    pub object: Arc<CommittedResource>,
    /// What the look rests on.
    pub facts: Facts,
    /// What it would do, with hosts for new slots.
    pub decided: Decided,
    /// The whole is refused: nothing of the plan is done.
    pub refused: bool,
    /// What it would say of the facts as they are, and when it would look again.
    pub report: Report,
    /// What it would say differs from what the object says.
    pub is_news: bool,
    /// The delays of the controller.
    pub delays: Delays,
}

impl<S: Scheduler> CommittedResourceController<S> {
    /// Looks at a commitment and does nothing about it; `None` when there is no readable one. The assume entries of the
    /// decision end with it.
    pub async fn foresee(&self, key: &ObjectKey) -> Option<Outlook> {
        let object = self.context.commitments.store().get(key)?;
        // What it takes of cores ends with the look.
        let _looking = self.context.cores.looking(key);
        let mut facts = self.reader().facts(key, &object);
        let decided = match self.decide(&mut facts, &self.request_id(&object)).await {
            Ok(decided) => self.counted(key, decided),
            Err(error) => Decided::hindered(Hindrance::Scheduler(error)),
        };
        // Its window begins empty here: what others have disturbed only the operator knows, and the mark on the object.
        let decided = unless_stopped(key, &facts, decided, &self.context.brake);
        self.context.scheduler.applied(&decided.assumed);
        let now = self.context.clock.now();
        let report = report(&facts, &decided, self.context.settings.delays, now);
        let said = |says| Some(status(&object, says, now)) == object.status;
        Some(Outlook {
            refused: decided.is_refused(&facts),
            is_news: report.says.as_ref().is_some_and(|says| !said(says)),
            delays: self.context.settings.delays,
            object,
            facts,
            decided,
            report,
        })
    }
}
