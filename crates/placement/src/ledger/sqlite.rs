//! The ledger in SQLite. The process owns the file, one thread writes, and readers have their own connections.

mod apply;
mod backup;
mod contents;
mod file;
mod file_watch;
mod inspect;
mod load;
mod rows;
mod writer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use berth_placement_model::{ClassName, Command, Key, Model};
use berth_telemetry::clock::Clock;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, Result, params};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, interval, timeout_at};
use tokio_util::sync::CancellationToken;

use super::failure_log::{FailedUse, report_failure};
use super::model_cache::ModelCache;
use super::times::timestamp;
use super::{
    ConsumerRecord, KindFilter, Ledger, LedgerError, LedgerMetrics, LedgerProblem, Operated, ProviderAllocations,
    RequestError, Usage, UsageQuestion, Written, check,
};
use file_watch::FileWatch;
use rows::Names;
use writer::{Job, Write, Writer, unavailable};

pub use backup::backup;
pub use file::LedgerLocation;
pub use inspect::inspect;

/// The bound of waiting writes; further ones get 503.
const WAITING: usize = 4096;

/// A ledger in a SQLite file, or in memory. The last clone that is dropped ends it.
#[derive(Clone)]
pub struct SqliteLedger {
    queue: SyncSender<Job>,
    readers: Option<Arc<Readers>>,
    cache: Arc<ModelCache>,
    /// Of a database in a file.
    files: Option<Arc<FileWatch>>,
    ended: CancellationToken,
}

impl SqliteLedger {
    /// Takes the lock, opens the database and brings its schema up to date. The model is built behind this, and writes may
    /// already wait for it. Blocks; call it where that is allowed, with a runtime around.
    pub fn open(place: &LedgerLocation, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Self, LedgerError> {
        let lock = match place {
            LedgerLocation::File(path) => Some(file::Lock::take(path)?),
            LedgerLocation::Memory => None,
        };
        let connection = file::writer(place)?;
        let (readers, files) = match place {
            LedgerLocation::File(path) => {
                (Some(Arc::new(Readers::new(path.clone()))), Some(Arc::new(FileWatch::new(path))))
            }
            LedgerLocation::Memory => (None, None),
        };
        let (queue, jobs) = sync_channel(WAITING);
        let (cache, ended) = (Arc::new(ModelCache::default()), CancellationToken::new());
        let writer = Writer {
            connection,
            cache: cache.clone(),
            clock,
            metrics,
            runtime: Handle::current(),
            lock,
            files: files.clone(),
            ended: ended.clone().drop_guard(),
        };
        let thread = std::thread::Builder::new().name("placement-writer".to_owned());
        thread.spawn(move || writer.run(&jobs)).map_err(|source| LedgerError::Thread { source })?;
        if let (Some(readers), Some(files)) = (&readers, &files) {
            tokio::spawn(observe_files(files.clone(), readers.clone(), ended.clone()));
        }
        Ok(Self { queue, readers, cache, files, ended })
    }

    /// An error if the path of the database does not lead to it any more: what is written then is lost at the end of the process,
    /// and what is read may be of another database.
    fn require_file(&self) -> Result<(), RequestError> {
        match self.displaced() {
            Some(problem) => Err(RequestError::Unavailable(problem.text().to_owned())),
            None => Ok(()),
        }
    }

    fn displaced(&self) -> Option<LedgerProblem> {
        self.files.as_ref()?.displaced()
    }

    /// From now on the file has at most so many pages: for tests, a disk of that size.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), RequestError> {
        self.ask_writer(move |connection| connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())))
            .await
    }

    fn enqueue(&self, job: Job) -> Result<(), RequestError> {
        self.queue.try_send(job).map_err(|error| {
            RequestError::Unavailable(match error {
                TrySendError::Full(_) => "too many writes wait".to_owned(),
                TrySendError::Disconnected(_) => "the writer has ended".to_owned(),
            })
        })
    }

    async fn do_write(&self, command: Command, until: Instant) -> Result<Written, RequestError> {
        self.require_file()?;
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Write(Box::new(Write { command, until, answer })))?;
        match timeout_at(until, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(RequestError::Unknown("the writer has ended".to_owned())),
            Err(_) => Err(RequestError::Unknown("the disk takes too long".to_owned())),
        }
    }

    /// Reads from one state of the database that is in the model as well.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        until: Instant,
    ) -> Result<T, RequestError> {
        self.require_file()?;
        let asked = async {
            let answer = match &self.readers {
                Some(readers) => readers.ask(question).await,
                None => self.ask_writer(question).await,
            };
            self.cache.settled().await;
            answer
        };
        timeout_at(until, asked)
            .await
            .unwrap_or_else(|_| Err(RequestError::Unavailable("the disk takes too long".to_owned())))
    }

    /// Only the thread that writes has the database that is in memory.
    async fn ask_writer<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, RequestError> {
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Run(Box::new(move |connection| {
            // A caller that is gone does not read it.
            let _ = answer.send(question(connection));
        })))?;
        let answer = answered.await.map_err(|_| RequestError::Unavailable("the writer has ended".to_owned()))?;
        answer.map_err(|error| writer::unavailable(&error))
    }
}

