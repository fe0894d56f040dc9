//! Reads a whole database into a model.

use std::iter::Peekable;

use berth_placement_model::{ClassName, ProviderId, TraitName};
use rusqlite::{Connection, Result, Row, Statement};

use super::rows::{self, HELD, Names, PROVIDER};
use crate::ledger::contents::{Contents, CustomClass, CustomNames};
use crate::ledger::times::timestamp;

/// Everything, of the state that the connection sees; the caller sees to it that this is one.
pub(super) fn contents(connection: &Connection) -> Result<Contents> {
    const AGGREGATES: &str = "SELECT provider, key, sent FROM provider_aggregates ORDER BY provider, position";
    let mut names = Names::default();
    let mut providers = connection.prepare(&format!("SELECT {PROVIDER} FROM providers ORDER BY id"))?;
    let providers = providers.query_map([], rows::provider)?;
    let mut providers = providers.collect::<Result<Vec<_>>>()?;

    let mut statement = connection.prepare(&format!("SELECT provider, {HELD} FROM inventories ORDER BY provider"))?;
    let mut held = joined(&mut statement, |row| rows::held(row, 1, &mut names))?;
    for provider in &mut providers {
        provider.inventories = of(&mut held, provider.id)?;
    }
    drop(held);
    let mut statement = connection.prepare("SELECT provider, trait FROM provider_traits ORDER BY provider")?;
    let mut traits = joined(&mut statement, |row| Ok(names.of_trait(row.get_ref(1)?.as_str()?)))?;
    for provider in &mut providers {
        provider.traits = of(&mut traits, provider.id)?;
    }
    drop(traits);
    let mut statement = connection.prepare(AGGREGATES)?;
    let mut aggregates = joined(&mut statement, |row| rows::aggregate(row, 1))?;
    for provider in &mut providers {
        provider.aggregates = of(&mut aggregates, provider.id)?;
    }
    Ok(Contents { providers, names: custom_names(connection)? })
}

/// Rows with the number of their provider, which is their first column.
fn joined<'a, T: 'a>(
    statement: &'a mut Statement<'_>,
    mut value: impl FnMut(&Row<'_>) -> Result<T> + 'a,
) -> Result<Peekable<impl Iterator<Item = Result<(ProviderId, T)>> + 'a>> {
    Ok(statement.query_map([], move |row| Ok((ProviderId(row.get(0)?), value(row)?)))?.peekable())
}

/// Those of one provider; rows of providers before it belong to no provider.
fn of<T, C: FromIterator<T>>(
    rows: &mut Peekable<impl Iterator<Item = Result<(ProviderId, T)>>>,
    id: ProviderId,
) -> Result<C> {
    let mut all = Vec::new();
    while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |(provider, _)| *provider <= id)) {
        let (provider, value) = row?;
        if provider == id {
            all.push(value);
        }
    }
    Ok(all.into_iter().collect())
}

pub(super) fn custom_names(connection: &Connection) -> Result<CustomNames> {
    let mut statement = connection.prepare_cached("SELECT name, id, modified_at FROM classes ORDER BY id")?;
    let classes = statement.query_map([], |row| {
        let name = ClassName::new(row.get_ref(0)?.as_str()?);
        Ok(CustomClass { name, number: row.get(1)?, modified: timestamp(row.get(2)?) })
    })?;
    let classes = classes.collect::<Result<_>>()?;
    let mut statement = connection.prepare_cached("SELECT name, created_at FROM traits")?;
    let traits =
        statement.query_map([], |row| Ok((TraitName::new(row.get_ref(0)?.as_str()?), timestamp(row.get(1)?))))?;
    Ok(CustomNames { classes, traits: traits.collect::<Result<_>>()? })
}
