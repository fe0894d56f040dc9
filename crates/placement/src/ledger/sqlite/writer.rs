//! The thread that writes. Waiting commands share a commit, each in its own savepoint, and nothing is answered before
//! that commit is on the disk and in the model.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use berth_placement_model::write_set::NameChange;
use berth_placement_model::{Command, ProviderId, Refusal, WriteSet, decide};
use berth_telemetry::clock::Clock;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;

use super::file::Lock;
use super::file_watch::FileWatch;
use super::rows::Names;
use super::{apply, contents, load};
use crate::ledger::after::Effects;
use crate::ledger::contents::{ChangeSet, ProviderUpdate};
use crate::ledger::depth::Depth;
use crate::ledger::failure_log::{FailedUse, report_failure};
use crate::ledger::model_cache::{self, ModelCache};
use crate::ledger::{LedgerMetrics, RequestError, Written, times};

/// Commands that share a commit, at most: enough for every writer of a large cloud, few enough to be fast.
const MOST: usize = 128;

/// The jobs of the thread.
pub(super) enum Job {
    Write(Box<Write>),
    Run(Box<dyn FnOnce(&Connection) + Send>),
    End,
}

/// One write that waits.
pub(super) struct Write {
    pub command: Command,
    pub until: Instant,
    pub answer: oneshot::Sender<Answer>,
}

type Answer = Result<Written, RequestError>;

/// The state of the thread.
pub(super) struct Writer {
    pub connection: Connection,
    pub cache: Arc<ModelCache>,
    pub clock: Arc<dyn Clock>,
    pub metrics: LedgerMetrics,
    pub runtime: Handle,
    pub lock: Option<Lock>,
    pub files: Option<Arc<FileWatch>>,
    /// Tells that the thread has ended, however that came.
    pub ended: DropGuard,
}

impl Writer {
    /// Builds the model, then writes until it is stopped or all senders are gone.
    pub fn run(mut self, queue: &Receiver<Job>) {
        match contents::contents(&self.connection) {
            Ok(contents) => {
                self.cache.set(Some(model_cache::model_of(contents)));
                self.metrics.rebuilt();
            }
            Err(error) => {
                tracing::error!(%error, "model cannot be built from the database");
                return;
            }
        }
        while let Ok(first) = queue.recv() {
            if !self.serve(first, queue) {
                break;
            }
        }
        let Self { connection, lock, ended, .. } = self;
        drop(connection);
        drop(lock);
        drop(ended);
    }

    /// Does `first` and the writes that wait behind it. False when it is to end.
    fn serve(&mut self, first: Job, queue: &Receiver<Job>) -> bool {
        let mut batch = Vec::new();
        let mut next = Some(first);
        let mut last = None;
        while let Some(job) = next.take() {
            match job {
                Job::Write(write) => batch.push(*write),
                other => {
                    last = Some(other);
                    break;
                }
            }
            if batch.len() < MOST {
                next = queue.try_recv().map_err(|_: TryRecvError| ()).ok();
            }
        }
        if !batch.is_empty() {
            self.write(batch);
        }
        match last {
            Some(Job::Run(work)) => work(&self.connection),
            Some(Job::End) => return false,
            Some(Job::Write(_)) | None => {}
        }
        true
    }

    fn write(&mut self, batch: Vec<Write>) {
        // A caller that is gone no longer needs the write.
        let batch: Vec<_> = batch.into_iter().filter(|write| !write.answer.is_closed()).collect();
        let now = times::rounded(self.clock.now());
        let (models, runtime, files) = (self.cache.clone(), self.runtime.clone(), self.files.clone());
        let publishing;
        let answers = match self.attempt(&batch, now) {
            Err(error) => vec![Err(error); batch.len()],
            Ok(Attempt { transaction, answers, changes }) => {
                publishing = runtime.block_on(models.start_publishing());
                if let Err(error) = transaction.commit() {
                    note_failure(files.as_deref(), &error);
                    vec![Err(classify_commit_error(&error)); batch.len()]
                } else {
                    if let Some(files) = files.filter(|_| !changes.is_empty()) {
                        files.note_success();
                    }
                    models.change(changes);
                    drop(publishing);
                    answers
                }
            }
        };
        self.metrics.transaction(batch.len());
        for (write, answer) in batch.into_iter().zip(answers) {
            self.metrics.answered(&answer);
            // A caller that is gone can read it from the ledger.
            let _ = write.answer.send(answer);
        }
    }

