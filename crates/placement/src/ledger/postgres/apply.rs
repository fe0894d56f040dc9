//! Writes the changes of a command. A claim is one statement, and every transaction records the providers that it
//! changed. Amounts and generations are written only if they are still those of the decision.

use berth_placement_model::provider::Aggregate;
use berth_placement_model::write_set::{ConsumerChange, NameChange, NewProvider, ProviderChange};
use berth_placement_model::{ClassName, Inventory, Key, LoadedRows, ProviderId, TraitName, WriteSet};
use sqlx::{PgConnection, Row as _};

use super::states::integer;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// The result of applying a write set.
pub(super) struct Applied {
    /// The number of the transaction, for the question what became of it.
    pub xid: String,
    pub created: Option<ProviderId>,
    /// Whether everything still was as it was decided upon. If not, nothing may be committed.
    pub is_complete: bool,
}

/// The number of the record for custom names.
pub(super) const NAMES: i64 = 0;

/// Writes everything. `now` in microseconds.
pub(super) async fn apply(
    connection: &mut PgConnection,
    rows: &LoadedRows,
    changes: &WriteSet,
    now: i64,
) -> Result<Applied> {
    let mut touched: Vec<i64> = changes.providers.keys().map(|id| id.0).collect();
    let mut created = None;
    if let Some(new) = &changes.created {
        let id = create(connection, new, now).await?;
        created = Some(ProviderId(id));
        touched.push(id);
    }
    for change in &changes.classes {
        touched.extend(change_class(connection, change, now).await?);
    }
    for change in &changes.traits {
        change_trait(connection, change, now).await?;
    }
    if !(changes.classes.is_empty() && changes.traits.is_empty()) {
        touched.push(NAMES);
    }
    for (id, change) in &changes.providers {
        describe(connection, *id, change, now).await?;
    }
    forget(connection, rows, changes).await?;
    if let Some(id) = changes.deleted {
        delete(connection, id).await?;
        touched.push(id.0);
    }
    touched.sort_unstable();
    touched.dedup();
    let (xid, is_whole) = claim(connection, rows, changes, &touched, now).await?;
    for (id, change) in changes.providers.iter().filter(|(_, change)| !change.without.is_empty()) {
        let classes: Vec<&str> = change.without.iter().map(ClassName::as_str).collect();
        let delete = sqlx::query("DELETE FROM inventories WHERE provider = $1 AND class = ANY($2)");
        delete.bind(id.0).bind(classes).execute(&mut *connection).await?;
    }
    Ok(Applied { xid, created, is_complete: is_whole })
}

