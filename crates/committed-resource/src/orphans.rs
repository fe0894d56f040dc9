//! The controller of orphaned slots, whose commitment is gone after a restore or because its finalizer was removed. It
//! deletes orphans that Berth created, after a grace period; slots of other creators stay and are counted until Limes does not
//! list their commitments either.

mod apply;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod slot;
mod watches;

pub use self::metrics::register;
pub use self::plan::{OrphanDelays, OrphanFacts, OrphanVerdict, plan};
pub use self::reconcile::{Context, ListedCommitments, OrphanController};
