//! Loads the rows of a command under locks: trees, custom names, consumers by key, providers by number. The data of a
//! locked row are read by a later statement, which sees the changes that the lock waited for.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::loaded_rows::Consumer;
use berth_placement_model::{ClassName, Command, Key, LoadedRows, ProviderId, ReadSet, TraitName};
use sqlx::{PgConnection, Row as _};

use super::states;
use crate::ledger::depth::Depth;

/// All writers that change the shape of a tree hold this advisory lock.
const TREE_LOCK: i64 = 0x6265_7274_6802;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Everything that `wants` names, locked until the transaction ends.
pub(super) async fn load(
    connection: &mut PgConnection,
    command: &Command,
    read_set: &ReadSet,
    depth: Depth,
) -> Result<LoadedRows> {
    let mut loaded = LoadedRows::default();
    let renames = matches!(command, Command::RenameClass { .. });
    if read_set.trees {
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(TREE_LOCK).execute(&mut *connection).await?;
    }
    if depth == Depth::Whole {
        let strength = if read_set.uses || renames { "UPDATE" } else { "KEY SHARE" };
        lock_names(connection, read_set, strength, &mut loaded).await?;
    } else {
        read_classes(connection, &read_set.classes, &mut loaded).await?;
    }
    if renames {
        // It changes rows of every provider, also of those that get such an inventory meanwhile.
        sqlx::query("LOCK TABLE providers IN EXCLUSIVE MODE").execute(&mut *connection).await?;
    }
    let left = consumers(connection, read_set, &mut loaded).await?;
    let ids = lock_providers(connection, read_set, &left).await?;
    read_providers(connection, &ids, depth, &mut loaded).await?;
    if read_set.class_order {
        let held = loaded.providers.values().flat_map(|provider| provider.inventories.keys().cloned());
        read_classes(connection, &held.collect(), &mut loaded).await?;
    }
    Ok(loaded)
}

/// Names cannot be deleted while they are used; a command that reads the users of a name will delete it.
async fn lock_names(
    connection: &mut PgConnection,
    read_set: &ReadSet,
    strength: &str,
    loaded: &mut LoadedRows,
) -> Result<()> {
    if !read_set.classes.is_empty() {
        let lock = format!("SELECT name, id FROM classes WHERE name = ANY($1) ORDER BY name FOR {strength}");
        let rows = sqlx::query(&lock).bind(texts(&read_set.classes)).fetch_all(&mut *connection).await?;
        for row in rows {
            loaded.classes.insert(ClassName::new(row.try_get(0)?), row.try_get(1)?);
        }
    }
    if !read_set.traits.is_empty() {
        let lock = format!("SELECT name FROM traits WHERE name = ANY($1) ORDER BY name FOR {strength}");
        let rows = sqlx::query(&lock).bind(texts(&read_set.traits)).fetch_all(&mut *connection).await?;
        for row in rows {
            loaded.traits.insert(TraitName::new(row.try_get(0)?));
        }
    }
    if read_set.uses {
        const CLASSES: &str = "SELECT name FROM unnest($1::text[]) AS name \
             WHERE EXISTS (SELECT 1 FROM inventories WHERE class = name)";
        const TRAITS: &str = "SELECT name FROM unnest($1::text[]) AS name \
             WHERE EXISTS (SELECT 1 FROM provider_traits WHERE trait = name)";
        for row in sqlx::query(CLASSES).bind(texts(&read_set.classes)).fetch_all(&mut *connection).await? {
            loaded.used_classes.insert(ClassName::new(row.try_get(0)?));
        }
        for row in sqlx::query(TRAITS).bind(texts(&read_set.traits)).fetch_all(&mut *connection).await? {
            loaded.used_traits.insert(TraitName::new(row.try_get(0)?));
        }
    }
    Ok(())
}

