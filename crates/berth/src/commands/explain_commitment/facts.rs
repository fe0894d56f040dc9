//! Gathers what `berth explain commitment` shows: a dry run of the commitment and of its slots.

use berth_cluster::ObjectKey;
use berth_committed_resource::CommitmentDryRun;
use berth_core::slot::{self, Slot};
use jiff::Timestamp;

use crate::commands::dry_run::OperatorDryRun;
use crate::commands::leader::AskedOperator;
use crate::commands::slot_facts::SlotFacts;

/// Everything about one commitment.
#[derive(Clone, Debug)]
pub(super) struct ExplainedCommitment {
    pub(super) now: Timestamp,
    pub(super) dry_run: CommitmentDryRun,
    /// Its slots in all clusters, in the order of their numbers.
    pub(super) slots: Vec<SlotFacts>,
    pub(super) asked: AskedOperator,
}

impl ExplainedCommitment {
    pub(super) async fn gather(operator: &OperatorDryRun, key: &ObjectKey) -> Option<Self> {
        let dry_run = operator.controllers.commitments().dry_run(key).await?;
        let of_cluster = |(cluster, holding): (_, &berth_committed_resource::Holding)| -> Vec<SlotFacts> {
            let keys = holding.slots.iter().map(|slot| ObjectKey::new(Clone::clone(cluster), slot.name.as_str()));
            keys.filter_map(|key| operator.slot(&key)).collect()
        };
        let mut slots: Vec<SlotFacts> = dry_run.facts.holdings.iter().flat_map(of_cluster).collect();
        let prefix = dry_run.facts.prefix();
        slots.sort_by_cached_key(|one| (slot::number(&one.dry_run.facts.slot.name, &prefix), one.key.clone()));
        Some(Self { now: operator.now, dry_run, slots, asked: operator.asked.clone() })
    }

    /// How many of its slots are in force.
    pub(super) fn in_force(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_in_force()).count()
    }

    /// How many of those are in force that the plan keeps.
    pub(super) fn staying_in_force(&self) -> usize {
        let plan = &self.dry_run.decided.plan;
        if plan.slots.kept == 0 {
            return 0;
        }
        let (cluster, gone) = (plan.cluster(), plan.slots.gone());
        let is_gone = |slot: &Slot| slot.terminating || gone.contains(&slot.name);
        let stays = |slot: &&SlotFacts| slot.key.cluster == cluster && !is_gone(&slot.dry_run.facts.slot);
        self.slots.iter().filter(stays).filter(|slot| slot.is_in_force()).count()
    }

    pub(super) fn foreign_finalizers(&self) -> Vec<String> {
        let all = self.dry_run.object.metadata.finalizers.iter().flatten();
        all.filter(|finalizer| *finalizer != berth_crds::labels::RELEASE_SLOTS).cloned().collect()
    }
}
