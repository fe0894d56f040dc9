//! Connections that only read. It decides how many questions are asked at the same time; each is asked in one transaction,
//! on a thread that may block.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{file, writer::unavailable};
use crate::ledger::Trouble;

/// Questions at the same time; more wait.
const MOST: usize = 4;

pub(super) struct Readers {
    path: PathBuf,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        Self { path, permits: Arc::new(Semaphore::new(MOST)), idle: Mutex::default() }
    }

    /// Asks one question.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Trouble> {
        let closed = || Trouble::Unavailable("the process ends".to_owned());
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| closed())?;
        let readers = self.clone();
        // The permit goes along: a question whose asker has gone still uses a connection.
        let asked = tokio::task::spawn_blocking(move || {
            let answer = readers.ask_now(question);
            drop(permit);
            answer
        });
        asked.await.unwrap_or_else(|_| Err(closed()))
    }

    /// A connection of its own whose transaction has begun, and does not end before the connection.
    pub fn begun(&self) -> rusqlite::Result<Connection> {
        let connection = file::reader_of(&self.path)?;
        connection.execute_batch("BEGIN; SELECT version FROM schema")?;
        Ok(connection)
    }

    fn ask_now<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Trouble> {
        let mut connection = self.connection()?;
        let begun = connection.transaction().map_err(|error| unavailable(&error))?;
        let answer = question(&begun).map_err(|error| unavailable(&error))?;
        drop(begun);
        self.idle.lock().push(connection);
        Ok(answer)
    }

    fn connection(&self) -> Result<Connection, Trouble> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| file::reader(&self.path).map_err(|error| Trouble::Unavailable(error.to_string())), Ok)
    }
}
