//! The ledger in PostgreSQL, for several processes. It decides who gets a connection for how long; locks, writes and what
//! keeps the model new are in the files below.

mod apply;
mod connect;
mod follow;
mod load;
mod news;
mod questions;
mod states;
mod write;

use std::{sync::Arc, time::Duration};

use berth_placement_model::{Command, Key, Model};
use berth_telemetry::clock::Clock;
use follow::{Asker, Follower, WAITING};
use futures::{FutureExt as _, future::BoxFuture};
use sqlx::PgPool;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout_at},
};

use super::{
    ConsumerRecord, Ledger, LedgerError, LedgerMetrics, ProviderAllocations, Trouble, Usage, UsageQuestion, Written,
    shelf::Shelf,
};

/// How old the last answer of the database may be for a process that is ready.
const FRESH: Duration = Duration::from_secs(10);

/// A ledger in a PostgreSQL database. The last clone that is dropped ends it.
#[derive(Clone)]
pub struct PostgresLedger {
    pool: PgPool,
    askers: mpsc::Sender<Asker>,
    shelf: Arc<Shelf>,
    checked: watch::Receiver<Option<Instant>>,
    clock: Arc<dyn Clock>,
    metrics: LedgerMetrics,
}

impl PostgresLedger {
    /// Brings the schema of the database at `url` up to date. The model is built behind this.
    pub async fn open(url: &str, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Self, LedgerError> {
        let options = connect::options(url)?;
        let connection = connect::connection(&options).await;
        connect::migrate(&mut connection.map_err(|source| LedgerError::Postgres { source })?).await?;
        let (askers, asked) = mpsc::channel(WAITING);
        let (checking, checked) = watch::channel(None);
        let shelf = Arc::new(Shelf::default());
        let pool = connect::pool(options.clone());
        let follower =
            Follower { options, shelf: shelf.clone(), metrics: metrics.clone(), askers: asked, checked: checking };
        tokio::spawn(follower.run());
        Ok(Self { pool, askers, shelf, checked, clock, metrics })
    }

    /// Ends all connections.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// What keeps it from working, if anything.
    pub fn impediment(&self) -> Option<&'static str> {
        if self.shelf.snapshot().is_none() {
            return Some("the model is being built");
        }
        let fresh = self.checked.borrow().is_some_and(|checked| checked.elapsed() < FRESH);
        (!fresh).then_some("the database has not answered for 10 s")
    }

    /// How long ago the database last said what is new.
    pub fn age(&self) -> Option<Duration> {
        self.checked.borrow().map(|checked| checked.elapsed())
    }

    /// The model without asking whether it is the newest, for metrics.
    pub fn last_model(&self) -> Option<Arc<Model>> {
        self.shelf.snapshot()
    }

    async fn newest(&self, until: Instant) -> Result<Arc<Model>, Trouble> {
        let unavailable = |why: &str| Trouble::Unavailable(why.to_owned());
        if self.shelf.snapshot().is_none() {
            return Err(unavailable("the model is being built"));
        }
        let (asker, told) = oneshot::channel();
        self.askers.try_send(asker).map_err(|_| unavailable("too many requests wait for the database"))?;
        match timeout_at(until, told).await {
            Ok(Ok(())) => self.shelf.snapshot().ok_or_else(|| unavailable("the model is being built")),
            Ok(Err(_)) => Err(unavailable("the model is being built")),
            Err(_) => Err(unavailable("the database takes too long")),
        }
    }

    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, sqlx::Error>>,
        until: Instant,
    ) -> Result<T, Trouble> {
        match timeout_at(until, question).await {
            Ok(answer) => answer.map_err(|error| Trouble::Unavailable(error.to_string())),
            Err(_) => Err(Trouble::Unavailable("the database takes too long".to_owned())),
        }
    }
}

impl Ledger for PostgresLedger {
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, Trouble>> {
        async move {
            let answer = write::write(&self.pool, &self.metrics, &command, || self.clock.now(), until).await;
            self.metrics.answered(&answer);
            answer
        }
        .boxed()
    }

    fn model(&self, until: Instant) -> BoxFuture<'_, Result<Arc<Model>, Trouble>> {
        self.newest(until).boxed()
    }

    fn consumer<'a>(&'a self, key: &'a Key, until: Instant) -> BoxFuture<'a, Result<Option<ConsumerRecord>, Trouble>> {
        self.ask(questions::consumer(&self.pool, key), until).boxed()
    }

    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, Trouble>> {
        self.ask(questions::consumers_at(&self.pool, provider), until).boxed()
    }

    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, Trouble>> {
        async move { self.ask(questions::usages(&self.pool, &question), until).await }.boxed()
    }
}
