//! Shared by all processes: configuration, metrics, logs, clock and shutdown.

pub mod chain;
pub mod clock;
pub mod config;
pub mod error;
mod gauge_in_pieces;
pub mod ids;
pub mod logs;
mod metric;
pub mod metrics;
pub mod shutdown;
pub mod verbosity;

pub use error::TelemetryError;
