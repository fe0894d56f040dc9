//! Where the records of providers are.

use std::sync::Arc;

use crate::ProviderId;

/// Where a record is. It does not change while the provider is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

impl Slot {
    pub(super) fn new(place: usize) -> Self {
        Self(u32::try_from(place).unwrap_or(u32::MAX))
    }

    pub(crate) fn place(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A tree: its members in the order of creation.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub root: ProviderId,
    pub members: Arc<[(ProviderId, Slot)]>,
}

impl Tree {
    pub fn find(&self, id: ProviderId) -> Option<Slot> {
        let place = self.members.binary_search_by_key(&id, |member| member.0).ok()?;
        Some(self.members[place].1)
    }
}
