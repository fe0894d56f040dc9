//! The waiting list: slots without a host, oldest commitment first (U43). It remembers why the last try failed;
//! whether freed room fits is tried by its owner.

use std::{collections::BTreeMap, sync::Arc};

use berth_core::SlotKey;

use crate::{Rank, Shortage, SlotRequest};

#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingList {
    slots: BTreeMap<(Rank, SlotKey), (Arc<SlotRequest>, Shortage)>,
    ranks: BTreeMap<SlotKey, Rank>,
}

impl WaitingList {
    /// Enters a slot, or refreshes its request and counts.
    pub(crate) fn enter(&mut self, slot: &SlotRequest, shortage: Shortage) {
        self.leave(&slot.key);
        self.ranks.insert(slot.key.clone(), slot.rank.clone());
        self.slots.insert((slot.rank.clone(), slot.key.clone()), (Arc::new(slot.clone()), shortage));
    }

    pub(crate) fn leave(&mut self, key: &SlotKey) {
        if let Some(rank) = self.ranks.remove(key) {
            self.slots.remove(&(rank, key.clone()));
        }
    }

    pub(crate) fn has(&self, key: &SlotKey) -> bool {
        self.ranks.contains_key(key)
    }

    pub(crate) fn shortage(&self, key: &SlotKey) -> Option<&Shortage> {
        let rank = self.ranks.get(key)?;
        self.slots.get(&(rank.clone(), key.clone())).map(|(_, shortage)| shortage)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Arc<SlotRequest>, Shortage)> {
        self.slots.values()
    }
}
