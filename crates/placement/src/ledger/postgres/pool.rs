//! Connections that requests share. A connection that was left in the middle of a statement is closed, and one that
//! does not answer releases its place.
//!
//! The pool of sqlx 0.8 does neither: when the future of a request is dropped while `BEGIN` is under way, the
//! connection returns with an open transaction (<https://github.com/launchbadge/sqlx/issues/3124>).

use std::mem;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, PgConnection, Postgres};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use super::connect::{self, WAIT};

/// Connections of one process, without the one that follows changes.
const MOST: u32 = 16;
/// Something between here and the database may forget a connection that has been quiet for longer.
const QUIET: Duration = Duration::from_secs(600);
const CLOSE: Duration = Duration::from_secs(1);

/// Connections on demand.
pub(super) struct Pool {
    options: PgConnectOptions,
    places: Semaphore,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: PgConnection,
    since: Instant,
}

/// A connection for one piece of work. It is closed if the borrower does not return it, because the work failed or was
/// given up; the database then rolls back the open transaction.
pub(super) struct Lent<'a> {
    pool: &'a Pool,
    connection: PgConnection,
    _place: SemaphorePermit<'a>,
}

impl Pool {
    pub fn new(options: PgConnectOptions) -> Self {
        Self { options, places: Semaphore::new(MOST as usize), idle: Mutex::default() }
    }

    /// A connection within 5 s. One that broke while it was idle fails at its first statement.
    pub async fn lend(&self) -> Result<Lent<'_>, sqlx::Error> {
        let lent = timeout(WAIT, async {
            let place = self.places.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
            let connection = match self.take() {
                Some(idle) => idle,
                None => connect::connection(&self.options).await?,
            };
            Ok(Lent { pool: self, connection, _place: place })
        });
        lent.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    pub async fn rows(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut connection = self.lend().await?;
        let rows = query.fetch_all(&mut *connection).await;
        match &rows {
            Ok(_) => connection.give_back(),
            Err(_) => self.forget(),
        }
        rows
    }

    /// Closes idle connections: a broken one was met, so they all may be.
    pub fn forget(&self) {
        let idle = mem::take(&mut *self.idle());
        drop(idle);
    }

    /// Waits for those in use, and closes the connections.
    pub async fn close(&self) {
        let _all = self.places.acquire_many(MOST).await;
        let idle = mem::take(&mut *self.idle());
        for one in idle {
            // The database notices without it, a little later.
            let _ = timeout(CLOSE, one.connection.close()).await;
        }
    }

    fn take(&self) -> Option<PgConnection> {
        let mut idle = self.idle();
        idle.retain(|one| one.since.elapsed() < QUIET);
        idle.pop().map(|one| one.connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock()
    }
}

impl Lent<'_> {
    /// For the next one. There is no transaction and no statement on it.
    pub fn give_back(self) {
        let Self { pool, connection, _place } = self;
        pool.idle().push(Idle { connection, since: Instant::now() });
    }
}

impl Deref for Lent<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
