//! Reads the facts of a command under locks. It decides their order: trees, custom names, consumers by key, providers by
//! number; and that what belongs to a locked row is read by a later statement, which sees whatever the lock waited for.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::facts::Consumer;
use berth_placement_model::{ClassName, Command, Facts, Key, ProviderId, TraitName, Wants};
use sqlx::{PgConnection, Row as _};

use super::states;
use crate::ledger::depth::Depth;

/// Everybody who changes the shape of a tree holds this advisory lock.
const TREE_LOCK: i64 = 0x6265_7274_6802;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Everything that `wants` names, locked until the transaction ends.
pub(super) async fn load(
    connection: &mut PgConnection,
    command: &Command,
    wants: &Wants,
    depth: Depth,
) -> Result<Facts> {
    let mut facts = Facts::default();
    let renames = matches!(command, Command::RenameClass { .. });
    if wants.trees {
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(TREE_LOCK).execute(&mut *connection).await?;
    }
    if depth == Depth::Whole {
        let strength = if wants.uses || renames { "UPDATE" } else { "KEY SHARE" };
        lock_names(connection, wants, strength, &mut facts).await?;
    } else {
        read_classes(connection, &wants.classes, &mut facts).await?;
    }
    if renames {
        // It changes rows of every provider, also of those that get such an inventory meanwhile.
        sqlx::query("LOCK TABLE providers IN EXCLUSIVE MODE").execute(&mut *connection).await?;
    }
    let left = consumers(connection, wants, &mut facts).await?;
    let ids = lock_providers(connection, wants, &left).await?;
    read_providers(connection, &ids, depth, &mut facts).await?;
    if wants.class_order {
        let held = facts.providers.values().flat_map(|provider| provider.inventories.keys().cloned());
        read_classes(connection, &held.collect(), &mut facts).await?;
    }
    Ok(facts)
}

/// Names stay while somebody uses them; whoever asks who uses a name wants to delete it.
async fn lock_names(connection: &mut PgConnection, wants: &Wants, strength: &str, facts: &mut Facts) -> Result<()> {
    if !wants.classes.is_empty() {
        let lock = format!("SELECT name, id FROM classes WHERE name = ANY($1) ORDER BY name FOR {strength}");
        let rows = sqlx::query(&lock).bind(texts(&wants.classes)).fetch_all(&mut *connection).await?;
        for row in rows {
            facts.classes.insert(ClassName::new(row.try_get(0)?), row.try_get(1)?);
        }
    }
    if !wants.traits.is_empty() {
        let lock = format!("SELECT name FROM traits WHERE name = ANY($1) ORDER BY name FOR {strength}");
        let rows = sqlx::query(&lock).bind(texts(&wants.traits)).fetch_all(&mut *connection).await?;
        for row in rows {
            facts.traits.insert(TraitName::new(row.try_get(0)?));
        }
    }
    if wants.uses {
        const CLASSES: &str = "SELECT name FROM unnest($1::text[]) AS name \
             WHERE EXISTS (SELECT 1 FROM inventories WHERE class = name)";
        const TRAITS: &str = "SELECT name FROM unnest($1::text[]) AS name \
             WHERE EXISTS (SELECT 1 FROM provider_traits WHERE trait = name)";
        for row in sqlx::query(CLASSES).bind(texts(&wants.classes)).fetch_all(&mut *connection).await? {
            facts.used_classes.insert(ClassName::new(row.try_get(0)?));
        }
        for row in sqlx::query(TRAITS).bind(texts(&wants.traits)).fetch_all(&mut *connection).await? {
            facts.used_traits.insert(TraitName::new(row.try_get(0)?));
        }
    }
    Ok(())
}

async fn read_classes(connection: &mut PgConnection, names: &BTreeSet<ClassName>, facts: &mut Facts) -> Result<()> {
    let names: BTreeSet<_> = names.iter().filter(|name| !is_standard(name)).cloned().collect();
    if names.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query("SELECT name, id FROM classes WHERE name = ANY($1)").bind(texts(&names));
    for row in rows.fetch_all(connection).await? {
        facts.classes.insert(ClassName::new(row.try_get(0)?), row.try_get(1)?);
    }
    Ok(())
}

