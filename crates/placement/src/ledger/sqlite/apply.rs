//! Writes the changes of a command.

use berth_placement_model::provider::Aggregate;
use berth_placement_model::write_set::{ConsumerChange, NameChange, NewProvider, ProviderChange};
use berth_placement_model::{ClassName, Inventory, Key, ProviderId, TraitName, WriteSet};
use rusqlite::{Connection, Result, params};

use super::rows::integer;

/// Writes everything, and returns the number of the new provider, if there is one. `now` in microseconds.
pub(super) fn apply(connection: &Connection, changes: &WriteSet, now: i64) -> Result<Option<ProviderId>> {
    let created = changes.created.as_ref().map(|new| create(connection, new, now)).transpose()?;
    // Classes are renamed first, because the changes of providers use the new names.
    changes.classes.iter().try_for_each(|change| change_class(connection, change, now))?;
    changes.traits.iter().try_for_each(|change| change_trait(connection, change, now))?;
    for (id, change) in &changes.providers {
        change_provider(connection, *id, change, now)?;
    }
    for (key, change) in &changes.consumers {
        change_consumer(connection, key, change, now)?;
    }
    for key in &changes.gone {
        run(connection, "DELETE FROM allocations WHERE consumer = ?1", params![key.as_str()])?;
        run(connection, "DELETE FROM consumers WHERE uuid = ?1", params![key.as_str()])?;
    }
    if let Some(id) = changes.deleted {
        delete(connection, id)?;
    }
    Ok(created)
}

fn run(connection: &Connection, statement: &str, values: impl rusqlite::Params) -> Result<()> {
    connection.prepare_cached(statement)?.execute(values).map(drop)
}

fn create(connection: &Connection, new: &NewProvider, now: i64) -> Result<ProviderId> {
    const INSERT: &str = "INSERT INTO providers (uuid, name, parent, root, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let (parent, root) = new.above.map_or((None, 0), |(parent, root)| (Some(parent.0), root.0));
    run(connection, INSERT, params![new.uuid.as_str(), new.name, parent, root, now])?;
    let id = connection.last_insert_rowid();
    if parent.is_none() {
        run(connection, "UPDATE providers SET root = id WHERE id = ?1", params![id])?;
    }
    Ok(ProviderId(id))
}

fn delete(connection: &Connection, id: ProviderId) -> Result<()> {
    for statement in [
        "DELETE FROM provider_traits WHERE provider = ?1",
        "DELETE FROM provider_aggregates WHERE provider = ?1",
        "DELETE FROM inventories WHERE provider = ?1",
        "DELETE FROM providers WHERE id = ?1",
    ] {
        run(connection, statement, params![id.0])?;
    }
    Ok(())
}

fn change_provider(connection: &Connection, id: ProviderId, change: &ProviderChange, now: i64) -> Result<()> {
    change_row(connection, id, change, now)?;
    for (class, inventory) in &change.inventories {
        write_inventory(connection, id, class, inventory, now)?;
    }
    for (class, used) in &change.used {
        const UPDATE: &str = "UPDATE inventories SET used = ?3 WHERE provider = ?1 AND class = ?2";
        run(connection, UPDATE, params![id.0, class.as_str(), integer(*used)])?;
    }
    for class in &change.without {
        const DELETE: &str = "DELETE FROM inventories WHERE provider = ?1 AND class = ?2";
        run(connection, DELETE, params![id.0, class.as_str()])?;
    }
    if let Some(traits) = &change.traits {
        write_traits(connection, id, traits)?;
    }
    if let Some(aggregates) = &change.aggregates {
        write_aggregates(connection, id, aggregates)?;
    }
    Ok(())
}

/// Columns that have not changed are not named, so that their indexes are left alone.
fn change_row(connection: &Connection, id: ProviderId, change: &ProviderChange, now: i64) -> Result<()> {
    if change.raised != 0 {
        const RAISE: &str = "UPDATE providers SET generation = generation + ?2 WHERE id = ?1";
        run(connection, RAISE, params![id.0, change.raised])?;
    }
    if let Some(name) = &change.name {
        run(connection, "UPDATE providers SET name = ?2 WHERE id = ?1", params![id.0, name])?;
    }
    if let Some(parent) = change.parent {
        let parent = parent.map(|parent| parent.0);
        run(connection, "UPDATE providers SET parent = ?2 WHERE id = ?1", params![id.0, parent])?;
    }
    if let Some(root) = change.root {
        run(connection, "UPDATE providers SET root = ?2 WHERE id = ?1", params![id.0, root.0])?;
    }
    if change.touched {
        run(connection, "UPDATE providers SET updated_at = ?2 WHERE id = ?1", params![id.0, now])?;
    }
    Ok(())
}