async fn read_classes(
    connection: &mut PgConnection,
    names: &BTreeSet<ClassName>,
    loaded: &mut LoadedRows,
) -> Result<()> {
    let names: BTreeSet<_> = names.iter().filter(|name| !is_standard(name)).cloned().collect();
    if names.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query("SELECT name, id FROM classes WHERE name = ANY($1)").bind(texts(&names));
    for row in rows.fetch_all(connection).await? {
        loaded.classes.insert(ClassName::new(row.try_get(0)?), row.try_get(1)?);
    }
    Ok(())
}

fn is_standard(name: &ClassName) -> bool {
    berth_placement_model::standard::is_standard_class(name.as_str())
}

/// The consumers, and the numbers of the providers that they have something at.
async fn consumers(connection: &mut PgConnection, read_set: &ReadSet, loaded: &mut LoadedRows) -> Result<Vec<i64>> {
    const LOCK: &str = "SELECT uuid, generation, project, \"user\", kind FROM consumers \
         WHERE uuid = ANY($1) ORDER BY uuid FOR UPDATE";
    const ALLOCATIONS: &str = "SELECT consumer, provider, class, used FROM allocations WHERE consumer = ANY($1)";
    if read_set.consumers.is_empty() {
        return Ok(Vec::new());
    }
    for row in sqlx::query(LOCK).bind(texts(&read_set.consumers)).fetch_all(&mut *connection).await? {
        let consumer = Consumer {
            generation: row.try_get(1)?,
            project: row.try_get(2)?,
            user: row.try_get(3)?,
            kind: row.try_get(4)?,
            allocations: BTreeMap::new(),
        };
        loaded.consumers.insert(Key::new(row.try_get(0)?), consumer);
    }
    if loaded.consumers.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<&str> = loaded.consumers.keys().map(Key::as_str).collect();
    let rows = sqlx::query(ALLOCATIONS).bind(found).fetch_all(&mut *connection).await?;
    let mut left = BTreeSet::new();
    for row in rows {
        let id: i64 = row.try_get(1)?;
        left.insert(id);
        let Some(consumer) = loaded.consumers.get_mut(&Key::new(row.try_get(0)?)) else { continue };
        let amount = states::amount(row.try_get(3)?);
        consumer.allocations.insert((ProviderId(id), ClassName::new(row.try_get(2)?)), amount);
    }
    Ok(left.into_iter().collect())
}

async fn lock_providers(connection: &mut PgConnection, read_set: &ReadSet, left: &[i64]) -> Result<Vec<i64>> {
    const NAMED: &str = "SELECT id FROM providers WHERE uuid = ANY($1) OR id = ANY($2) ORDER BY id FOR NO KEY UPDATE";
    // While the lock of the trees is held no provider enters or leaves one.
    const TREES: &str = "SELECT id FROM providers WHERE uuid = ANY($1) OR id = ANY($2) OR name = ANY($3) \
         OR ($4 AND root = ANY(ARRAY(SELECT root FROM providers WHERE uuid = ANY($1)))) \
         ORDER BY id FOR NO KEY UPDATE";
    let uuids = texts(&read_set.providers);
    if uuids.is_empty() && left.is_empty() && read_set.provider_names.is_empty() {
        return Ok(Vec::new());
    }
    let rows = if read_set.provider_names.is_empty() && !read_set.whole_trees {
        sqlx::query(NAMED).bind(uuids).bind(left).fetch_all(connection).await?
    } else {
        let names: Vec<&str> = read_set.provider_names.iter().map(String::as_str).collect();
        let query = sqlx::query(TREES).bind(uuids).bind(left).bind(names).bind(read_set.whole_trees);
        query.fetch_all(connection).await?
    };
    rows.into_iter().map(|row| row.try_get(0)).collect()
}

async fn read_providers(
    connection: &mut PgConnection,
    ids: &[i64],
    depth: Depth,
    loaded: &mut LoadedRows,
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let (columns, joins) = (states::columns(depth), states::joins(depth));
    let query = format!("SELECT {columns} FROM providers AS p {joins} WHERE p.id = ANY($1)");
    for row in sqlx::query(&query).bind(ids).fetch_all(connection).await? {
        if let Some(state) = states::state(&row, 0, depth)? {
            loaded.providers.insert(state.id, state);
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
