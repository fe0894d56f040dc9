//! The error type of this crate. Every text states what was found and the action that it requires.

use std::path::PathBuf;

use crate::config::Findings;
use crate::metric::Kind;

/// The errors of the setup of a process.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A constant label of `monitoring.labels` cannot be a label of a metric.
    #[error(
        "monitoring.labels: {name:?} is not a label name; use letters, digits and _, and do not begin with a digit"
    )]
    LabelName { name: String },
    /// A constant label has the same name as a label of a metric, so one of the two would be lost.
    #[error("monitoring.labels: {label:?} is a label of the metric {metric} already; choose another name")]
    LabelTaken { label: String, metric: &'static str },
    /// A metric is declared as one kind and registered as another: a mistake in the program.
    #[error("metric {metric} is declared as {declared:?} and registered as {registered:?}; make the two the same")]
    Kind {
        metric: &'static str,
        /// The kind in its declaration, which the documentation shows.
        declared: Kind,
        /// The kind of the call that registered it.
        registered: Kind,
    },
    /// The definition of a metric is not usable, or its name is taken: a mistake in the program.
    #[error("metric {metric} cannot be registered; define each metric once, with a valid name and valid labels")]
    Metric {
        metric: &'static str,
        #[source]
        source: prometheus::Error,
    },
    /// The process cannot listen for signals, so it could not be stopped in good order.
    #[error("cannot listen for SIGTERM and SIGINT; the operating system refuses signal handlers")]
    Signals {
        #[source]
        source: std::io::Error,
    },
    /// `--log-format` or `--zap-encoder` is not a form of log lines.
    #[error("{found:?} is not a log format; write human (console) or json")]
    LogFormat { found: String },
    #[error("{found:?} is not a log level; write error, warn, info, debug, trace or a number above 0")]
    LogLevel { found: String },
    /// A requested log level is invalid.
    #[error(
        "{found:?} is not a log level; write error, warn, info, debug, trace, reset, or levels per module, for example \
         \"info,berth_reservation=debug\""
    )]
    LogLevelNow { found: String },
    #[error("nothing is logged any more; the process is ending")]
    LogsGone,
    #[error(
        "RUST_LOG: {found:?} is not a list of levels per module; write for example \"info,berth_reservation=debug\""
    )]
    LogDirectives {
        found: String,
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logs are set up already: a mistake in the program.
    #[error("logs are set up already; call logs::init once")]
    LogsTwice,
    /// The tokens of an API cannot be read from their file.
    #[error("the token file {} {why}", path.display())]
    TokenFile { path: PathBuf, why: String },
    /// The configuration cannot be used; all problems at once.
    #[error("the configuration cannot be used:{findings}")]
    Configuration {
        /// All findings, errors and others, in the order of reading.
        findings: Findings,
    },
}
