//! A watch as the body of an answer: one line for each event, strictly in order, until it times out, is cut or has
//! missed an event. It reads from the history, and checks where a watch may start.

mod open;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) use open::{End, Open};

use crate::Server;
use crate::faults::Fault;
use crate::kinds::KindInfo;
use crate::objects::{Event, Happened, Object, Objects};
use crate::refusal::Refusal;
use crate::request::Query;
use crate::selector::Selector;

/// The default duration of a watch; the real server takes up to twice as long.
const LASTS: Duration = Duration::from_secs(1800);
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The last bookmark is sent this long before a watch times out.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// A watch before it is opened.
pub(crate) struct Plan {
    kind: Arc<KindInfo>,
    era: Option<u64>,
    selector: Selector,
    position: u64,
    first: Vec<Object>,
    bookmarks: bool,
    lasts: Duration,
}

impl Plan {
    pub(crate) fn new(objects: &Objects, path: &str, namespace: &str, query: &Query) -> Result<Self, Refusal> {
        let kind = objects.kind(path)?.clone();
        let selector = Selector::new(&kind, namespace, query)?;
        let version: u64 = match query.version.as_deref() {
            None => 0,
            Some(version) => version.parse().map_err(|_| {
                Refusal::new(500, "", "", format!("Invalid value: {version:?}: invalid resource version"))
            })?,
        };
        let mut plan = Self {
            era: objects.era(path),
            selector,
            position: version,
            first: Vec::new(),
            bookmarks: query.bookmarks,
            lasts: query.timeout_seconds.map_or(LASTS, |seconds| Duration::from_secs(seconds.into())),
            kind,
        };
        if version == 0 {
            // Without a version it starts with all objects.
            plan.position = objects.version();
            plan.first =
                objects.everything(path).filter(|object| plan.selector.takes(&object.value)).cloned().collect();
        }
        Ok(plan)
    }
}

/// The lines of a watch.
pub(crate) struct Watch {
    server: Server,
    number: u64,
    who: Arc<str>,
    plan: Plan,
    sent: usize,
    end_after: Option<(usize, End)>,
    late: Duration,
    ends_at: Instant,
    bookmark_at: Instant,
    timer: Pin<Box<Sleep>>,
    done: bool,
}

impl Watch {
    pub(crate) fn new(
        server: Server,
        number: u64,
        who: Arc<str>,
        plan: Plan,
        fault: Option<Fault>,
        late: Duration,
    ) -> Self {
        let now = Instant::now();
        let (end_after, late) = match fault {
            Some(Fault::EndWatch { after }) => (Some((after, End::Quietly)), late),
            Some(Fault::BreakWatch { after }) => (Some((after, End::Broken)), late),
            Some(Fault::LateWatch { by }) => (None, by),
            _ => (None, late),
        };
        let ends_at = now + plan.lasts;
        let last_bookmark = now + plan.lasts.saturating_sub(BOOKMARK_BEFORE_END);
        let bookmark_at = (now + BOOKMARK_EVERY).min(last_bookmark);
        let timer = Box::pin(sleep_until(ends_at));
        Self { server, number, who, plan, sent: 0, end_after, late, ends_at, bookmark_at, timer, done: false }
    }

