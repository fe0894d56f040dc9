//! Records decisions for users: in a History object for each workload if the kind is installed, otherwise as an event
//! of the slot into which the VM is booked. Recording neither delays nor fails a run.

mod decided;
mod explanation;
mod histories;
mod limit;
mod object;
mod retention;
#[cfg(test)]
mod tests;

pub use decided::{HistoryDecision, RunResult, decided};
pub use explanation::explanation;
pub use histories::{Histories, HistoryMetrics, HistoryParts};
pub use object::{new, next};
pub use retention::{HistoryRetention, HistoryRules, RetentionMetrics};
