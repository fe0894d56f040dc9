//! The one error type of this crate. Every text says what was found and what the operator can do about it.

use crate::config::Findings;
use crate::metric::Kind;

/// What can go wrong while a process sets itself up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A constant label of `monitoring.labels` cannot be a label of a metric.
    #[error(
        "monitoring.labels: {name:?} is not a label name; use letters, digits and _, and do not begin with a digit"
    )]
    LabelName {
        /// The key that was found.
        name: String,
    },
    /// A constant label has the name of a label that a metric has of its own, so one of the two would be lost.
    #[error("monitoring.labels: {label:?} is a label of the metric {metric} already; choose another name")]
    LabelTaken {
        /// The key in `monitoring.labels`.
        label: String,
        /// The metric that has this label.
        metric: &'static str,
    },
    /// A metric is declared as one kind and registered as another: a mistake in the program.
    #[error("metric {metric} is declared as {declared:?} and registered as {registered:?}; make the two the same")]
    Kind {
        /// The name of the metric.
        metric: &'static str,
        /// The kind in its declaration, which the documentation shows.
        declared: Kind,
        /// The kind of the call that registered it.
        registered: Kind,
    },
    /// The definition of a metric is not usable, or its name is taken: a mistake in the program.
    #[error("metric {metric} cannot be registered; define each metric once, with a valid name and valid labels")]
    Metric {
        /// The name of the metric.
        metric: &'static str,
        /// What the metrics library found.
        #[source]
        source: prometheus::Error,
    },
    /// The process cannot listen for signals, so it could not be stopped in good order.
    #[error("cannot listen for SIGTERM and SIGINT; the operating system refuses signal handlers")]
    Signals {
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// `--log-format` or `--zap-encoder` is not a form of log lines.
    #[error("{found:?} is not a log format; write human (console) or json")]
    LogFormat {
        /// The text that was found.
        found: String,
    },
    /// `--zap-log-level` is not a level.
    #[error("{found:?} is not a log level; write error, warn, info, debug, trace or a number above 0")]
    LogLevel {
        /// The text that was found.
        found: String,
    },
    /// What a running process is to show is not a level.
    #[error(
        "{found:?} is not a log level; write error, warn, info, debug, trace, reset, or levels per module, for example \
         \"info,berth_reservation=debug\""
    )]
    LogLevelNow {
        /// The text that was found.
        found: String,
    },
    /// Nobody logs any more: the process ends.
    #[error("nothing is logged any more; the process is ending")]
    LogsGone,
    /// `RUST_LOG` is not a list of directives.
    #[error(
        "RUST_LOG: {found:?} is not a list of levels per module; write for example \"info,berth_reservation=debug\""
    )]
    LogDirectives {
        /// The text that was found.
        found: String,
        /// Where reading stopped.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logs are set up already: a mistake in the program.
    #[error("logs are set up already; call logs::init once")]
    LogsTwice,
    /// The configuration cannot be used; all problems at once.
    #[error("the configuration cannot be used:{findings}")]
    Configuration {
        /// What was found, errors and the rest, in the order of reading.
        findings: Findings,
    },
}
