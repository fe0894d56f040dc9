//! Converts rows of SQLite into values of the model.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use berth_placement_model::provider::{Aggregate, Held};
use berth_placement_model::{ClassName, Inventory, Key, ProviderId, ProviderState, TraitName};
use rusqlite::{Result, Row};

use crate::ledger::times::timestamp;

/// The columns of a provider, in the order that [`provider`] reads.
pub(super) const PROVIDER: &str = "id, uuid, name, generation, parent, root, created_at, updated_at";
/// The columns of an inventory, in the order that [`held`] reads.
pub(super) const HELD: &str =
    "class, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used, created_at, updated_at";

/// Names that were read before.
#[derive(Default)]
pub(super) struct Names {
    classes: HashSet<ClassName>,
    traits: HashSet<TraitName>,
}

impl Names {
    pub fn class(&mut self, text: &str) -> ClassName {
        if let Some(known) = self.classes.get(text) {
            return known.clone();
        }
        let name = ClassName::new(text);
        self.classes.insert(name.clone());
        name
    }

    pub fn of_trait(&mut self, text: &str) -> TraitName {
        if let Some(known) = self.traits.get(text) {
            return known.clone();
        }
        let name = TraitName::new(text);
        self.traits.insert(name.clone());
        name
    }
}

pub(super) fn provider(row: &Row<'_>) -> Result<ProviderState> {
    Ok(ProviderState {
        id: ProviderId(row.get(0)?),
        uuid: key(row, 1)?,
        name: row.get(2)?,
        generation: row.get(3)?,
        parent: row.get::<_, Option<i64>>(4)?.map(ProviderId),
        root: ProviderId(row.get(5)?),
        created_at: timestamp(row.get(6)?),
        updated_at: row.get::<_, Option<i64>>(7)?.map(timestamp),
        inventories: BTreeMap::new(),
        traits: BTreeSet::new(),
        aggregates: Vec::new(),
    })
}

pub(super) fn held(row: &Row<'_>, first: usize, names: &mut Names) -> Result<(ClassName, Held)> {
    let inventory = Inventory {
        total: amount(row, first + 1)?,
        reserved: amount(row, first + 2)?,
        min_unit: amount(row, first + 3)?,
        max_unit: amount(row, first + 4)?,
        step_size: amount(row, first + 5)?,
        allocation_ratio: row.get(first + 6)?,
    };
    let held = Held {
        inventory,
        used: amount(row, first + 7)?,
        created_at: timestamp(row.get(first + 8)?),
        updated_at: row.get::<_, Option<i64>>(first + 9)?.map(timestamp),
    };
    Ok((names.class(row.get_ref(first)?.as_str()?), held))
}

/// An aggregate whose columns are its key and its spelling.
pub(super) fn aggregate(row: &Row<'_>, first: usize) -> Result<Aggregate> {
    Ok(Aggregate { key: key(row, first)?, sent: row.get(first + 1)? })
}

pub(super) fn key(row: &Row<'_>, column: usize) -> Result<Key> {
    Ok(Key::new(row.get_ref(column)?.as_str()?))
}

/// A number that is never negative: what else is in there counts as the largest, which never fits.
pub(super) fn amount(row: &Row<'_>, column: usize) -> Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(u64::MAX))
}

/// A number for the database; amounts are bounded far below.
pub(super) fn integer(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
