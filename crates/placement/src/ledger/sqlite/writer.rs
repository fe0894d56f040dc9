//! The one thread that writes. It decides that waiting commands share a commit, each in its own savepoint, that nothing is
//! answered before that commit is on the disk and in the model, and what is told when it cannot be done.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use berth_placement_model::changes::NameChange;
use berth_placement_model::{Changes, Command, ProviderId, Refusal, decide};
use berth_telemetry::clock::Clock;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;

use super::file::Lock;
use super::rows::Names;
use super::{apply, contents, load};
use crate::ledger::after::Effects;
use crate::ledger::contents::{Change, News};
use crate::ledger::depth::Depth;
use crate::ledger::shelf::{self, Shelf};
use crate::ledger::{LedgerMetrics, Trouble, Written, times};

/// Commands that share a commit, at most: enough for every writer of a large cloud, few enough to be fast.
const MOST: usize = 128;

/// What the thread is asked for.
pub(super) enum Job {
    /// One write.
    Write(Box<Write>),
    /// To run something between two transactions.
    Run(Box<dyn FnOnce(&Connection) + Send>),
    /// To end.
    End,
}

/// One write that waits.
pub(super) struct Write {
    pub command: Command,
    pub until: Instant,
    pub answer: oneshot::Sender<Answer>,
}

type Answer = Result<Written, Trouble>;

/// What the thread has.
pub(super) struct Writer {
    pub connection: Connection,
    pub shelf: Arc<Shelf>,
    pub clock: Arc<dyn Clock>,
    pub metrics: LedgerMetrics,
    pub runtime: Handle,
    /// Given back when the connection is closed.
    pub lock: Option<Lock>,
    /// Tells that the thread has ended, however that came.
    pub ended: DropGuard,
}

impl Writer {
    /// Builds the model, then writes until it is told to end or nobody is left who could ask.
    pub fn run(mut self, queue: &Receiver<Job>) {
        match contents::contents(&self.connection) {
            Ok(contents) => {
                self.shelf.place(Some(shelf::model_of(contents)));
                self.metrics.rebuilt();
            }
            Err(error) => {
                tracing::error!(%error, "the model cannot be built from the database");
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
        // Whoever has gone does not want it done any more.
        let batch: Vec<_> = batch.into_iter().filter(|write| !write.answer.is_closed()).collect();
        let now = times::rounded(self.clock.now());
        let (models, runtime) = (self.shelf.clone(), self.runtime.clone());
        let publishing;
        let answers = match self.attempt(&batch, now) {
            Err(trouble) => vec![Err(trouble); batch.len()],
            Ok(Attempt { transaction, answers, news }) => {
                publishing = runtime.block_on(models.begin());
                if let Err(error) = transaction.commit() {
                    vec![Err(at_commit(&error)); batch.len()]
                } else {
                    models.change(news);
                    drop(publishing);
                    answers
                }
            }
        };
        self.metrics.transaction(batch.len());
        for (write, answer) in batch.into_iter().zip(answers) {
            self.metrics.answered(&answer);
            // Whoever does not wait any more reads it from the ledger.
            let _ = write.answer.send(answer);
        }
    }

    /// Everything up to the commit.
    fn attempt(&mut self, batch: &[Write], now: Timestamp) -> Result<Attempt<'_>, Trouble> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(|error| unavailable(&error))?;
        let mut news = News::default();
        let mut answers = Vec::with_capacity(batch.len());
        for write in batch {
            let answer = one(&transaction, write, now, &mut news);
            if transaction.is_autocommit() {
                // SQLite has taken everything back, also what others of the batch did.
                return Err(answer.err().unwrap_or_else(|| Trouble::Unavailable("the database gave up".to_owned())));
            }
            answers.push(answer);
        }
        Ok(Attempt { transaction, answers, news })
    }
}

struct Attempt<'a> {
    transaction: Transaction<'a>,
    answers: Vec<Answer>,
    news: News,
}

/// Why one command of a batch is not done.
enum Fault {
    Refused(Refusal),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn one(connection: &Connection, write: &Write, now: Timestamp, news: &mut News) -> Answer {
    if write.until <= Instant::now() {
        return Err(Trouble::Unavailable("too many writes wait".to_owned()));
    }
    done(connection, &write.command, now, news).map_err(|fault| match fault {
        Fault::Refused(refusal) => Trouble::Refused(refusal),
        Fault::Sqlite(error) => unavailable(&error),
    })
}

fn done(connection: &Connection, command: &Command, now: Timestamp, news: &mut News) -> Result<Written, Fault> {
    let depth = Depth::of(command);
    let facts = load::load(connection, &command.wants(), depth)?;
    let (changes, outcome) = decide(command, &facts).map_err(Fault::Refused)?;
    let (created, more) = in_savepoint(connection, || {
        let created = apply::apply(connection, &changes, times::microseconds(now))?;
        Ok((created, renamed(connection, &changes)?))
    })?;
    let effects = Effects::new(&facts, &changes, created, now);
    let provider = effects.provider(command, &facts).map(Arc::new);
    effects.publish(depth, news);
    for (id, change) in more {
        news.add(id, change);
    }
    if !(changes.classes.is_empty() && changes.traits.is_empty()) {
        news.names = Some(contents::custom_names(connection)?);
    }
    Ok(Written { outcome, provider, disowned: changes.disowned(&facts) })
}

fn in_savepoint<T>(connection: &Connection, work: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let run = |statement| connection.prepare_cached(statement)?.execute([]);
    run("SAVEPOINT one")?;
    let done = work();
    let end = if done.is_ok() { run("RELEASE one") } else { run("ROLLBACK TO one").and_then(|_| run("RELEASE one")) };
    if end.is_err() && !connection.is_autocommit() {
        // What half a command has left must not be committed with the others.
        connection.execute_batch("ROLLBACK")?;
    }
    // The first thing that went wrong is what is told.
    let done = done?;
    end.map(|_| done)
}

/// Providers whose inventories are called otherwise now.
fn renamed(connection: &Connection, changes: &Changes) -> rusqlite::Result<Vec<(ProviderId, Change)>> {
    let mut names = Names::default();
    let mut all = Vec::new();
    for change in &changes.classes {
        let NameChange::Rename { to, .. } = change else { continue };
        for id in load::providers_with(connection, to)? {
            let state = load::state(connection, id, Depth::Whole, &mut names)?;
            all.extend(state.map(|state| (id, Change::Whole(Box::new(state)))));
        }
    }
    Ok(all)
}

/// Nothing was done.
pub(super) fn unavailable(error: &rusqlite::Error) -> Trouble {
    tracing::warn!(%error, "the database cannot be used");
    Trouble::Unavailable(match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk of the database is full".to_owned(),
        _ => error.to_string(),
    })
}

/// A full disk ends a commit before its last page; after other failures that page may be on the disk, where the next start
/// would find it.
fn at_commit(error: &rusqlite::Error) -> Trouble {
    if let Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy) = error.sqlite_error_code() {
        return unavailable(error);
    }
    tracing::error!(%error, "a commit has failed");
    Trouble::Unknown(error.to_string())
}