/// Writes consumers, allocations, usage, generations, and the records of the change, in one statement.
async fn claim(
    connection: &mut PgConnection,
    rows: &LoadedRows,
    changes: &WriteSet,
    touched: &[i64],
    now: i64,
) -> Result<(String, bool)> {
    const CLAIM: &str = "WITH new_consumers AS ( \
           INSERT INTO consumers (uuid, generation, project, \"user\", kind) \
           SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) ORDER BY 1), \
         old_consumers AS ( \
           UPDATE consumers SET generation = v.generation, project = v.project, \"user\" = v.who, kind = v.kind \
           FROM unnest($6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[]) \
             AS v (uuid, generation, project, who, kind) WHERE consumers.uuid = v.uuid), \
         amounts AS ( \
           INSERT INTO allocations (consumer, provider, class, used, position, created_at) \
           SELECT v.*, $15::bigint \
           FROM unnest($11::text[], $12::bigint[], $13::text[], $14::bigint[], $26::bigint[]) AS v), \
         used AS ( \
           UPDATE inventories SET used = v.used \
           FROM unnest($16::bigint[], $17::text[], $18::bigint[], $19::bigint[]) AS v (provider, class, used, was) \
           WHERE inventories.provider = v.provider AND inventories.class = v.class AND inventories.used = v.was \
           RETURNING 1), \
         raised AS ( \
           UPDATE providers SET generation = v.generation, \
             updated_at = CASE WHEN v.touched THEN $15 ELSE providers.updated_at END \
           FROM unnest($20::bigint[], $21::bigint[], $22::bigint[], $23::boolean[]) AS v (id, generation, was, touched) \
           WHERE providers.id = v.id AND providers.generation = v.was RETURNING 1), \
         records AS (INSERT INTO changes (provider, whole) SELECT v, $25::boolean FROM unnest($24::bigint[]) AS v) \
         SELECT pg_current_xact_id()::text, (SELECT count(*) FROM used), (SELECT count(*) FROM raised)";
    let (new, old) = changes.consumers.iter().partition::<Vec<_>, _>(|(_, change)| change.created);
    let (new, old) = (Consumers::new(&new), Consumers::new(&old));
    let amounts = Amounts::new(changes);
    let used = Used::new(rows, changes);
    let raised = Raised::new(rows, changes);
    let query = sqlx::query(CLAIM).bind(new.uuids).bind(new.generations).bind(new.projects).bind(new.users);
    let query = query.bind(new.kinds).bind(old.uuids).bind(old.generations).bind(old.projects).bind(old.users);
    let query = query.bind(old.kinds).bind(amounts.consumers).bind(amounts.providers).bind(amounts.classes);
    let query = query.bind(amounts.used).bind(now);
    let query = query.bind(&used.providers).bind(&used.classes).bind(&used.amounts).bind(&used.was);
    let query = query.bind(&raised.ids).bind(&raised.generations).bind(&raised.was);
    let query = query.bind(&raised.touched).bind(touched).bind(!changes.is_usage()).bind(amounts.positions);
    let row = query.fetch_one(connection).await?;
    let counted = |rows: i64, expected: usize| usize::try_from(rows) == Ok(expected);
    let is_whole = counted(row.try_get(1)?, used.providers.len()) && counted(row.try_get(2)?, raised.ids.len());
    Ok((row.try_get(0)?, is_whole))
}

#[derive(Default)]
struct Consumers<'a> {
    uuids: Vec<&'a str>,
    generations: Vec<i64>,
    projects: Vec<&'a str>,
    users: Vec<&'a str>,
    kinds: Vec<Option<&'a str>>,
}

impl<'a> Consumers<'a> {
    fn new(all: &[(&'a Key, &'a ConsumerChange)]) -> Self {
        let mut columns = Self::default();
        for (key, change) in all {
            columns.uuids.push(key.as_str());
            columns.generations.push(change.generation);
            columns.projects.push(&change.project);
            columns.users.push(&change.user);
            columns.kinds.push(change.kind.as_deref());
        }
        columns
    }
}

#[derive(Default)]
struct Amounts<'a> {
    consumers: Vec<&'a str>,
    providers: Vec<i64>,
    classes: Vec<&'a str>,
    used: Vec<i64>,
    positions: Vec<i64>,
}

impl<'a> Amounts<'a> {
    fn new(changes: &'a WriteSet) -> Self {
        let mut columns = Self::default();
        for (key, change) in &changes.consumers {
            for ((provider, class), used) in &change.allocations {
                columns.consumers.push(key.as_str());
                columns.providers.push(provider.0);
                columns.classes.push(class.as_str());
                columns.used.push(integer(*used));
                columns.positions.push(change.positions.get(provider).copied().unwrap_or_default());
            }
        }
        columns
    }
}

#[derive(Default)]
struct Used<'a> {
    providers: Vec<i64>,
    classes: Vec<&'a str>,
    amounts: Vec<i64>,
    was: Vec<i64>,
}

impl<'a> Used<'a> {
    fn new(rows: &LoadedRows, changes: &'a WriteSet) -> Self {
        let mut columns = Self::default();
        for (id, change) in &changes.providers {
            let before = rows.providers.get(id);
            for (class, used) in &change.used {
                let was = before.and_then(|before| before.inventories.get(class)).map_or(0, |held| held.used);
                columns.providers.push(id.0);
                columns.classes.push(class.as_str());
                columns.amounts.push(integer(*used));
                columns.was.push(integer(was));
            }
        }
        columns
    }
}