fn write_inventory(
    connection: &Connection,
    id: ProviderId,
    class: &ClassName,
    inventory: &Inventory,
    now: i64,
) -> Result<()> {
    const UPSERT: &str = "INSERT INTO inventories \
         (provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (provider, class) DO UPDATE SET total = ?3, reserved = ?4, min_unit = ?5, max_unit = ?6, \
         step_size = ?7, allocation_ratio = ?8, updated_at = ?9";
    let Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = *inventory;
    let [total, reserved, min_unit, max_unit, step_size] =
        [total, reserved, min_unit, max_unit, step_size].map(integer);
    let values = params![id.0, class.as_str(), total, reserved, min_unit, max_unit, step_size, allocation_ratio, now];
    run(connection, UPSERT, values)
}

fn write_traits<'a>(
    connection: &Connection,
    id: ProviderId,
    traits: impl IntoIterator<Item = &'a TraitName>,
) -> Result<()> {
    run(connection, "DELETE FROM provider_traits WHERE provider = ?1", params![id.0])?;
    for one in traits {
        const INSERT: &str = "INSERT INTO provider_traits (provider, trait) VALUES (?1, ?2)";
        run(connection, INSERT, params![id.0, one.as_str()])?;
    }
    Ok(())
}

fn write_aggregates(connection: &Connection, id: ProviderId, aggregates: &[Aggregate]) -> Result<()> {
    run(connection, "DELETE FROM provider_aggregates WHERE provider = ?1", params![id.0])?;
    for (position, aggregate) in (0_i64..).zip(aggregates) {
        const INSERT: &str = "INSERT INTO provider_aggregates (provider, position, key, sent) VALUES (?1, ?2, ?3, ?4)";
        run(connection, INSERT, params![id.0, position, aggregate.key.as_str(), aggregate.sent])?;
    }
    Ok(())
}

fn change_consumer(connection: &Connection, key: &Key, change: &ConsumerChange, now: i64) -> Result<()> {
    const INSERT: &str = "INSERT INTO consumers (uuid, generation, project, user, kind) VALUES (?1, ?2, ?3, ?4, ?5)";
    const UPDATE: &str = "UPDATE consumers SET generation = ?2, project = ?3, user = ?4, kind = ?5 WHERE uuid = ?1";
    let statement = if change.created { INSERT } else { UPDATE };
    run(connection, statement, params![key.as_str(), change.generation, change.project, change.user, change.kind])?;
    if !change.created {
        run(connection, "DELETE FROM allocations WHERE consumer = ?1", params![key.as_str()])?;
    }
    for ((provider, class), used) in &change.allocations {
        const INSERT: &str = "INSERT INTO allocations (consumer, provider, class, used, created_at, position) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let position = change.positions.get(provider);
        run(connection, INSERT, params![key.as_str(), provider.0, class.as_str(), integer(*used), now, position])?;
    }
    Ok(())
}

fn change_class(connection: &Connection, change: &NameChange<ClassName>, now: i64) -> Result<()> {
    match change {
        NameChange::Create(name) => {
            run(connection, "INSERT INTO classes (name, modified_at) VALUES (?1, ?2)", params![name.as_str(), now])
        }
        NameChange::Rename { from, to } => {
            const RENAME: &str = "UPDATE classes SET name = ?2, modified_at = ?3 WHERE name = ?1";
            run(connection, RENAME, params![from.as_str(), to.as_str(), now])?;
            for statement in [
                "UPDATE inventories SET class = ?2 WHERE class = ?1",
                "UPDATE allocations SET class = ?2 WHERE class = ?1",
            ] {
                run(connection, statement, params![from.as_str(), to.as_str()])?;
            }
            Ok(())
        }
        NameChange::Delete(name) => run(connection, "DELETE FROM classes WHERE name = ?1", params![name.as_str()]),
    }
}

fn change_trait(connection: &Connection, change: &NameChange<TraitName>, now: i64) -> Result<()> {
    match change {
        NameChange::Create(name) => {
            run(connection, "INSERT INTO traits (name, created_at) VALUES (?1, ?2)", params![name.as_str(), now])
        }
        NameChange::Rename { from, to } => {
            ["UPDATE traits SET name = ?2 WHERE name = ?1", "UPDATE provider_traits SET trait = ?2 WHERE trait = ?1"]
                .into_iter()
                .try_for_each(|statement| run(connection, statement, params![from.as_str(), to.as_str()]))
        }
        NameChange::Delete(name) => run(connection, "DELETE FROM traits WHERE name = ?1", params![name.as_str()]),
    }
}
