//! Dry runs: whether a change would fit, without any object.

use berth_core::CommitmentUuid;
use tracing::warn;

use super::admission::Admitted;
use super::answer::Answer;
use super::proposed::{DryRunVerdict, ProposedSpec};
use super::{Asked, ChangeService, texts};

impl ChangeService {
    /// Answers a request that only asks.
    pub(super) async fn try_only(&self, asked: &Asked) -> Answer {
        let admitted = match self.admit(asked) {
            Ok(admitted) => admitted,
            Err(obstacle) => return self.answer_obstacle(asked, obstacle),
        };
        match self.try_admitted(asked, &admitted).await {
            DryRunVerdict::Fits => Answer::Accepted,
            DryRunVerdict::Rejected(rejected) => {
                let id = texts::short_id(&asked.id, &self.context.ids.fresh().simple().to_string());
                let number = |uuid: &CommitmentUuid| admitted.items.iter().position(|item| item.uuid == *uuid);
                let probes: Vec<_> =
                    rejected.into_iter().map(|(uuid, why)| (number(&uuid).unwrap_or_default(), why)).collect();
                self.rejected_for_now(texts::dry_run_rejection(&id, &probes))
            }
            DryRunVerdict::Undecided(uuid, why) => self.undecided(asked, &uuid, &why),
        }
    }

    pub(super) async fn try_admitted(&self, asked: &Asked, admitted: &Admitted) -> DryRunVerdict {
        let proposed = admitted.items.iter().map(|item| ProposedSpec {
            key: item.key.clone(),
            uuid: item.uuid.clone(),
            object: item.object.clone(),
            after: item.after.clone(),
        });
        let proposed: Vec<_> = proposed.collect();
        if proposed.is_empty() {
            return DryRunVerdict::Fits;
        }
        self.context.dry_run.dry_run(proposed, &asked.global_id()).await
    }

    /// What the scheduler waits for may name hosts and projects of others, so it is only logged.
    pub(super) fn undecided(&self, asked: &Asked, uuid: &CommitmentUuid, why: &str) -> Answer {
        warn!(greq = asked.global_id(), commitment = %uuid, why, "change of commitments cannot be decided now");
        let text = texts::waits(uuid, &format!("its capacity is not fully known, request id {}", asked.id));
        self.no_verdict(asked, text)
    }
}
