//! What every process needs before it can do anything useful: its configuration, its metrics, its logs, its clock and
//! its way to stop. It decides how these look from outside (files, flags, exposition, log lines); what is configured,
//! counted or logged is decided by the crates that use it.

pub mod clock;
pub mod config;
pub mod error;
pub mod ids;
pub mod logs;
mod metric;
pub mod metrics;
pub mod shutdown;
pub mod verbosity;

pub use error::TelemetryError;
