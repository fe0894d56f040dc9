//! Providers as one statement reads them, with everything that belongs to them in arrays, so that each reader sees one
//! state.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::provider::{Aggregate, Held};
use berth_placement_model::{ClassName, Inventory, Key, ProviderId, ProviderState, TraitName};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::ledger::depth::Depth;
use crate::ledger::times::timestamp;

/// Columns of a provider, its inventories, its traits and aggregates, in the order that [`state`] reads.
const PROVIDER: &str = "p.id, p.uuid, p.name, p.generation, p.parent, p.root, p.created_at, p.updated_at";
const HELD: &str = "i.class, i.total, i.reserved, i.min_unit, i.max_unit, i.step_size, i.allocation_ratio, i.used, \
     i.created_at, i.updated_at";
const BELONGINGS: &str = "t.trait, a.key, a.sent";
const JOIN_HELD: &str = "LEFT JOIN LATERAL (SELECT array_agg(class) AS class, array_agg(total) AS total, \
     array_agg(reserved) AS reserved, array_agg(min_unit) AS min_unit, array_agg(max_unit) AS max_unit, \
     array_agg(step_size) AS step_size, array_agg(allocation_ratio) AS allocation_ratio, array_agg(used) AS used, \
     array_agg(created_at) AS created_at, array_agg(updated_at) AS updated_at \
     FROM inventories WHERE provider = p.id) i ON true";
const JOIN_BELONGINGS: &str = "LEFT JOIN LATERAL (SELECT array_agg(trait) AS trait FROM provider_traits \
     WHERE provider = p.id) t ON true \
     LEFT JOIN LATERAL (SELECT array_agg(key ORDER BY position) AS key, array_agg(sent ORDER BY position) AS sent \
     FROM provider_aggregates WHERE provider = p.id) a ON true";

pub(super) fn columns(depth: Depth) -> String {
    match depth {
        Depth::Amounts => format!("{PROVIDER}, {HELD}"),
        Depth::Whole => format!("{PROVIDER}, {HELD}, {BELONGINGS}"),
    }
}

/// The tables of these columns, besides `providers AS p`.
pub(super) fn joins(depth: Depth) -> String {
    match depth {
        Depth::Amounts => JOIN_HELD.to_owned(),
        Depth::Whole => format!("{JOIN_HELD} {JOIN_BELONGINGS}"),
    }
}

/// The provider of a row whose columns of the state begin at `first`; `None` if there is none.
pub(super) fn state(row: &PgRow, first: usize, depth: Depth) -> Result<Option<ProviderState>, sqlx::Error> {
    let Some(id) = row.try_get::<Option<i64>, _>(first)? else { return Ok(None) };
    let mut state = ProviderState {
        id: ProviderId(id),
        uuid: Key::new(row.try_get(first + 1)?),
        name: row.try_get(first + 2)?,
        generation: row.try_get(first + 3)?,
        parent: row.try_get::<Option<i64>, _>(first + 4)?.map(ProviderId),
        root: ProviderId(row.try_get(first + 5)?),
        created_at: timestamp(row.try_get(first + 6)?),
        updated_at: row.try_get::<Option<i64>, _>(first + 7)?.map(timestamp),
        inventories: inventories(row, first + 8)?,
        traits: BTreeSet::new(),
        aggregates: Vec::new(),
    };
    if depth == Depth::Whole {
        let traits: Vec<String> = array(row, first + 18)?;
        state.traits = traits.iter().map(|name| TraitName::new(name)).collect();
        let (keys, sent): (Vec<String>, Vec<String>) = (array(row, first + 19)?, array(row, first + 20)?);
        let aggregate = |(key, sent): (String, String)| Aggregate { key: Key::new(&key), sent };
        state.aggregates = keys.into_iter().zip(sent).map(aggregate).collect();
    }
    Ok(Some(state))
}

fn array<T>(row: &PgRow, column: usize) -> Result<Vec<T>, sqlx::Error>
where
    Vec<T>: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    Ok(row.try_get::<Option<Vec<T>>, _>(column)?.unwrap_or_default())
}

fn inventories(row: &PgRow, first: usize) -> Result<BTreeMap<ClassName, Held>, sqlx::Error> {
    let classes: Vec<String> = array(row, first)?;
    let numbers = |offset| array::<i64>(row, first + offset);
    let [total, reserved, min_unit, max_unit, step_size] =
        [numbers(1)?, numbers(2)?, numbers(3)?, numbers(4)?, numbers(5)?];
    let ratio: Vec<f64> = array(row, first + 6)?;
    let (used, created_at, updated_at) = (numbers(7)?, numbers(8)?, array::<Option<i64>>(row, first + 9)?);
    let held = |(index, class): (usize, String)| {
        let inventory = Inventory {
            total: amount(total[index]),
            reserved: amount(reserved[index]),
            min_unit: amount(min_unit[index]),
            max_unit: amount(max_unit[index]),
            step_size: amount(step_size[index]),
            allocation_ratio: ratio[index],
        };
        let times = (timestamp(created_at[index]), updated_at[index].map(timestamp));
        let held = Held { inventory, used: amount(used[index]), created_at: times.0, updated_at: times.1 };
        (ClassName::new(&class), held)
    };
    Ok(classes.into_iter().enumerate().map(held).collect())
}

/// A number that is never negative: what else is in there counts as the largest, which never fits.
pub(super) fn amount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A number for the database; amounts are bounded far below.
pub(super) fn integer(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
