//! Captures log lines for tests.

use std::fmt::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Captures the log lines of the test's thread, from `info` up, as long as it lives.
pub struct LogCapture {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl LogCapture {
    pub fn listen() -> Self {
        let lines = Arc::default();
        let guard = tracing::subscriber::set_default(Listening { lines: Arc::clone(&lines) });
        Self { lines, _guard: guard }
    }

    /// The lines that were logged since the last call, each as `LEVEL message key=value`.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock())
    }
}

struct Listening {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Listening {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("berth")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.lines.lock().push(format!("{} {}{}", event.metadata().level(), line.message, line.fields));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