fn is_standard(name: &ClassName) -> bool {
    berth_placement_model::standard::is_standard_class(name.as_str())
}

/// The consumers, and the numbers of the providers that they have something at.
async fn consumers(connection: &mut PgConnection, wants: &Wants, facts: &mut Facts) -> Result<Vec<i64>> {
    const LOCK: &str = "SELECT uuid, generation, project, \"user\", kind FROM consumers \
         WHERE uuid = ANY($1) ORDER BY uuid FOR UPDATE";
    const ALLOCATIONS: &str = "SELECT consumer, provider, class, used FROM allocations WHERE consumer = ANY($1)";
    if wants.consumers.is_empty() {
        return Ok(Vec::new());
    }
    for row in sqlx::query(LOCK).bind(texts(&wants.consumers)).fetch_all(&mut *connection).await? {
        let consumer = Consumer {
            generation: row.try_get(1)?,
            project: row.try_get(2)?,
            user: row.try_get(3)?,
            kind: row.try_get(4)?,
            allocations: BTreeMap::new(),
        };
        facts.consumers.insert(Key::new(row.try_get(0)?), consumer);
    }
    if facts.consumers.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<&str> = facts.consumers.keys().map(Key::as_str).collect();
    let rows = sqlx::query(ALLOCATIONS).bind(found).fetch_all(&mut *connection).await?;
    let mut left = BTreeSet::new();
    for row in rows {
        let id: i64 = row.try_get(1)?;
        left.insert(id);
        let Some(consumer) = facts.consumers.get_mut(&Key::new(row.try_get(0)?)) else { continue };
        let amount = states::amount(row.try_get(3)?);
        consumer.allocations.insert((ProviderId(id), ClassName::new(row.try_get(2)?)), amount);
    }
    Ok(left.into_iter().collect())
}

/// Locks the providers, and returns their numbers.
async fn lock_providers(connection: &mut PgConnection, wants: &Wants, left: &[i64]) -> Result<Vec<i64>> {
    const NAMED: &str = "SELECT id FROM providers WHERE uuid = ANY($1) OR id = ANY($2) ORDER BY id FOR NO KEY UPDATE";
    // While the lock of the trees is held no provider enters or leaves one.
    const TREES: &str = "SELECT id FROM providers WHERE uuid = ANY($1) OR id = ANY($2) OR name = ANY($3) \
         OR ($4 AND root = ANY(ARRAY(SELECT root FROM providers WHERE uuid = ANY($1)))) \
         ORDER BY id FOR NO KEY UPDATE";
    let uuids = texts(&wants.providers);
    if uuids.is_empty() && left.is_empty() && wants.provider_names.is_empty() {
        return Ok(Vec::new());
    }
    let rows = if wants.provider_names.is_empty() && !wants.whole_trees {
        sqlx::query(NAMED).bind(uuids).bind(left).fetch_all(connection).await?
    } else {
        let names: Vec<&str> = wants.provider_names.iter().map(String::as_str).collect();
        let query = sqlx::query(TREES).bind(uuids).bind(left).bind(names).bind(wants.whole_trees);
        query.fetch_all(connection).await?
    };
    rows.into_iter().map(|row| row.try_get(0)).collect()
}

async fn read_providers(connection: &mut PgConnection, ids: &[i64], depth: Depth, facts: &mut Facts) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let (columns, joins) = (states::columns(depth), states::joins(depth));
    let query = format!("SELECT {columns} FROM providers AS p {joins} WHERE p.id = ANY($1)");
    for row in sqlx::query(&query).bind(ids).fetch_all(connection).await? {
        if let Some(state) = states::state(&row, 0, depth)? {
            facts.providers.insert(state.id, state);
        }
    }
    Ok(())
}

fn texts<T: AsText>(names: &BTreeSet<T>) -> Vec<&str> {
    names.iter().map(AsText::text).collect()
}

/// Keys and names as the database has them.
trait AsText {
    fn text(&self) -> &str;
}

impl AsText for Key {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl AsText for ClassName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl AsText for TraitName {
    fn text(&self) -> &str {
        self.as_str()
    }
}