impl SqliteLedger {
    /// A state of the database that does not change any more, and the model that must equal it.
    async fn compared(&self) -> Result<Vec<String>, RequestError> {
        self.require_file()?;
        let (models, readers) = (self.cache.clone(), self.readers.clone());
        let Some(readers) = readers else {
            return self.ask_writer(move |connection| differences(connection, models.snapshot().as_deref())).await;
        };
        let started = self.ask_writer(move |_| {
            // No commit takes place while the writer does this.
            let connection = readers.begin_read()?;
            Ok((connection, models.snapshot()))
        });
        let (connection, model) = started.await?;
        let compared = tokio::task::spawn_blocking(move || differences(&connection, model.as_deref()));
        let compared = compared.await.map_err(|_| RequestError::Unavailable("the process ends".to_owned()))?;
        compared.map_err(|error| writer::unavailable(&error))
    }
}

/// The differences in the state that the connection sees.
fn differences(connection: &Connection, model: Option<&Model>) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    if let Some(model) = model {
        found = check::differences(model, &contents::contents(connection)?);
    }
    for query in check::QUERIES {
        let mut statement = connection.prepare(query)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    found.truncate(check::MOST);
    Ok(found)
}

impl Operated for SqliteLedger {
    fn impediment(&self) -> Option<&'static str> {
        if self.ended.is_cancelled() {
            return Some("the writer has ended");
        }
        if let Some(problem) = self.displaced() {
            return Some(problem.text());
        }
        self.cache.snapshot().is_none().then_some("the model is being built")
    }

    fn impairment(&self) -> Option<&'static str> {
        self.files.as_ref().filter(|files| files.is_full()).map(|_| LedgerProblem::DiskFull.text())
    }

    fn problems(&self) -> Vec<(LedgerProblem, bool)> {
        let Some(files) = &self.files else { return Vec::new() };
        let (displaced, is_full) = (files.displaced(), files.is_full());
        let holds = |problem| displaced == Some(problem) || (is_full && problem == LedgerProblem::DiskFull);
        LedgerProblem::ALL.map(|problem| (problem, holds(problem))).to_vec()
    }

    fn last_model(&self) -> Option<Arc<Model>> {
        self.cache.snapshot()
    }

    fn age(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, RequestError>> {
        let late = || Err(RequestError::Unavailable("the comparison takes too long".to_owned()));
        async move { timeout_at(until, self.compared()).await.unwrap_or_else(|_| late()) }.boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        self.ended.cancelled().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let queue = self.queue.clone();
        async move {
            // The queue may be full, and then this waits like all others.
            let _ = tokio::task::spawn_blocking(move || queue.send(Job::End)).await;
            self.ended.cancelled().await;
        }
        .boxed()
    }
}

impl Ledger for SqliteLedger {
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, RequestError>> {
        self.do_write(command, until).boxed()
    }

    fn model(&self, _: Instant) -> BoxFuture<'_, Result<Arc<Model>, RequestError>> {
        let snapshot = self.cache.snapshot();
        ready(snapshot.ok_or_else(|| RequestError::Unavailable("the model is being built".to_owned()))).boxed()
    }

    fn consumer<'a>(
        &'a self,
        key: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ConsumerRecord>, RequestError>> {
        let key = key.clone();
        self.ask(move |connection| consumer(connection, &key), until).boxed()
    }

    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, RequestError>> {
        let key = provider.clone();
        self.ask(move |connection| consumers_at(connection, &key), until).boxed()
    }

    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, RequestError>> {
        self.ask(move |connection| usages(connection, &question), until).boxed()
    }
}