    fn attempt(&mut self, batch: &[Write], now: Timestamp) -> Result<Attempt<'_>, RequestError> {
        let started = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = started.map_err(|error| unavailable(&error))?;
        let mut changes = ChangeSet::default();
        let mut answers = Vec::with_capacity(batch.len());
        for write in batch {
            let answer = write_one(&transaction, write, now, &mut changes, self.files.as_deref());
            if transaction.is_autocommit() {
                // SQLite has rolled everything back, also the other writes of the batch.
                return Err(answer
                    .err()
                    .unwrap_or_else(|| RequestError::Unavailable("the database gave up".to_owned())));
            }
            answers.push(answer);
        }
        Ok(Attempt { transaction, answers, changes })
    }
}

struct Attempt<'a> {
    transaction: Transaction<'a>,
    answers: Vec<Answer>,
    changes: ChangeSet,
}

/// Why one command of a batch is not done.
enum WriteFailure {
    Refused(Refusal),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for WriteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn note_failure(files: Option<&FileWatch>, error: &rusqlite::Error) {
    if let Some(files) = files {
        files.note_failure(error);
    }
}

fn write_one(
    connection: &Connection,
    write: &Write,
    now: Timestamp,
    changes: &mut ChangeSet,
    files: Option<&FileWatch>,
) -> Answer {
    if write.until <= Instant::now() {
        return Err(RequestError::Unavailable("too many writes wait".to_owned()));
    }
    execute(connection, &write.command, now, changes).map_err(|fault| match fault {
        WriteFailure::Refused(refusal) => RequestError::Refused(refusal),
        WriteFailure::Sqlite(error) => {
            note_failure(files, &error);
            unavailable(&error)
        }
    })
}

fn execute(
    connection: &Connection,
    command: &Command,
    now: Timestamp,
    changes: &mut ChangeSet,
) -> Result<Written, WriteFailure> {
    let depth = Depth::of(command);
    let rows = load::load(connection, &command.read_set(), depth)?;
    let (write_set, outcome) = decide(command, &rows).map_err(WriteFailure::Refused)?;
    let (created, more) = run_in_savepoint(connection, || {
        let created = apply::apply(connection, &write_set, times::microseconds(now))?;
        Ok((created, renamed(connection, &write_set)?))
    })?;
    let effects = Effects::new(&rows, &write_set, created, now);
    let provider = effects.provider(command, &rows).map(Arc::new);
    effects.publish(depth, changes);
    for (id, change) in more {
        changes.add(id, change);
    }
    if !(write_set.classes.is_empty() && write_set.traits.is_empty()) {
        changes.names = Some(contents::custom_names(connection)?);
    }
    Ok(Written { outcome, provider, disowned: write_set.disowned(&rows) })
}

fn run_in_savepoint<T>(connection: &Connection, work: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let run = |statement| connection.prepare_cached(statement)?.execute([]);
    run("SAVEPOINT one")?;
    let done = work();
    let end = if done.is_ok() { run("RELEASE one") } else { run("ROLLBACK TO one").and_then(|_| run("RELEASE one")) };
    if end.is_err() && !connection.is_autocommit() {
        // The partial changes of a failed command must not be committed with the others.
        connection.execute_batch("ROLLBACK")?;
    }
    // The first error is reported.
    let done = done?;
    end.map(|_| done)
}

fn renamed(connection: &Connection, changes: &WriteSet) -> rusqlite::Result<Vec<(ProviderId, ProviderUpdate)>> {
    let mut names = Names::default();
    let mut all = Vec::new();
    for change in &changes.classes {
        let NameChange::Rename { to, .. } = change else { continue };
        for id in load::providers_with(connection, to)? {
            let state = load::state(connection, id, Depth::Whole, &mut names)?;
            all.extend(state.map(|state| (id, ProviderUpdate::Whole(Box::new(state)))));
        }
    }
    Ok(all)
}

pub(super) fn unavailable(error: &rusqlite::Error) -> RequestError {
    let text = report_failure(FailedUse::Write, error);
    RequestError::Unavailable(match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk of the database is full".to_owned(),
        _ => text,
    })
}

/// A full disk ends a commit before its last page; after other failures that page may be on the disk, where the next start
/// would find it.
fn classify_commit_error(error: &rusqlite::Error) -> RequestError {
    if let Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy) = error.sqlite_error_code() {
        return unavailable(error);
    }
    RequestError::Unknown(report_failure(FailedUse::Commit, error))
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn texts_of_the_database_stay_in_the_log() {
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR, ffi::SQLITE_FULL] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("secret".to_owned()));
            for reported in [unavailable(&error), classify_commit_error(&error)] {
                assert!(!reported.to_string().contains("secret"), "{reported}");
            }
        }
    }
}
