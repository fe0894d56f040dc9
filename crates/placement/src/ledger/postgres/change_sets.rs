//! Change sets since a snapshot, and everything of one snapshot. A replica reads all records that the last snapshot did
//! not see, whatever their numbers, with the values in the same statement.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, ProviderId, TraitName};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use super::apply::NAMES;
use super::states::{self, amount};
use crate::ledger::contents::{ChangeSet, Contents, CustomClass, CustomNames, ProviderUpdate, Used};
use crate::ledger::depth::Depth;
use crate::ledger::times::timestamp;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Which transactions a model has, in PostgreSQL's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenTransactions(String);

impl SeenTransactions {
    /// The first transaction of those that all came later, and the earlier ones that were running.
    fn missed(&self) -> (&str, Vec<&str>) {
        let mut parts = self.0.splitn(3, ':').skip(1);
        let (next, running) = (parts.next().unwrap_or("0"), parts.next().unwrap_or(""));
        (next, running.split(',').filter(|one| !one.is_empty()).collect())
    }
}

/// The changes since a snapshot.
pub(super) enum ChangesSince {
    Changes(ChangeSet, SeenTransactions),
    /// Records are missing that were pruned before they were read.
    Lost,
}

/// Reads what `seen` did not see.
///
/// Not seen are the transactions from its upper end on and those that were running then; asking for these two by index is
/// cheap, however long a transaction elsewhere has been running. `OFFSET 0` keeps the planner, which cannot know how few
/// records there are, from reading all providers. A pruned record is missed only if its transaction is one of
/// them and is not running any more.
pub(super) async fn changes_since(connection: &mut PgConnection, seen: &SeenTransactions) -> Result<ChangesSince> {
    match usage(connection, seen).await? {
        Some(since) => Ok(since),
        None => everything(connection, seen).await,
    }
}

