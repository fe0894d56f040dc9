//! What is known of a commitment: the look that the operator would have at it, and those at its slots.

use berth_cluster::ObjectKey;
use berth_committed_resource::Outlook;
use berth_core::slot::{self, Slot};
use jiff::Timestamp;

use crate::commands::foreseeing::Foresight;
use crate::commands::slot_facts::SlotFacts;

/// Everything about one commitment.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) now: Timestamp,
    pub(super) outlook: Outlook,
    /// Its slots in all clusters, in the order of their numbers.
    pub(super) slots: Vec<SlotFacts>,
}

impl Facts {
    pub(super) async fn gather(foresight: &Foresight, key: &ObjectKey) -> Option<Self> {
        let outlook = foresight.controllers.commitments().foresee(key).await?;
        let of_cluster = |(cluster, holding): (_, &berth_committed_resource::Holding)| -> Vec<SlotFacts> {
            let keys = holding.slots.iter().map(|slot| ObjectKey::new(Clone::clone(cluster), slot.name.as_str()));
            keys.filter_map(|key| foresight.slot(&key)).collect()
        };
        let mut slots: Vec<SlotFacts> = outlook.facts.holdings.iter().flat_map(of_cluster).collect();
        let prefix = outlook.facts.prefix();
        slots.sort_by_cached_key(|one| (slot::number(&one.outlook.facts.slot.name, &prefix), one.key.clone()));
        Some(Self { now: foresight.now, outlook, slots })
    }

    /// How many of its slots are in force.
    pub(super) fn in_force(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_in_force()).count()
    }

    /// How many of those are in force that the plan keeps.
    pub(super) fn staying_in_force(&self) -> usize {
        let plan = &self.outlook.decided.plan;
        if plan.slots.kept == 0 {
            return 0;
        }
        let (cluster, gone) = (plan.cluster(), plan.slots.gone());
        let is_gone = |slot: &Slot| slot.terminating || gone.contains(&slot.name);
        let stays = |slot: &&SlotFacts| slot.key.cluster == cluster && !is_gone(&slot.outlook.facts.slot);
        self.slots.iter().filter(stays).filter(|slot| slot.is_in_force()).count()
    }

    /// Its finalizers that are not ours.
    pub(super) fn foreign_finalizers(&self) -> Vec<String> {
        let all = self.outlook.object.metadata.finalizers.iter().flatten();
        all.filter(|finalizer| *finalizer != berth_crds::labels::RELEASE_SLOTS).cloned().collect()
    }
}
