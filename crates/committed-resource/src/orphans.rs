//! Slots whose commitment is gone: after a restore from a backup, or when somebody has removed the finalizer. The
//! controller looks at one slot at a time and decides, with `plan`, whether it is one of ours that nobody has missed a
//! commitment of for long enough. Slots that others made stay and are counted.

mod apply;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod slot;
mod watches;

pub use self::metrics::register;
pub use self::plan::{Course, Delays, Facts, plan};
pub use self::reconcile::{Context, OrphanController};
