//! What is read by SQL and not from the model: consumers and usages. Each question is asked in one transaction by the caller,
//! so an answer is of one state.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, Key};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use super::rows::{self, Names};
use crate::ledger::{ConsumerRecord, KindFilter, ProviderAllocations, Usage, UsageQuestion, times::timestamp};

/// A consumer with what it has.
pub(super) fn consumer(connection: &Connection, key: &Key) -> Result<Option<ConsumerRecord>> {
    const ALLOCATIONS: &str = "SELECT p.uuid, p.generation, a.class, a.used, a.created_at \
         FROM allocations a JOIN providers p ON p.id = a.provider WHERE a.consumer = ?1 ORDER BY p.id";
    const CONSUMER: &str = "SELECT generation, project, user, kind FROM consumers WHERE uuid = ?1";
    let mut statement = connection.prepare_cached(CONSUMER)?;
    let found = statement.query_row([key.as_str()], |row| {
        Ok(ConsumerRecord {
            generation: row.get(0)?,
            project: row.get(1)?,
            user: row.get(2)?,
            kind: row.get(3)?,
            allocations: Vec::new(),
            modified: timestamp(0),
        })
    });
    let Some(mut record) = found.optional()? else { return Ok(None) };
    let mut names = Names::default();
    let mut statement = connection.prepare_cached(ALLOCATIONS)?;
    let mut rows = statement.query([key.as_str()])?;
    while let Some(row) = rows.next()? {
        let (provider, class) = (rows::key(row, 0)?, names.class(row.get_ref(2)?.as_str()?));
        record.modified = record.modified.max(timestamp(row.get(4)?));
        let amount = rows::amount(row, 3)?;
        match record.allocations.last_mut().filter(|(last, ..)| *last == provider) {
            Some((_, _, amounts)) => drop(amounts.insert(class, amount)),
            None => record.allocations.push((provider, row.get(1)?, BTreeMap::from([(class, amount)]))),
        }
    }
    Ok(Some(record))
}

/// Who has allocations at a provider.
pub(super) fn consumers_at(connection: &Connection, provider: &Key) -> Result<Option<ProviderAllocations>> {
    const ALLOCATIONS: &str = "SELECT a.consumer, c.generation, a.class, a.used, a.created_at \
         FROM allocations a JOIN consumers c ON c.uuid = a.consumer WHERE a.provider = ?1";
    let mut statement = connection.prepare_cached("SELECT id, generation FROM providers WHERE uuid = ?1")?;
    let found = statement.query_row([provider.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
    let Some((id, generation)) = found.optional()? else { return Ok(None) };
    let mut names = Names::default();
    let mut all = ProviderAllocations { generation, consumers: BTreeMap::new(), modified: None };
    let mut statement = connection.prepare_cached(ALLOCATIONS)?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let generation = row.get(1)?;
        let (_, amounts) = all.consumers.entry(rows::key(row, 0)?).or_insert((generation, BTreeMap::new()));
        amounts.insert(names.class(row.get_ref(2)?.as_str()?), rows::amount(row, 3)?);
        all.modified = all.modified.max(Some(timestamp(row.get(4)?)));
    }
    Ok(Some(all))
}

/// Sums by type, document 51 section 10.
pub(super) fn usages(connection: &Connection, question: &UsageQuestion) -> Result<Vec<Usage>> {
    const WHO: &str = "project = ?1 AND (?2 IS NULL OR user = ?2) AND (?3 OR kind IS ?4)";
    let (any, kind) = match &question.kind {
        None => (true, None),
        Some(KindFilter::Unset) => (false, None),
        Some(KindFilter::Is(kind)) => (false, Some(kind)),
    };
    let values = params![question.project, question.user, any, kind];
    let mut found: BTreeMap<Option<String>, Usage> = BTreeMap::new();
    let mut statement =
        connection.prepare_cached(&format!("SELECT kind, count(*) FROM consumers WHERE {WHO} GROUP BY kind"))?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let (kind, consumers): (Option<String>, _) = (row.get(0)?, rows::amount(row, 1)?);
        found.insert(kind.clone(), Usage { kind, consumers, resources: BTreeMap::new() });
    }
    let mut statement = connection.prepare_cached(&format!(
        "SELECT c.kind, a.class, sum(a.used) FROM consumers c JOIN allocations a ON a.consumer = c.uuid \
         WHERE {WHO} GROUP BY c.kind, a.class"
    ))?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let usage = found.get_mut(&row.get::<_, Option<String>>(0)?);
        let (class, amount) = (ClassName::new(row.get_ref(1)?.as_str()?), rows::amount(row, 2)?);
        usage.map(|usage| usage.resources.insert(class, amount));
    }
    Ok(found.into_values().collect())
}
