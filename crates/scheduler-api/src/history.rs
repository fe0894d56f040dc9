//! What is remembered of decisions, for people: a History object for each workload where the kind is installed,
//! otherwise an event on the slot that the VM goes into. Nothing here holds up or fails a run.

mod decided;
mod explanation;
mod histories;
mod object;
#[cfg(test)]
mod tests;

pub use decided::{Decided, Verdict, decided};
pub use explanation::explanation;
pub use histories::{Histories, HistoryMetrics, HistoryParts};
pub use object::{new, next};