/// How often the files of a ledger are checked.
const FILE_CHECKS: Duration = Duration::from_millis(500);

/// Checks the files until the ledger has ended.
async fn observe_files(files: Arc<FileWatch>, readers: Arc<Readers>, ended: CancellationToken) {
    let mut tick = interval(FILE_CHECKS);
    while ended.run_until_cancelled(tick.tick()).await.is_some() {
        let checked = files.clone();
        // Meanwhile what was known before holds: a disk that does not answer is no problem of the files.
        let _ = tokio::task::spawn_blocking(move || checked.check()).await;
        if files.displaced().is_some() {
            // They may be of another file, and must not be used when the former one is back.
            readers.idle.lock().clear();
        }
    }
}

// Read-only connections. They bound the number of concurrent queries; each query runs in one transaction, on a thread
// that may block.

/// Questions at the same time; more wait.
const MOST: usize = 4;

struct Readers {
    path: PathBuf,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        Self { path, permits: Arc::new(Semaphore::new(MOST)), idle: Mutex::default() }
    }

    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, RequestError> {
        let closed = || RequestError::Unavailable("the process ends".to_owned());
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| closed())?;
        let readers = self.clone();
        // The permit goes along: a query whose client is gone still uses a connection.
        let asked = tokio::task::spawn_blocking(move || {
            let answer = readers.ask_now(question);
            drop(permit);
            answer
        });
        asked.await.unwrap_or_else(|_| Err(closed()))
    }

    /// A separate connection with an open transaction, which ends with the connection.
    pub fn begin_read(&self) -> rusqlite::Result<Connection> {
        let connection = file::reader_of(&self.path)?;
        connection.execute_batch("BEGIN; SELECT version FROM schema")?;
        Ok(connection)
    }

    fn ask_now<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RequestError> {
        let mut connection = self.connection()?;
        let started = connection.transaction().map_err(|error| unavailable(&error))?;
        let answer = question(&started).map_err(|error| unavailable(&error))?;
        drop(started);
        self.idle.lock().push(connection);
        Ok(answer)
    }

    fn connection(&self) -> Result<Connection, RequestError> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(
            || {
                file::reader(&self.path)
                    .map_err(|error| RequestError::Unavailable(report_failure(FailedUse::Read, error)))
            },
            Ok,
        )
    }
}

// Consumers and usages are read by SQL and not from the model. The caller runs each query in one transaction, so a
// response is from one state.

fn consumer(connection: &Connection, key: &Key) -> Result<Option<ConsumerRecord>> {
    const ALLOCATIONS: &str = "SELECT p.uuid, p.generation, a.class, a.used, a.created_at \
         FROM allocations a JOIN providers p ON p.id = a.provider WHERE a.consumer = ?1 ORDER BY a.position, p.id";
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

fn consumers_at(connection: &Connection, provider: &Key) -> Result<Option<ProviderAllocations>> {
    const ALLOCATIONS: &str = "SELECT a.consumer, c.generation, a.class, a.used, a.created_at \
         FROM allocations a JOIN consumers c ON c.uuid = a.consumer WHERE a.provider = ?1 \
         ORDER BY a.consumer, a.class";
    let mut statement = connection.prepare_cached("SELECT id, generation FROM providers WHERE uuid = ?1")?;
    let found = statement.query_row([provider.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
    let Some((id, generation)) = found.optional()? else { return Ok(None) };
    let mut names = Names::default();
    let mut all = ProviderAllocations { generation, consumers: Vec::new(), modified: None };
    let mut statement = connection.prepare_cached(ALLOCATIONS)?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let amount = (names.class(row.get_ref(2)?.as_str()?), rows::amount(row, 3)?);
        all.add(row.get_ref(0)?.as_str()?, row.get(1)?, amount, timestamp(row.get(4)?));
    }
    Ok(Some(all))
}

fn usages(connection: &Connection, question: &UsageQuestion) -> Result<Vec<Usage>> {
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
