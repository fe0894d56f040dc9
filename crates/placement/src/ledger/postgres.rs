//! The ledger in PostgreSQL, for several processes.

mod apply;
mod change_sets;
mod connect;
mod follow;
mod load;
mod pool;
mod states;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::{ClassName, Command, Key, Model};
use berth_telemetry::clock::Clock;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use sqlx::{Connection as _, Executor as _, Row as _};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::failure_log::{FailedUse, report_failure};
use super::model_cache::{self, ModelCache};
use super::schema::Inspected;
use super::times::timestamp;
use super::{
    ConsumerRecord, KindFilter, Ledger, LedgerError, LedgerMetrics, LedgerProblem, Operated, ProviderAllocations,
    RequestError, Usage, UsageQuestion, Written, check,
};
use follow::{Position, ReplicaFollower, WAITING, Waiter};
use pool::Pool;
use states::amount;
use write::Space;

/// How old the last answer of the database may be for a process that is ready.
const FRESH: Duration = Duration::from_secs(10);

/// A ledger in a PostgreSQL database. The last clone that is dropped ends it.
#[derive(Clone)]
pub struct PostgresLedger {
    pool: Arc<Pool>,
    waiters: mpsc::Sender<Waiter>,
    cache: Arc<ModelCache>,
    position: watch::Receiver<Option<Position>>,
    clock: Arc<dyn Clock>,
    metrics: LedgerMetrics,
    space: Arc<Space>,
}

impl PostgresLedger {
    /// Brings the schema of the database at `url` up to date. The model is built behind this.
    pub async fn open(url: &str, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Self, LedgerError> {
        let options = connect::options(url)?;
        let mut connection = connect::connection(&options).await.map_err(connect::refused)?;
        connect::migrate(&mut connection).await?;
        let (waiters, asked) = mpsc::channel(WAITING);
        let (reported, position) = watch::channel(None);
        let cache = Arc::new(ModelCache::default());
        let pool = Arc::new(Pool::new(options.clone()));
        let follower = ReplicaFollower {
            options,
            pool: pool.clone(),
            cache: cache.clone(),
            metrics: metrics.clone(),
            waiters: asked,
            position: reported,
        };
        tokio::spawn(follower.run());
        Ok(Self { pool, waiters, cache, position, clock, metrics, space: Arc::default() })
    }

    /// Where the server listens.
    pub fn port(url: &str) -> Result<u16, LedgerError> {
        Ok(connect::options(url)?.get_port())
    }

    /// Connects, and looks at the schema without changing it.
    pub async fn inspect(url: &str) -> Result<Inspected, LedgerError> {
        let mut connection = connect::connection(&connect::options(url)?).await.map_err(connect::refused)?;
        connect::inspect(&mut connection).await
    }

    async fn newest(&self, until: Instant) -> Result<Arc<Model>, RequestError> {
        let unavailable = |why: &str| RequestError::Unavailable(why.to_owned());
        if self.cache.snapshot().is_none() {
            return Err(unavailable("the model is being built"));
        }
        let (requester, reported) = oneshot::channel();
        self.waiters.try_send(requester).map_err(|_| unavailable("too many requests wait for the database"))?;
        match timeout_at(until, reported).await {
            Ok(Ok(())) => self.cache.snapshot().ok_or_else(|| unavailable("the model is being built")),
            Ok(Err(_)) => Err(unavailable("the model is being built")),
            Err(_) => Err(unavailable("the database takes too long")),
        }
    }

    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, sqlx::Error>>,
        until: Instant,
    ) -> Result<T, RequestError> {
        match timeout_at(until, question).await {
            Ok(answer) => answer.map_err(|error| RequestError::Unavailable(report_failure(FailedUse::Read, error))),
            Err(_) => Err(RequestError::Unavailable("the database takes too long".to_owned())),
        }
    }
}

