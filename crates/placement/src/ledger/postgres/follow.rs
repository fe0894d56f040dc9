//! Keeps the model as new as the database for everybody who reads. It decides that whoever asks gets what a query says that
//! began after he asked, that those who wait share one, and that a model which may have missed something is built anew.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::Model;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, interval, sleep, timeout};

use super::connect;
use super::news::{self, Seen, Since};
use super::pool::Pool;
use crate::ledger::LedgerMetrics;
use crate::ledger::shelf::{self, Shelf};

/// For a version query.
const QUERY: Duration = Duration::from_secs(2);
/// For reading everything.
const BUILD: Duration = Duration::from_secs(60);
/// Somebody always asks, so that `/readyz` knows, and few records wait.
const TICK: Duration = Duration::from_secs(2);
const PRUNE: Duration = Duration::from_secs(60);
/// Between two attempts to reach the database.
const PAUSE: Duration = Duration::from_millis(250);
/// Askers that wait, at most.
pub(super) const WAITING: usize = 16_384;

/// Who waits for a version, and is told that the model has it.
pub(super) type Asker = oneshot::Sender<()>;

/// Follows a database.
pub(super) struct Follower {
    pub options: PgConnectOptions,
    /// For what nobody waits for. Told when the database does not answer, so that requests make new connections.
    pub pool: Arc<Pool>,
    pub shelf: Arc<Shelf>,
    pub metrics: LedgerMetrics,
    pub askers: mpsc::Receiver<Asker>,
    /// The last answer of the database.
    pub position: watch::Sender<Option<Position>>,
}

/// How far a replica is.
#[derive(Clone)]
pub(super) struct Position {
    /// When the database said so.
    pub at: Instant,
    /// What the model has seen.
    pub seen: Seen,
    /// The model.
    pub model: Arc<Model>,
}

/// Why a connection is not used any more.
enum End {
    /// Nobody is left who could ask.
    Unwanted,
    /// It is broken, or something was missed.
    Broken(String),
}

impl Follower {
    /// Follows until nobody is left who could ask.
    pub async fn run(mut self) {
        let pool = self.pool.clone();
        tokio::select! {
            () = self.follow_on() => {}
            never = prune(&pool) => match never {}
        }
    }

    async fn follow_on(&mut self) {
        loop {
            let ended = match self.build().await {
                Ok((connection, seen)) => self.follow(connection, seen).await,
                Err(error) => End::Broken(error.to_string()),
            };
            let End::Broken(why) = ended else { return };
            self.shelf.place(None);
            self.position.send_replace(None);
            self.pool.forget();
            tracing::warn!(why, "the model is dropped and built anew");
            self.refuse_waiting();
            sleep(PAUSE).await;
            if self.askers.is_closed() {
                return;
            }
        }
    }

    /// Those who wait now read that there is no model.
    fn refuse_waiting(&mut self) {
        while let Ok(asker) = self.askers.try_recv() {
            drop(asker);
        }
    }

    fn report(&self, seen: &Seen) {
        let position = |model| Position { at: Instant::now(), seen: seen.clone(), model };
        self.position.send_replace(self.shelf.snapshot().map(position));
    }

    async fn build(&self) -> Result<(PgConnection, Seen), sqlx::Error> {
        let mut connection = connect::connection(&self.options).await?;
        let read = timeout(BUILD, news::contents(&mut connection)).await;
        let (contents, seen) = read.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        self.shelf.place(Some(shelf::model_of(contents)));
        self.metrics.rebuilt();
        self.report(&seen);
        Ok((connection, seen))
    }

    async fn follow(&mut self, mut connection: PgConnection, mut seen: Seen) -> End {
        let mut tick = interval(TICK);
        loop {
            let mut waiting = Vec::new();
            tokio::select! {
                asker = self.askers.recv() => match asker {
                    Some(asker) => waiting.push(asker),
                    None => return End::Unwanted,
                },
                _ = tick.tick() => {}
            }
            while let Ok(asker) = self.askers.try_recv() {
                waiting.push(asker);
            }
            match timeout(QUERY, news::since(&mut connection, &seen)).await {
                Ok(Ok(Since::News(news, now))) => {
                    self.shelf.change(news);
                    seen = now;
                }
                Ok(Ok(Since::Lost)) => return End::Broken("it was too long without news".to_owned()),
                Ok(Err(error)) => return End::Broken(error.to_string()),
                Err(_) => return End::Broken("the database takes more than 2 s to say what is new".to_owned()),
            }
            self.report(&seen);
            for asker in waiting {
                // Whoever does not wait any more needs no answer.
                let _ = asker.send(());
            }
        }
    }
}

/// Removes old records now and then, on a connection of its own so that no reader waits for it. Others prune too; what one of
/// them misses is for the next.
async fn prune(pool: &Pool) -> Infallible {
    let mut each = interval(PRUNE);
    loop {
        each.tick().await;
        let pruned = timeout(PRUNE, async {
            let mut connection = pool.lend().await?;
            news::prune(&mut connection).await?;
            connection.give_back();
            Ok::<_, sqlx::Error>(())
        });
        if let Ok(Err(error)) = pruned.await {
            tracing::debug!(%error, "old records are pruned later");
        }
    }
}
