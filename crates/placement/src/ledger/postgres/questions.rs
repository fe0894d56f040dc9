//! What is read by SQL and not from the model: consumers and usages. Each answer is of one statement, so of one state.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, Key};
use sqlx::Row as _;

use super::{pool::Pool, states::amount};
use crate::ledger::{ConsumerRecord, KindFilter, ProviderAllocations, Usage, UsageQuestion, times::timestamp};

type Result<T> = std::result::Result<T, sqlx::Error>;

/// A consumer with what it has.
pub(super) async fn consumer(pool: &Pool, key: &Key) -> Result<Option<ConsumerRecord>> {
    const CONSUMER: &str = "SELECT c.generation, c.project, c.\"user\", c.kind, p.uuid, p.generation, a.class, a.used, \
         a.created_at FROM consumers c JOIN allocations a ON a.consumer = c.uuid JOIN providers p ON p.id = a.provider \
         WHERE c.uuid = $1 ORDER BY p.id";
    let mut record: Option<ConsumerRecord> = None;
    for row in pool.rows(sqlx::query(CONSUMER).bind(key.as_str())).await? {
        let modified = timestamp(row.try_get(8)?);
        let record = match &mut record {
            Some(record) => record,
            None => record.insert(ConsumerRecord {
                generation: row.try_get(0)?,
                project: row.try_get(1)?,
                user: row.try_get(2)?,
                kind: row.try_get(3)?,
                allocations: Vec::new(),
                modified,
            }),
        };
        record.modified = record.modified.max(modified);
        let provider = Key::new(row.try_get(4)?);
        let (class, used) = (ClassName::new(row.try_get(6)?), amount(row.try_get(7)?));
        match record.allocations.last_mut().filter(|(last, ..)| *last == provider) {
            Some((_, _, amounts)) => drop(amounts.insert(class, used)),
            None => record.allocations.push((provider, row.try_get(5)?, BTreeMap::from([(class, used)]))),
        }
    }
    Ok(record)
}

/// Who has allocations at a provider.
pub(super) async fn consumers_at(pool: &Pool, provider: &Key) -> Result<Option<ProviderAllocations>> {
    const CONSUMERS: &str = "SELECT p.generation, c.uuid, c.generation, a.class, a.used, a.created_at \
         FROM providers p LEFT JOIN (allocations a JOIN consumers c ON c.uuid = a.consumer) ON a.provider = p.id \
         WHERE p.uuid = $1";
    let mut all: Option<ProviderAllocations> = None;
    for row in pool.rows(sqlx::query(CONSUMERS).bind(provider.as_str())).await? {
        let generation = row.try_get(0)?;
        let all =
            all.get_or_insert_with(|| ProviderAllocations { generation, consumers: BTreeMap::new(), modified: None });
        let Some(consumer) = row.try_get::<Option<&str>, _>(1)? else { continue };
        let generation = row.try_get(2)?;
        let (_, amounts) = all.consumers.entry(Key::new(consumer)).or_insert((generation, BTreeMap::new()));
        amounts.insert(ClassName::new(row.try_get(3)?), amount(row.try_get(4)?));
        all.modified = all.modified.max(Some(timestamp(row.try_get(5)?)));
    }
    Ok(all)
}

/// Sums by type, document 51 section 10.
pub(super) async fn usages(pool: &Pool, question: &UsageQuestion) -> Result<Vec<Usage>> {
    const USAGES: &str = "WITH chosen AS MATERIALIZED (SELECT uuid, kind FROM consumers \
           WHERE project = $1 AND ($2::text IS NULL OR \"user\" = $2) AND ($3 OR kind IS NOT DISTINCT FROM $4)), \
         counted AS (SELECT kind, count(*) AS consumers FROM chosen GROUP BY kind) \
         SELECT n.kind, n.consumers, s.class, s.used FROM counted n \
         JOIN (SELECT c.kind, a.class, sum(a.used)::bigint AS used \
           FROM chosen c JOIN allocations a ON a.consumer = c.uuid GROUP BY c.kind, a.class) s \
         ON s.kind IS NOT DISTINCT FROM n.kind";
    let (any, kind) = match &question.kind {
        None => (true, None),
        Some(KindFilter::Unset) => (false, None),
        Some(KindFilter::Is(kind)) => (false, Some(kind)),
    };
    let query = sqlx::query(USAGES).bind(&question.project).bind(&question.user).bind(any).bind(kind);
    let mut found: BTreeMap<Option<String>, Usage> = BTreeMap::new();
    for row in pool.rows(query).await? {
        let kind: Option<String> = row.try_get(0)?;
        let consumers = amount(row.try_get(1)?);
        let usage = found.entry(kind.clone()).or_insert(Usage { kind, consumers, resources: BTreeMap::new() });
        usage.resources.insert(ClassName::new(row.try_get(2)?), amount(row.try_get(3)?));
    }
    Ok(found.into_values().collect())
}
