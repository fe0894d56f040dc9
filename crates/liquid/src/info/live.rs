//! The commitments that have not ended: their groups must not leave the service info, and their amounts must stay whole.

use std::collections::{BTreeMap, BTreeSet};

use berth_cluster::{InvalidEntry, Store};
use berth_core::commitment::{Phase, ResourceType, Spec, State};
use berth_core::liquid::units::{RamUnit, is_amount_whole};
use berth_core::{Bytes, GroupName};
use berth_crds::{CommittedResource, facts};
use jiff::Timestamp;

const BYTES_PER_GIB: u64 = 1 << 30;

/// The live commitments of all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveCommitments {
    groups: BTreeMap<GroupName, Amounts>,
    /// Commitments may exist that are not known: then any group may have some.
    is_partial: bool,
}

/// The amounts of the commitments of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Amounts {
    memory: BTreeSet<Bytes>,
    /// A commitment of the group does not decode.
    has_unreadable: bool,
}

impl LiveCommitments {
    /// Those that the store has. While the clock cannot be trusted, none is over because of its end.
    pub fn read(store: &Store<CommittedResource>, now: Option<Timestamp>) -> Self {
        let clusters = store.clusters();
        let is_partial = clusters.is_empty() || clusters.iter().any(|cluster| store.require_synced(cluster).is_err());
        let mut live = Self { is_partial, ..Self::default() };
        store.all().iter().for_each(|entry| live.add(&facts::spec(&entry.object), now));
        store.invalid_entries().iter().for_each(|entry| live.add_unreadable(entry));
        live
    }

    /// The same for these specs, all of which are known.
    pub fn of<'a>(specs: impl IntoIterator<Item = &'a Spec>, now: Option<Timestamp>) -> Self {
        let mut live = Self::default();
        specs.into_iter().for_each(|spec| live.add(spec, now));
        live
    }

    /// The same, while other commitments may exist.
    #[must_use]
    pub fn partial(self) -> Self {
        Self { is_partial: true, ..self }
    }

    fn add(&mut self, spec: &Spec, now: Option<Timestamp>) {
        if is_live(spec, now) {
            let amounts = self.groups.entry(spec.group.clone()).or_default();
            if spec.resource == ResourceType::Memory {
                amounts.memory.insert(spec.memory());
            }
        }
    }

    fn add_unreadable(&mut self, entry: &InvalidEntry) {
        match entry.raw["spec"]["flavorGroupName"].as_str() {
            Some(group) => self.groups.entry(group.into()).or_default().has_unreadable = true,
            None => self.is_partial = true,
        }
    }

    pub(super) fn may_be_in(&self, group: &GroupName) -> bool {
        self.is_partial || self.groups.contains_key(group)
    }

    /// Whether every amount that is a whole number of old units is, as far as is known, a whole number of new ones. Amounts that
    /// are fractional already were not sold by Limes.
    pub(super) fn stay_whole(&self, group: &GroupName, old: RamUnit, new: RamUnit) -> bool {
        if old == new {
            return true;
        }
        let stays = |memory: &Bytes| {
            let units = u64::try_from(memory.get()).unwrap_or_default() / BYTES_PER_GIB / old.in_gib();
            !old.is_whole(*memory) || is_amount_whole(units, old, new)
        };
        let amounts = self.groups.get(group);
        !self.is_partial && amounts.is_none_or(|amounts| !amounts.has_unreadable && amounts.memory.iter().all(stays))
    }
}

/// Planned ones count: Limes has them too.
fn is_live(spec: &Spec, now: Option<Timestamp>) -> bool {
    match now {
        Some(now) => !matches!(spec.phase(now), Phase::Ended(_)),
        None => !matches!(spec.state, State::Superseded | State::Expired),
    }
}
