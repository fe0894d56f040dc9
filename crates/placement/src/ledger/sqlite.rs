//! The ledger in SQLite. It decides that the process owns the file, that one thread writes and that readers have their own
//! connections; the model needs no question to the database, because nobody else writes.

mod apply;
mod backup;
mod contents;
mod file;
mod load;
mod questions;
mod readers;
mod rows;
mod writer;

use std::{
    sync::{
        Arc,
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};

use berth_placement_model::{Command, Key, Model};
use berth_telemetry::clock::Clock;
use futures::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use rusqlite::Connection;
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    ConsumerRecord, Ledger, LedgerError, LedgerMetrics, Operated, ProviderAllocations, Trouble, Usage, UsageQuestion,
    Written, check, shelf::Shelf,
};
pub use backup::backup;
pub use file::Place;
use readers::Readers;
use writer::{Job, Write, Writer};

/// Writes that wait; more are told to come back.
const WAITING: usize = 4096;

/// A ledger in a SQLite file, or in memory. The last clone that is dropped ends it.
#[derive(Clone)]
pub struct SqliteLedger {
    queue: SyncSender<Job>,
    readers: Option<Arc<Readers>>,
    shelf: Arc<Shelf>,
    ended: CancellationToken,
}

impl SqliteLedger {
    /// Takes the lock, opens the database and brings its schema up to date. The model is built behind this, and writes may
    /// already wait for it. Blocks; call it where that is allowed, with a runtime around.
    pub fn open(place: &Place, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Self, LedgerError> {
        let lock = match place {
            Place::File(path) => Some(file::Lock::take(path)?),
            Place::Memory => None,
        };
        let connection = file::writer(place)?;
        let readers = match place {
            Place::File(path) => Some(Arc::new(Readers::new(path.clone()))),
            Place::Memory => None,
        };
        let (queue, jobs) = sync_channel(WAITING);
        let (shelf, ended) = (Arc::new(Shelf::default()), CancellationToken::new());
        let writer = Writer {
            connection,
            shelf: shelf.clone(),
            clock,
            metrics,
            runtime: Handle::current(),
            lock,
            ended: ended.clone().drop_guard(),
        };
        let thread = std::thread::Builder::new().name("placement-writer".to_owned());
        thread.spawn(move || writer.run(&jobs)).map_err(|source| LedgerError::Thread { source })?;
        Ok(Self { queue, readers, shelf, ended })
    }

    /// From now on the file has at most so many pages: for tests, a disk of that size.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), Trouble> {
        self.ask_writer(move |connection| connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())))
            .await
    }

    fn enqueue(&self, job: Job) -> Result<(), Trouble> {
        self.queue.try_send(job).map_err(|error| {
            Trouble::Unavailable(match error {
                TrySendError::Full(_) => "too many writes wait".to_owned(),
                TrySendError::Disconnected(_) => "the writer has ended".to_owned(),
            })
        })
    }

    async fn do_write(&self, command: Command, until: Instant) -> Result<Written, Trouble> {
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Write(Box::new(Write { command, until, answer })))?;
        match timeout_at(until, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Trouble::Unknown("the writer has ended".to_owned())),
            Err(_) => Err(Trouble::Unknown("the disk takes too long".to_owned())),
        }
    }

    /// Reads from one state of the database that is in the model as well.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        until: Instant,
    ) -> Result<T, Trouble> {
        let asked = async {
            let answer = match &self.readers {
                Some(readers) => readers.ask(question).await,
                None => self.ask_writer(question).await,
            };
            self.shelf.settled().await;
            answer
        };
        timeout_at(until, asked)
            .await
            .unwrap_or_else(|_| Err(Trouble::Unavailable("the disk takes too long".to_owned())))
    }

    /// Only the thread that writes has the database that is in memory.
    async fn ask_writer<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Run(Box::new(move |connection| {
            // Whoever has gone does not read it.
            let _ = answer.send(question(connection));
        })))?;
        let answer = answered.await.map_err(|_| Trouble::Unavailable("the writer has ended".to_owned()))?;
        answer.map_err(|error| writer::unavailable(&error))
    }
}

impl SqliteLedger {
    /// A state of the database that does not change any more, and the model that it has to be.
    async fn compared(&self) -> Result<Vec<String>, Trouble> {
        let (models, readers) = (self.shelf.clone(), self.readers.clone());
        let Some(readers) = readers else {
            return self.ask_writer(move |connection| differences(connection, models.snapshot().as_deref())).await;
        };
        let begun = self.ask_writer(move |_| {
            // Nobody commits while the writer does this.
            let connection = readers.begun()?;
            Ok((connection, models.snapshot()))
        });
        let (connection, model) = begun.await?;
        let compared = tokio::task::spawn_blocking(move || differences(&connection, model.as_deref()));
        let compared = compared.await.map_err(|_| Trouble::Unavailable("the process ends".to_owned()))?;
        compared.map_err(|error| writer::unavailable(&error))
    }
}

/// What differs in the state that the connection sees.
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
        self.shelf.snapshot().is_none().then_some("the model is being built")
    }

    fn last_model(&self) -> Option<Arc<Model>> {
        self.shelf.snapshot()
    }

    fn age(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, Trouble>> {
        let late = || Err(Trouble::Unavailable("the comparison takes too long".to_owned()));
        async move { timeout_at(until, self.compared()).await.unwrap_or_else(|_| late()) }.boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        self.ended.cancelled().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let queue = self.queue.clone();
        async move {
            // The queue may be full, and then this waits like everybody else.
            let _ = tokio::task::spawn_blocking(move || queue.send(Job::End)).await;
            self.ended.cancelled().await;
        }
        .boxed()
    }
}

impl Ledger for SqliteLedger {
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, Trouble>> {
        self.do_write(command, until).boxed()
    }

    fn model(&self, _: Instant) -> BoxFuture<'_, Result<Arc<Model>, Trouble>> {
        let snapshot = self.shelf.snapshot();
        ready(snapshot.ok_or_else(|| Trouble::Unavailable("the model is being built".to_owned()))).boxed()
    }

    fn consumer<'a>(&'a self, key: &'a Key, until: Instant) -> BoxFuture<'a, Result<Option<ConsumerRecord>, Trouble>> {
        let key = key.clone();
        self.ask(move |connection| questions::consumer(connection, &key), until).boxed()
    }

    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, Trouble>> {
        let key = provider.clone();
        self.ask(move |connection| questions::consumers_at(connection, &key), until).boxed()
    }

    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, Trouble>> {
        self.ask(move |connection| questions::usages(connection, &question), until).boxed()
    }
}