/// The changes, if only amounts have changed; `None` if more has.
///
/// Nearly all questions end here, so the statement is a small one: starting one that could read everything takes PostgreSQL
/// longer than finding that there is nothing.
async fn usage(connection: &mut PgConnection, seen: &SeenTransactions) -> Result<Option<ChangesSince>> {
    const USAGE: &str = "SELECT pg_current_snapshot()::text, s.lost, r.provider, r.whole, p.generation, p.updated_at, \
           i.class, i.used \
         FROM (SELECT below > $1::text::xid8 OR EXISTS (SELECT 1 FROM unnest($2::text[]::xid8[]) AS x \
             WHERE x < below AND pg_visible_in_snapshot(x, pg_current_snapshot())) AS lost FROM pruned) AS s \
         LEFT JOIN (SELECT provider, bool_or(whole) AS whole FROM changes \
           WHERE xid >= $1::text::xid8 OR xid = ANY($2::text[]::xid8[]) GROUP BY provider OFFSET 0) AS r ON true \
         LEFT JOIN LATERAL (SELECT generation, updated_at FROM providers WHERE id = r.provider OFFSET 0) AS p ON true \
         LEFT JOIN LATERAL (SELECT class, used FROM inventories WHERE provider = r.provider OFFSET 0) AS i ON true";
    let (next, running) = seen.missed();
    let rows = sqlx::query(USAGE).bind(next).bind(running).fetch_all(connection).await?;
    let Some(first) = rows.first() else { return Ok(Some(ChangesSince::Lost)) };
    if first.try_get(1)? {
        return Ok(Some(ChangesSince::Lost));
    }
    let now = SeenTransactions(first.try_get(0)?);
    let mut all: BTreeMap<ProviderId, Used> = BTreeMap::new();
    for row in &rows {
        let Some(id) = row.try_get::<Option<i64>, _>(2)? else { break };
        let (whole, generation): (bool, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
        let Some(generation) = generation.filter(|_| !whole) else { return Ok(None) };
        let updated_at = row.try_get::<Option<i64>, _>(5)?.map(timestamp);
        let used = all.entry(ProviderId(id)).or_insert_with(|| Used { generation, updated_at, ..Used::default() });
        if let Some(class) = row.try_get(6)? {
            used.amounts.push((ClassName::new(class), amount(row.try_get(7)?)));
        }
    }
    let providers = all.into_iter().map(|(id, used)| (id, ProviderUpdate::Used(used))).collect();
    Ok(Some(ChangesSince::Changes(ChangeSet { providers, names: None }, now)))
}

async fn everything(connection: &mut PgConnection, seen: &SeenTransactions) -> Result<ChangesSince> {
    let (since, names) = records(connection, seen).await?;
    if !names {
        return Ok(since);
    }
    // Seldom: names and providers are read once more, of one snapshot.
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let (mut since, _) = records(&mut transaction, seen).await?;
    if let ChangesSince::Changes(changes, _) = &mut since {
        changes.names = Some(custom_names(&mut transaction).await?);
    }
    transaction.commit().await?;
    Ok(since)
}

/// The providers that have changed, and whether custom names have.
async fn records(connection: &mut PgConnection, seen: &SeenTransactions) -> Result<(ChangesSince, bool)> {
    let (columns, joins) = (states::columns(Depth::Whole), states::joins(Depth::Whole));
    let query = format!(
        "WITH seen AS MATERIALIZED (SELECT $1::text::pg_snapshot AS s), \
         records AS (SELECT c.provider FROM changes c WHERE c.xid >= (SELECT pg_snapshot_xmax(s) FROM seen) \
           UNION SELECT c.provider FROM changes c \
             WHERE c.xid = ANY(ARRAY(SELECT pg_snapshot_xip(s) FROM seen))) \
         SELECT v.now, v.lost, r.provider, {columns} FROM ( \
           SELECT pg_current_snapshot()::text AS now, \
             p.below > pg_snapshot_xmax(s) OR EXISTS (SELECT 1 FROM pg_snapshot_xip(s) AS x \
               WHERE x < p.below AND pg_visible_in_snapshot(x, pg_current_snapshot())) AS lost \
           FROM seen, pruned AS p) AS v \
         LEFT JOIN records AS r ON true \
         LEFT JOIN LATERAL (SELECT * FROM providers WHERE id = r.provider OFFSET 0) AS p ON true {joins}"
    );
    let rows = sqlx::query(&query).bind(&seen.0).fetch_all(&mut *connection).await?;
    let Some(first) = rows.first() else { return Ok((ChangesSince::Lost, false)) };
    if first.try_get(1)? {
        return Ok((ChangesSince::Lost, false));
    }
    let now = SeenTransactions(first.try_get(0)?);
    let mut changes = ChangeSet::default();
    let mut names = false;
    for row in &rows {
        match row.try_get::<Option<i64>, _>(2)? {
            None => {}
            Some(NAMES) => names = true,
            Some(id) => {
                let state = states::state(row, 3, Depth::Whole)?;
                let change = state.map_or(ProviderUpdate::Gone, |state| ProviderUpdate::Whole(Box::new(state)));
                changes.add(ProviderId(id), change);
            }
        }
    }
    Ok((ChangesSince::Changes(changes, now), names))
}

/// The changes that a transaction sees and `seen` did not, and everything that it sees. `None` if some records are
/// missing.
pub(super) async fn both(
    connection: &mut PgConnection,
    seen: &SeenTransactions,
) -> Result<(Option<ChangeSet>, Contents)> {
    let (since, _) = records(connection, seen).await?;
    let contents = in_snapshot(connection).await?;
    let changes = match since {
        ChangesSince::Lost => None,
        ChangesSince::Changes(mut changes, _) => {
            changes.names = Some(contents.names.clone());
            Some(changes)
        }
    };
    Ok((changes, contents))
}

pub(super) async fn contents(connection: &mut PgConnection) -> Result<(Contents, SeenTransactions)> {
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    // Whole tables are read once here, not rows of a request.
    transaction.execute("SET LOCAL enable_seqscan = on; SET LOCAL statement_timeout = '60s'").await?;
    let row = transaction.fetch_one("SELECT pg_current_snapshot()::text").await?;
    let contents = in_snapshot(&mut transaction).await?;
    let seen = SeenTransactions(row.try_get(0)?);
    transaction.commit().await?;
    Ok((contents, seen))
}

pub(super) async fn in_snapshot(connection: &mut PgConnection) -> Result<Contents> {
    let (columns, joins) = (states::columns(Depth::Whole), states::joins(Depth::Whole));
    let query = format!("SELECT {columns} FROM providers AS p {joins} ORDER BY p.id");
    let rows = sqlx::query(&query).persistent(false).fetch_all(&mut *connection).await?;
    let states = rows.iter().map(|row| states::state(row, 0, Depth::Whole));
    let providers = states.filter_map(Result::transpose).collect::<Result<_>>()?;
    Ok(Contents { providers, names: custom_names(connection).await? })
}

async fn custom_names(connection: &mut PgConnection) -> Result<CustomNames> {
    let class = |row: PgRow| {
        let (name, number) = (ClassName::new(row.try_get(0)?), row.try_get(1)?);
        Ok(CustomClass { name, number, modified: timestamp(row.try_get(2)?) })
    };
    let rows = connection.fetch_all("SELECT name, id, modified_at FROM classes ORDER BY id").await?;
    let classes = rows.into_iter().map(class).collect::<Result<_>>()?;
    let rows = connection.fetch_all("SELECT name, created_at FROM traits").await?;
    let named = |row: PgRow| Ok((TraitName::new(row.try_get(0)?), timestamp(row.try_get(1)?)));
    Ok(CustomNames { classes, traits: rows.into_iter().map(named).collect::<Result<_>>()? })
}

/// Removes records that every replica has read long ago, and returns the version from which on they are complete. A
/// replica that has missed one of them builds its model again.
pub(super) async fn prune(connection: &mut PgConnection) -> Result<u64> {
    const PRUNE: &str = "WITH old AS (DELETE FROM changes WHERE written_at < now() - interval '10 minutes' RETURNING xid) \
         UPDATE pruned SET below = greatest(below, o.after) \
         FROM (SELECT ((xid::text::bigint + 1)::text)::xid8 AS after FROM old ORDER BY xid DESC LIMIT 1) AS o";
    Ok(connection.execute(PRUNE).await?.rows_affected())
}