    /// The next line, or why there is none, or until when there is none.
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        let server = self.server.clone();
        let mut state = server.lock();
        if state.is_silent(&self.who) {
            state.objects.sleep(self.number, &self.plan.kind.path, context.waker());
            return Step::Wait(self.ends_at + LASTS);
        }
        if let Some(end) = state.open.get(&self.number).and_then(|open| open.end).or_else(|| self.end_due()) {
            return Step::End(end);
        }
        if state.objects.era(&self.plan.kind.path) != self.plan.era && self.plan.first.is_empty() {
            return self.rest(&state.objects);
        }
        if state.objects.has_forgotten(self.plan.position) {
            let text = format!("too old resource version: {} ({})", self.plan.position, state.objects.oldest() + 1);
            self.done = true;
            return Step::Send(line("ERROR", &Refusal::expired(text).body().to_string()));
        }
        let now = Instant::now();
        let (lines, due) = self.lines(&state.objects, now);
        if !lines.is_empty() {
            return Step::Send(lines);
        }
        if now >= self.ends_at {
            return Step::End(End::Quietly);
        }
        if self.plan.bookmarks && now >= self.bookmark_at {
            let version = if due.is_some() { self.plan.position } else { state.objects.version() };
            self.plan.position = version;
            return Step::Send(self.bookmark(version));
        }
        state.objects.sleep(self.number, &self.plan.kind.path, context.waker());
        let bookmark = if self.plan.bookmarks { self.bookmark_at } else { self.ends_at };
        Step::Wait(bookmark.min(self.ends_at).min(due.unwrap_or(self.ends_at)))
    }

    fn end_due(&self) -> Option<End> {
        self.end_after.filter(|(after, _)| self.sent >= *after).map(|(_, end)| end)
    }

    /// The events until the kind was removed; then the end.
    fn rest(&mut self, objects: &Objects) -> Step {
        let (lines, _) = self.lines(objects, Instant::now() + LASTS);
        if lines.is_empty() { Step::End(End::Quietly) } else { Step::Send(lines) }
    }

    /// All lines that are due, and when the next one is due.
    fn lines(&mut self, objects: &Objects, now: Instant) -> (Bytes, Option<Instant>) {
        let mut lines = BytesMut::new();
        let left = self.end_after.map_or(usize::MAX, |(after, _)| after - self.sent.min(after));
        let mut count = 0;
        let first = self.plan.first.len().min(left);
        for object in self.plan.first.drain(..first) {
            append(&mut lines, "ADDED", &object.text());
            count += 1;
        }
        for event in objects.since(self.plan.position) {
            if count >= left {
                break;
            }
            if event.kind == self.plan.kind.path {
                if event.at + self.late > now {
                    self.sent += count;
                    return (lines.freeze(), Some(event.at + self.late));
                }
                count += usize::from(tell(&self.plan.selector, event, &mut lines));
            }
            self.plan.position = event.version;
        }
        self.sent += count;
        (lines.freeze(), None)
    }

    fn bookmark(&mut self, version: u64) -> Bytes {
        let last = self.ends_at - BOOKMARK_BEFORE_END.min(self.plan.lasts);
        let next = self.bookmark_at + BOOKMARK_EVERY;
        // It was the last bookmark.
        self.bookmark_at = if self.bookmark_at >= last { self.ends_at + LASTS } else { next.min(last) };
        let object = json!({ "kind": self.plan.kind.kind, "apiVersion": self.plan.kind.group_version,
                             "metadata": { "resourceVersion": version.to_string(), "creationTimestamp": null } });
        line("BOOKMARK", &object.to_string())
    }
}

enum Step {
    Send(Bytes),
    End(End),
    Wait(Instant),
}

impl Body for Watch {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        while !self.done {
            match self.step(context) {
                Step::Send(lines) => return Poll::Ready(Some(Ok(Frame::data(lines)))),
                Step::End(End::Quietly) => self.done = true,
                Step::End(End::Broken) => {
                    self.done = true;
                    return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset"))));
                }
                Step::Wait(until) => {
                    self.timer.as_mut().reset(until);
                    if self.timer.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.server.lock();
        state.open.remove(&self.number);
        state.objects.forget_watch(self.number);
    }
}

/// Translates an event for a selector that covers only a part of the objects. True if there is a line.
fn tell(selector: &Selector, event: &Event, lines: &mut BytesMut) -> bool {
    let was = event.before.as_ref().is_some_and(|before| selector.takes(&before.value));
    let is = event.happened == Happened::Applied && selector.takes(&event.after.value);
    match (was, is) {
        (false, false) => return false,
        (false, true) => append(lines, "ADDED", &event.after.text()),
        (true, true) => append(lines, "MODIFIED", &event.after.text()),
        (true, false) if event.happened == Happened::Deleted => append(lines, "DELETED", &event.after.text()),
        (true, false) => {
            // The object exists, but is not selected any more: its last selected state, with the version of the change.
            let mut last = event.before.as_ref().map(|before| Value::clone(&before.value)).unwrap_or_default();
            last["metadata"]["resourceVersion"] = json!(event.version.to_string());
            append(lines, "DELETED", last.to_string().as_bytes());
        }
    }
    true
}

fn append(lines: &mut BytesMut, what: &str, object: &[u8]) {
    for part in [b"{\"type\":\"", what.as_bytes(), b"\",\"object\":", object, b"}\n"] {
        lines.extend_from_slice(part);
    }
}

fn line(what: &str, object: &str) -> Bytes {
    let mut line = BytesMut::new();
    append(&mut line, what, object.as_bytes());
    line.freeze()
}
