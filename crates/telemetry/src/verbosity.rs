//! The log level while the process runs.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::EnvFilter;

use crate::error::TelemetryError;

/// The word for the level at the start.
pub const RESET: &str = "reset";

/// Puts a filter in place of the one in use; false when there is no subscriber any more.
type Reload = dyn Fn(EnvFilter) -> bool + Send + Sync;

/// The least important lines that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A user must act.
    Error,
    /// Something is not as it should be; the process copes.
    Warn,
    /// What happened, once per change.
    Info,
    Debug,
    Trace,
}

impl Level {
    /// Reads the value of `--zap-log-level`: a name, or a number of which a higher one shows more.
    pub fn from_flag(text: &str) -> Result<Self, TelemetryError> {
        match text.to_ascii_lowercase().as_str() {
            "error" | "dpanic" | "panic" | "fatal" => Ok(Self::Error),
            "warn" | "warning" => Ok(Self::Warn),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            "trace" => Ok(Self::Trace),
            number => match number.parse::<u8>() {
                Ok(1) => Ok(Self::Debug),
                Ok(2..) => Ok(Self::Trace),
                _ => Err(TelemetryError::LogLevel { found: text.to_owned() }),
            },
        }
    }

    /// Reads the variable `LOG_LEVEL`. Unlike the flag, an unknown value is no error.
    pub fn from_variable(text: &str) -> Option<Self> {
        Self::from_flag(text).ok().filter(|_| !text.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// The log directives for libraries. `debug` shows our own reasons, not each frame of a connection. The Kubernetes
    /// client logs each failed request as an error and wraps each reconciliation in a span of its own. Berth logs
    /// failures where they are handled, and its own span names the object.
    pub(crate) fn directives(self) -> &'static str {
        match self {
            Self::Error => "error,kube_client=off",
            Self::Warn => "warn,kube_client=off,kube_runtime::watcher=off",
            Self::Info => "info,kube_client=off,kube_runtime=warn,kube_runtime::watcher=off",
            Self::Debug => {
                "debug,hyper=info,hyper_util=info,h2=info,rustls=info,tower=info,sqlx=info,kube_client=off,kube_runtime=warn,\
                 kube_runtime::watcher=off"
            }
            Self::Trace => "trace",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        })
    }
}

/// Shows and changes the log level. Clones share the same log.
#[derive(Clone)]
pub struct Verbosity {
    state: Arc<State>,
}

struct State {
    first: ShownLevel,
    now: Mutex<ShownLevel>,
    reload: Box<Reload>,
}

/// The present level: in the words of the request, and for the filter.
#[derive(Clone)]
pub(crate) struct ShownLevel {
    pub(crate) words: String,
    pub(crate) directives: String,
}

impl fmt::Debug for Verbosity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verbosity").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Verbosity {
    pub(crate) fn new(first: ShownLevel, reload: impl Fn(EnvFilter) -> bool + Send + Sync + 'static) -> Self {
        let now = Mutex::new(first.clone());
        Self { state: Arc::new(State { first, now, reload: Box::new(reload) }) }
    }

    /// The present level, or levels per module.
    pub fn now(&self) -> String {
        self.state.now.lock().words.clone()
    }

    /// Sets a level, levels per module as in `RUST_LOG`, or the level at the start. Returns the new level; after an
    /// error nothing has changed.
    pub fn change(&self, wanted: &str) -> Result<String, TelemetryError> {
        let mut now = self.state.now.lock();
        let shown = if wanted == RESET { self.state.first.clone() } else { ShownLevel::read(wanted)? };
        if !(self.state.reload)(shown.filter()?) {
            return Err(TelemetryError::LogsGone);
        }
        let before = std::mem::replace(&mut *now, shown.clone()).words;
        tracing::warn!(before, now = shown.words, "log level changed");
        Ok(shown.words)
    }
}

impl ShownLevel {
    /// A single word must be a level; the filter would take any other word as the name of a module.
    fn read(wanted: &str) -> Result<Self, TelemetryError> {
        let unknown = || TelemetryError::LogLevelNow { found: wanted.to_owned() };
        let directives = match Level::from_flag(wanted) {
            Ok(level) => level.directives().to_owned(),
            Err(_) if wanted.contains('=') => wanted.to_owned(),
            Err(_) => return Err(unknown()),
        };
        let words = Level::from_flag(wanted).map_or_else(|_| wanted.to_owned(), |level| level.to_string());
        let shown = Self { words, directives };
        shown.filter().map_err(|_| unknown())?;
        Ok(shown)
    }

    pub(crate) fn filter(&self) -> Result<EnvFilter, TelemetryError> {
        let found = || self.directives.clone();
        EnvFilter::try_new(&self.directives).map_err(|source| TelemetryError::LogDirectives { found: found(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verbosity, and the filters that it has set.
    fn watched() -> (Verbosity, Arc<Mutex<Vec<String>>>) {
        let first = ShownLevel { words: "info".to_owned(), directives: "info,hyper=warn".to_owned() };
        let log = Arc::new(Mutex::new(Vec::new()));
        let noted = log.clone();
        let reload = move |filter: EnvFilter| {
            noted.lock().push(filter.to_string());
            true
        };
        (Verbosity::new(first, reload), log)
    }

    #[test]
    fn levels_and_levels_per_module_are_shown_and_the_start_comes_back() {
        let (verbosity, log) = watched();
        assert_eq!(verbosity.now(), "info");
        for (wanted, now) in
            [("trace", "trace"), ("WARNING", "warn"), ("warn,berth=debug", "warn,berth=debug"), (RESET, "info")]
        {
            assert_eq!(verbosity.change(wanted).unwrap(), now);
            assert_eq!(verbosity.now(), now);
        }
        let filters = log.lock().clone();
        assert_eq!(filters[0], "trace");
        assert!(filters[2].contains("berth=debug") && filters[3].contains("hyper=warn"), "{filters:?}");
    }

    #[test]
    fn what_is_no_level_changes_nothing_and_reports_what_is_one() {
        let (verbosity, log) = watched();
        for wanted in ["", "loud", "berth", "berth=loud", "0", "debug\nx"] {
            let text = verbosity.change(wanted).unwrap_err().to_string();
            assert!(text.contains("is not a log level; write error, warn, info, debug, trace"), "{wanted}: {text}");
        }
        assert_eq!((verbosity.now().as_str(), log.lock().len()), ("info", 0));
    }

    #[test]
    fn a_log_that_is_gone_is_reported() {
        let first = ShownLevel { words: "info".to_owned(), directives: "info".to_owned() };
        let gone = Verbosity::new(first, |_| false);
        assert!(matches!(gone.change("debug"), Err(TelemetryError::LogsGone)));
        assert_eq!(gone.now(), "info");
    }
}