#[derive(Default)]
struct Raised {
    ids: Vec<i64>,
    generations: Vec<i64>,
    was: Vec<i64>,
    touched: Vec<bool>,
}

impl Raised {
    fn new(rows: &LoadedRows, changes: &WriteSet) -> Self {
        let mut columns = Self::default();
        for (id, change) in changes.providers.iter().filter(|(_, change)| change.raised != 0) {
            let was = rows.providers.get(id).map_or(0, |before| before.generation);
            columns.ids.push(id.0);
            columns.generations.push(was + change.raised);
            columns.was.push(was);
            columns.touched.push(change.touched);
        }
        columns
    }
}

/// Removes the former allocations of consumers, before the new ones are written.
async fn forget(connection: &mut PgConnection, rows: &LoadedRows, changes: &WriteSet) -> Result<()> {
    const FORGET: &str = "WITH amounts AS (DELETE FROM allocations WHERE consumer = ANY($1)) \
         DELETE FROM consumers WHERE uuid = ANY($2)";
    let known = |key: &&Key| rows.consumers.contains_key(*key);
    let all: Vec<&str> = changes.consumers.keys().chain(&changes.gone).filter(known).map(Key::as_str).collect();
    if all.is_empty() {
        return Ok(());
    }
    let gone: Vec<&str> = changes.gone.iter().map(Key::as_str).collect();
    sqlx::query(FORGET).bind(all).bind(gone).execute(connection).await.map(drop)
}

async fn create(connection: &mut PgConnection, new: &NewProvider, now: i64) -> Result<i64> {
    const INSERT: &str = "INSERT INTO providers (id, uuid, name, parent, root, created_at) OVERRIDING SYSTEM VALUE \
         SELECT n, $1, $2, $3, coalesce($4, n), $5 FROM nextval(pg_get_serial_sequence('providers', 'id')) AS n \
         RETURNING id";
    let (parent, root) = new.above.map(|(parent, root)| (parent.0, root.0)).unzip();
    let query = sqlx::query(INSERT).bind(new.uuid.as_str()).bind(&new.name).bind(parent).bind(root).bind(now);
    query.fetch_one(connection).await?.try_get(0)
}

async fn delete(connection: &mut PgConnection, id: ProviderId) -> Result<()> {
    const DELETE: &str = "WITH t AS (DELETE FROM provider_traits WHERE provider = $1), \
         a AS (DELETE FROM provider_aggregates WHERE provider = $1), \
         i AS (DELETE FROM inventories WHERE provider = $1) DELETE FROM providers WHERE id = $1";
    sqlx::query(DELETE).bind(id.0).execute(connection).await.map(drop)
}

/// Writes all changes of a provider except usage, generation and removed parts.
async fn describe(connection: &mut PgConnection, id: ProviderId, change: &ProviderChange, now: i64) -> Result<()> {
    const ROW: &str = "UPDATE providers SET name = coalesce($2, name), \
         parent = CASE WHEN $3 THEN $4 ELSE parent END, root = coalesce($5, root), \
         updated_at = coalesce($6, updated_at) WHERE id = $1";
    let ProviderChange { name, parent, root, .. } = change;
    // Otherwise the time is written with the generation.
    let touched = change.touched && change.raised == 0;
    if name.is_some() || parent.is_some() || root.is_some() || touched {
        let query = sqlx::query(ROW).bind(id.0).bind(name).bind(parent.is_some());
        let query = query.bind(parent.flatten().map(|parent| parent.0)).bind(root.map(|root| root.0));
        query.bind(touched.then_some(now)).execute(&mut *connection).await?;
    }
    for (class, inventory) in &change.inventories {
        write_inventory(connection, id, class, inventory, now).await?;
    }
    if let Some(traits) = &change.traits {
        const INSERT: &str = "INSERT INTO provider_traits (provider, trait) SELECT $1, * FROM unnest($2::text[])";
        let names: Vec<&str> = traits.iter().map(TraitName::as_str).collect();
        run(connection, "DELETE FROM provider_traits WHERE provider = $1", id).await?;
        sqlx::query(INSERT).bind(id.0).bind(names).execute(&mut *connection).await?;
    }
    if let Some(aggregates) = &change.aggregates {
        write_aggregates(connection, id, aggregates).await?;
    }
    Ok(())
}