impl PostgresLedger {
    /// Brings a copy of the model to the snapshot of one transaction, and compares it with what that transaction sees.
    async fn compared(&self) -> Result<Vec<String>, sqlx::Error> {
        let Some(Position { seen, model, .. }) = self.position.borrow().clone() else {
            return Ok(vec!["there is no model yet".to_owned()]);
        };
        let mut connection = self.pool.lend().await?;
        let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        transaction.execute("SET LOCAL enable_seqscan = on; SET LOCAL statement_timeout = '60s'").await?;
        let (changes, contents) = change_sets::both(&mut transaction, &seen).await?;
        let Some(changes) = changes else { return Ok(vec!["the model is outdated and is being rebuilt".to_owned()]) };
        let mut found = check::differences(&model_cache::changed(&model, changes), &contents);
        for query in check::QUERIES {
            for row in transaction.fetch_all(query).await? {
                found.push(row.try_get(0)?);
            }
        }
        found.truncate(check::MOST);
        transaction.rollback().await?;
        connection.give_back();
        Ok(found)
    }
}

impl Operated for PostgresLedger {
    fn impediment(&self) -> Option<&'static str> {
        match self.age() {
            None => Some("the model is being built"),
            Some(age) if age < FRESH => None,
            Some(_) => Some("the database has not answered for 10 s"),
        }
    }

    fn impairment(&self) -> Option<&'static str> {
        self.space.is_full().then(|| LedgerProblem::DiskFull.text())
    }

    fn problems(&self) -> Vec<(LedgerProblem, bool)> {
        vec![(LedgerProblem::DiskFull, self.space.is_full())]
    }

    fn last_model(&self) -> Option<Arc<Model>> {
        self.cache.snapshot()
    }

    fn age(&self) -> Option<Duration> {
        self.position.borrow().as_ref().map(|position| position.at.elapsed())
    }

    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, RequestError>> {
        async move { self.ask(self.compared(), until).await }.boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        self.waiters.closed().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.pool.close().boxed()
    }
}

impl Ledger for PostgresLedger {
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, RequestError>> {
        async move {
            let answer =
                write::write(&self.pool, (&self.metrics, &self.space), &command, || self.clock.now(), until).await;
            self.metrics.answered(&answer);
            answer
        }
        .boxed()
    }

    fn model(&self, until: Instant) -> BoxFuture<'_, Result<Arc<Model>, RequestError>> {
        self.newest(until).boxed()
    }

    fn consumer<'a>(
        &'a self,
        key: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ConsumerRecord>, RequestError>> {
        self.ask(consumer(&self.pool, key), until).boxed()
    }

    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, RequestError>> {
        self.ask(consumers_at(&self.pool, provider), until).boxed()
    }

    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, RequestError>> {
        async move { self.ask(usages(&self.pool, &question), until).await }.boxed()
    }
}

// Consumers and usages are read by SQL and not from the model. Each response is from one statement, so from one state.

async fn consumer(pool: &Pool, key: &Key) -> sqlx::Result<Option<ConsumerRecord>> {
    const CONSUMER: &str = "SELECT c.generation, c.project, c.\"user\", c.kind, p.uuid, p.generation, a.class, a.used, \
         a.created_at FROM consumers c JOIN allocations a ON a.consumer = c.uuid JOIN providers p ON p.id = a.provider \
         WHERE c.uuid = $1 ORDER BY a.position, p.id";
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

async fn consumers_at(pool: &Pool, provider: &Key) -> sqlx::Result<Option<ProviderAllocations>> {
    const CONSUMERS: &str = "SELECT p.generation, c.uuid, c.generation, a.class, a.used, a.created_at \
         FROM providers p LEFT JOIN (allocations a JOIN consumers c ON c.uuid = a.consumer) ON a.provider = p.id \
         WHERE p.uuid = $1 ORDER BY c.uuid COLLATE \"C\", a.class COLLATE \"C\"";
    let mut all: Option<ProviderAllocations> = None;
    for row in pool.rows(sqlx::query(CONSUMERS).bind(provider.as_str())).await? {
        let generation = row.try_get(0)?;
        let all = all.get_or_insert_with(|| ProviderAllocations { generation, consumers: Vec::new(), modified: None });
        let Some(consumer) = row.try_get::<Option<&str>, _>(1)? else { continue };
        let used = (ClassName::new(row.try_get(3)?), amount(row.try_get(4)?));
        all.add(consumer, row.try_get(2)?, used, timestamp(row.try_get(5)?));
    }
    Ok(all)
}

async fn usages(pool: &Pool, question: &UsageQuestion) -> sqlx::Result<Vec<Usage>> {
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
