//! Loads the rows of a command.

use std::collections::BTreeSet;

use berth_placement_model::loaded_rows::Consumer;
use berth_placement_model::{ClassName, Key, LoadedRows, ProviderId, ProviderState, ReadSet};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use super::rows::{self, HELD, Names, PROVIDER};
use crate::ledger::depth::Depth;

pub(super) fn load(connection: &Connection, read_set: &ReadSet, depth: Depth) -> Result<LoadedRows> {
    let mut rows = LoadedRows::default();
    let mut names = Names::default();
    let mut wanted = BTreeSet::new();
    for key in &read_set.consumers {
        if let Some(consumer) = consumer(connection, key, &mut names)? {
            wanted.extend(consumer.allocations.keys().map(|(provider, _)| *provider));
            rows.consumers.insert(key.clone(), consumer);
        }
    }
    wanted.extend(named(connection, read_set)?);
    for id in wanted {
        if let Some(state) = state(connection, id, depth, &mut names)? {
            rows.providers.insert(id, state);
        }
    }
    custom_names(connection, read_set, &mut rows)?;
    Ok(rows)
}

/// The providers that are named, and those of their trees.
fn named(connection: &Connection, read_set: &ReadSet) -> Result<BTreeSet<ProviderId>> {
    let mut found = BTreeSet::new();
    let mut by_uuid = connection.prepare_cached("SELECT id, root FROM providers WHERE uuid = ?1")?;
    let mut tree = connection.prepare_cached("SELECT id FROM providers WHERE root = ?1")?;
    for key in &read_set.providers {
        let ids = by_uuid.query_row([key.as_str()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).optional()?;
        let Some((id, root)) = ids else { continue };
        found.insert(ProviderId(id));
        if read_set.whole_trees {
            let members = tree.query_map([root], |row| row.get(0).map(ProviderId))?;
            members.map(|id| id.map(|id| found.insert(id))).collect::<Result<Vec<_>>>()?;
        }
    }
    let mut by_name = connection.prepare_cached("SELECT id FROM providers WHERE name = ?1")?;
    for name in &read_set.provider_names {
        found.extend(by_name.query_row([name], |row| row.get(0)).optional()?.map(ProviderId));
    }
    Ok(found)
}

pub(super) fn state(
    connection: &Connection,
    id: ProviderId,
    depth: Depth,
    names: &mut Names,
) -> Result<Option<ProviderState>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {PROVIDER} FROM providers WHERE id = ?1"))?;
    let Some(mut state) = statement.query_row([id.0], rows::provider).optional()? else { return Ok(None) };
    let mut statement = connection.prepare_cached(&format!("SELECT {HELD} FROM inventories WHERE provider = ?1"))?;
    let held = statement.query_map([id.0], |row| rows::held(row, 0, names))?;
    state.inventories = held.collect::<Result<_>>()?;
    if depth == Depth::Whole {
        let mut statement = connection.prepare_cached("SELECT trait FROM provider_traits WHERE provider = ?1")?;
        let traits = statement.query_map([id.0], |row| Ok(names.of_trait(row.get_ref(0)?.as_str()?)))?;
        state.traits = traits.collect::<Result<_>>()?;
        let mut statement = connection
            .prepare_cached("SELECT key, sent FROM provider_aggregates WHERE provider = ?1 ORDER BY position")?;
        state.aggregates = statement.query_map([id.0], |row| rows::aggregate(row, 0))?.collect::<Result<_>>()?;
    }
    Ok(Some(state))
}

fn consumer(connection: &Connection, key: &Key, names: &mut Names) -> Result<Option<Consumer>> {
    let mut statement =
        connection.prepare_cached("SELECT generation, project, user, kind FROM consumers WHERE uuid = ?1")?;
    let found = statement.query_row([key.as_str()], |row| {
        let allocations = std::collections::BTreeMap::new();
        Ok(Consumer {
            generation: row.get(0)?,
            project: row.get(1)?,
            user: row.get(2)?,
            kind: row.get(3)?,
            allocations,
        })
    });
    let Some(mut consumer) = found.optional()? else { return Ok(None) };
    let mut statement =
        connection.prepare_cached("SELECT provider, class, used FROM allocations WHERE consumer = ?1")?;
    let allocations = statement.query_map([key.as_str()], |row| {
        let class = names.class(row.get_ref(1)?.as_str()?);
        Ok(((ProviderId(row.get(0)?), class), rows::amount(row, 2)?))
    })?;
    consumer.allocations = allocations.collect::<Result<_>>()?;
    Ok(Some(consumer))
}

fn custom_names(connection: &Connection, read_set: &ReadSet, rows: &mut LoadedRows) -> Result<()> {
    let mut classes = read_set.classes.clone();
    if read_set.class_order {
        classes.extend(rows.providers.values().flat_map(|provider| provider.inventories.keys().cloned()));
    }
    for class in &classes {
        let mut statement = connection.prepare_cached("SELECT id FROM classes WHERE name = ?1")?;
        let id = statement.query_row([class.as_str()], |row| row.get(0)).optional()?;
        rows.classes.extend(id.map(|id: i64| (class.clone(), id)));
        let matters = read_set.uses && read_set.classes.contains(class);
        if matters && exists(connection, "SELECT 1 FROM inventories WHERE class = ?1 LIMIT 1", class.as_str())? {
            rows.used_classes.insert(class.clone());
        }
    }
    for one in &read_set.traits {
        if exists(connection, "SELECT 1 FROM traits WHERE name = ?1", one.as_str())? {
            rows.traits.insert(one.clone());
        }
        if read_set.uses && exists(connection, "SELECT 1 FROM provider_traits WHERE trait = ?1 LIMIT 1", one.as_str())?
        {
            rows.used_traits.insert(one.clone());
        }
    }
    Ok(())
}

fn exists(connection: &Connection, query: &str, name: &str) -> Result<bool> {
    connection.prepare_cached(query)?.exists(params![name])
}

pub(super) fn providers_with(connection: &Connection, class: &ClassName) -> Result<Vec<ProviderId>> {
    let mut statement = connection.prepare_cached("SELECT provider FROM inventories WHERE class = ?1")?;
    statement.query_map([class.as_str()], |row| row.get(0).map(ProviderId))?.collect()
}
