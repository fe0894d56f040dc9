//! Keeps the model as new as the database. A reader gets a state that is at least as new as its request; waiters share
//! a query, and a model that may have missed a change is rebuilt.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::Model;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, interval, sleep, timeout};

use super::change_sets::{self, ChangesSince, SeenTransactions};
use super::connect;
use super::pool::Pool;
use crate::ledger::LedgerMetrics;
use crate::ledger::model_cache::{self, ModelCache};

const QUERY: Duration = Duration::from_secs(2);
const BUILD: Duration = Duration::from_secs(60);
/// There is always a query, so that `/readyz` knows, and few records wait.
const TICK: Duration = Duration::from_secs(2);
const PRUNE: Duration = Duration::from_secs(60);
/// Between two attempts to reach the database.
const PAUSE: Duration = Duration::from_millis(250);
pub(super) const WAITING: usize = 16_384;

/// Waits for a version, and is notified when the model has it.
pub(super) type Waiter = oneshot::Sender<()>;

/// Follows a database.
pub(super) struct ReplicaFollower {
    pub options: PgConnectOptions,
    /// Used for work that has no waiter. It is notified when the database does not respond, so that requests make new
    /// connections.
    pub pool: Arc<Pool>,
    pub cache: Arc<ModelCache>,
    pub metrics: LedgerMetrics,
    pub waiters: mpsc::Receiver<Waiter>,
    pub position: watch::Sender<Option<Position>>,
}

/// How far a replica is.
#[derive(Clone)]
pub(super) struct Position {
    pub at: Instant,
    pub seen: SeenTransactions,
    pub model: Arc<Model>,
}

/// Why a connection is not used any more.
enum ConnectionEnd {
    Unwanted,
    Broken(String),
}

impl ReplicaFollower {
    /// Follows until all senders are gone.
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
                Err(error) => ConnectionEnd::Broken(error.to_string()),
            };
            let ConnectionEnd::Broken(why) = ended else { return };
            self.cache.set(None);
            self.position.send_replace(None);
            self.pool.forget();
            tracing::warn!(why, "model rebuilt");
            self.reject_waiters();
            sleep(PAUSE).await;
            if self.waiters.is_closed() {
                return;
            }
        }
    }

    /// Those who wait now read that there is no model.
    fn reject_waiters(&mut self) {
        while let Ok(requester) = self.waiters.try_recv() {
            drop(requester);
        }
    }

    fn report(&self, seen: &SeenTransactions) {
        let position = |model| Position { at: Instant::now(), seen: seen.clone(), model };
        self.position.send_replace(self.cache.snapshot().map(position));
    }

    async fn build(&self) -> Result<(PgConnection, SeenTransactions), sqlx::Error> {
        let mut connection = connect::connection(&self.options).await?;
        let read = timeout(BUILD, change_sets::contents(&mut connection)).await;
        let (contents, seen) = read.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        self.cache.set(Some(model_cache::model_of(contents)));
        self.metrics.rebuilt();
        self.report(&seen);
        Ok((connection, seen))
    }

    async fn follow(&mut self, mut connection: PgConnection, mut seen: SeenTransactions) -> ConnectionEnd {
        let mut tick = interval(TICK);
        loop {
            let mut waiting = Vec::new();
            tokio::select! {
                requester = self.waiters.recv() => match requester {
                    Some(requester) => waiting.push(requester),
                    None => return ConnectionEnd::Unwanted,
                },
                _ = tick.tick() => {}
            }
            while let Ok(requester) = self.waiters.try_recv() {
                waiting.push(requester);
            }
            match timeout(QUERY, change_sets::changes_since(&mut connection, &seen)).await {
                Ok(Ok(ChangesSince::Changes(changes, now))) => {
                    self.cache.change(changes);
                    seen = now;
                }
                Ok(Ok(ChangesSince::Lost)) => return ConnectionEnd::Broken("it was too long without news".to_owned()),
                Ok(Err(error)) => return ConnectionEnd::Broken(error.to_string()),
                Err(_) => {
                    return ConnectionEnd::Broken("the database takes more than 2 s to say what is new".to_owned());
                }
            }
            self.report(&seen);
            for requester in waiting {
                // A waiter that is gone needs no answer.
                let _ = requester.send(());
            }
        }
    }
}

/// Removes old records from time to time, on a connection of its own so that no reader waits for it. All replicas do
/// this; records that one of them leaves are removed by the next.
async fn prune(pool: &Pool) -> Infallible {
    let mut each = interval(PRUNE);
    loop {
        each.tick().await;
        let pruned = timeout(PRUNE, async {
            let mut connection = pool.lend().await?;
            change_sets::prune(&mut connection).await?;
            connection.give_back();
            Ok::<_, sqlx::Error>(())
        });
        if let Ok(Err(error)) = pruned.await {
            tracing::debug!(%error, "old records not pruned");
        }
    }
}