async fn run(connection: &mut PgConnection, statement: &str, id: ProviderId) -> Result<()> {
    sqlx::query(statement).bind(id.0).execute(connection).await.map(drop)
}

async fn write_inventory(
    connection: &mut PgConnection,
    id: ProviderId,
    class: &ClassName,
    inventory: &Inventory,
    now: i64,
) -> Result<()> {
    const UPSERT: &str = "INSERT INTO inventories \
         (provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         ON CONFLICT (provider, class) DO UPDATE SET total = $3, reserved = $4, min_unit = $5, max_unit = $6, \
         step_size = $7, allocation_ratio = $8, updated_at = $9";
    let Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = *inventory;
    let query = sqlx::query(UPSERT).bind(id.0).bind(class.as_str()).bind(integer(total)).bind(integer(reserved));
    let query = query.bind(integer(min_unit)).bind(integer(max_unit)).bind(integer(step_size));
    query.bind(allocation_ratio).bind(now).execute(connection).await.map(drop)
}

async fn write_aggregates(connection: &mut PgConnection, id: ProviderId, aggregates: &[Aggregate]) -> Result<()> {
    const INSERT: &str = "INSERT INTO provider_aggregates (provider, position, key, sent) \
         SELECT $1, v.position, v.key, v.sent \
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS v (key, sent, position)";
    let keys: Vec<&str> = aggregates.iter().map(|one| one.key.as_str()).collect();
    let sent: Vec<&str> = aggregates.iter().map(|one| one.sent.as_str()).collect();
    run(connection, "DELETE FROM provider_aggregates WHERE provider = $1", id).await?;
    sqlx::query(INSERT).bind(id.0).bind(keys).bind(sent).execute(connection).await.map(drop)
}

/// Returns the providers whose inventories are called otherwise now.
async fn change_class(connection: &mut PgConnection, change: &NameChange<ClassName>, now: i64) -> Result<Vec<i64>> {
    match change {
        NameChange::Create(name) => {
            let insert = sqlx::query("INSERT INTO classes (name, modified_at) VALUES ($1, $2)");
            insert.bind(name.as_str()).bind(now).execute(connection).await?;
        }
        NameChange::Delete(name) => {
            let delete = sqlx::query("DELETE FROM classes WHERE name = $1");
            delete.bind(name.as_str()).execute(connection).await?;
        }
        NameChange::Rename { from, to } => {
            const RENAME: &str = "WITH c AS (UPDATE classes SET name = $2, modified_at = $3 WHERE name = $1), \
                 a AS (UPDATE allocations SET class = $2 WHERE class = $1) \
                 UPDATE inventories SET class = $2 WHERE class = $1 RETURNING provider";
            let query = sqlx::query(RENAME).bind(from.as_str()).bind(to.as_str()).bind(now);
            return query.fetch_all(connection).await?.iter().map(|row| row.try_get(0)).collect();
        }
    }
    Ok(Vec::new())
}

async fn change_trait(connection: &mut PgConnection, change: &NameChange<TraitName>, now: i64) -> Result<()> {
    let query = match change {
        NameChange::Create(name) => {
            sqlx::query("INSERT INTO traits (name, created_at) VALUES ($1, $2)").bind(name.as_str()).bind(now)
        }
        NameChange::Delete(name) => sqlx::query("DELETE FROM traits WHERE name = $1").bind(name.as_str()),
        NameChange::Rename { from, to } => sqlx::query(
            "WITH p AS (UPDATE provider_traits SET trait = $2 WHERE trait = $1) \
             UPDATE traits SET name = $2 WHERE name = $1",
        )
        .bind(from.as_str())
        .bind(to.as_str()),
    };
    query.execute(connection).await.map(drop)
}
