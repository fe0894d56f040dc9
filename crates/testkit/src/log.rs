//! The log of calls: one entry for each call as it was received, with its outcome.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::request::Call;
use crate::{Verb, stop};

/// A write as it was received, whatever its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub verb: Verb,
    /// The path of the object, without `/status`, and with the name also for a creation.
    pub path: String,
    pub body: Value,
}

impl Write {
    /// The verb and the plural and name of the object: `create reservations/a-0`.
    pub fn line(&self) -> String {
        line(self.verb, &self.path)
    }
}

fn line(verb: Verb, path: &str) -> String {
    let from = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    format!("{verb} {}", &path[from..])
}

/// The totals of writes, besides those of Leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    pub asked: usize,
    pub changed: usize,
    /// When the last of these was received, counted from the start of the server.
    pub last: Duration,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Open,
    Answered(u16),
    /// It is never answered.
    Hangs,
    /// The connection was broken, before or after its effect.
    Cut,
}

struct Entry {
    at: Duration,
    who: Arc<str>,
    verb: Verb,
    path: String,
    body: Bytes,
    outcome: Outcome,
    changed: bool,
}

#[derive(Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    taken: usize,
    no_ops: usize,
    effects: Effects,
}

impl Log {
    pub(crate) fn begin(&mut self, at: Duration, who: &Arc<str>, call: &Call) -> usize {
        let (who, path, body) = (who.clone(), call.path.clone(), call.bytes.clone());
        self.effects.asked += usize::from(stop::counts(call.verb, &path));
        self.entries.push(Entry { at, who, verb: call.verb, path, body, outcome: Outcome::Open, changed: false });
        self.entries.len() - 1
    }

    /// Whether the object of this call was deleted since the call arrived.
    pub(crate) fn is_deleted_since(&self, number: usize) -> bool {
        let Some((call, later)) = self.entries.get(number..).and_then(<[Entry]>::split_first) else { return false };
        later.iter().any(|entry| entry.verb == Verb::Delete && entry.path == call.path && entry.changed)
    }

    pub(crate) fn end(&mut self, number: usize, outcome: Outcome, changed: bool) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        if changed && !entry.changed && stop::counts(entry.verb, &entry.path) {
            self.effects.changed += 1;
            self.effects.last = self.effects.last.max(entry.at);
        }
        (entry.outcome, entry.changed) = (outcome, changed);
        if entry.verb.is_write() && !changed && matches!(outcome, Outcome::Answered(200 | 201)) {
            self.no_ops += 1;
        }
    }

    pub(crate) fn effects(&self) -> Effects {
        self.effects
    }

    pub(crate) fn no_ops(&self) -> usize {
        self.no_ops
    }

    fn writes_left(&self) -> impl Iterator<Item = &Entry> {
        self.entries[self.taken..].iter().filter(|entry| entry.verb.is_write())
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        let body = |entry: &Entry| serde_json::from_slice(&entry.body).unwrap_or_default();
        self.writes_left()
            .map(|entry| Write { verb: entry.verb, path: entry.path.clone(), body: body(entry) })
            .collect()
    }

    pub(crate) fn take(&mut self) -> Vec<String> {
        let lines = self.writes_left().map(|entry| line(entry.verb, &entry.path)).collect();
        self.taken = self.entries.len();
        lines
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.entries.iter().enumerate().map(|(number, entry)| entry.line(number + 1)).collect()
    }
}

impl Entry {
    fn line(&self, number: usize) -> String {
        let Self { at, who, verb, path, body, outcome, changed } = self;
        let mut line = format!("{number} {}.{:06} {who} {verb} {path} ", at.as_secs(), at.subsec_micros());
        let _ = match outcome {
            Outcome::Open => write!(line, "open"),
            Outcome::Answered(code) => write!(line, "{code}"),
            Outcome::Hangs => write!(line, "hangs"),
            Outcome::Cut => write!(line, "cut"),
        };
        if verb.is_write() {
            let _ = write!(line, " {} {}", if *changed { "changed" } else { "same" }, String::from_utf8_lossy(body));
        }
        line
    }
}
