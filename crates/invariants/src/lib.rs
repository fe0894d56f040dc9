//! The invariants of commitments, slots, hosts and cores. They are evaluated from the objects alone and independently
//! of the code that they check. [`always`] holds after every committed write, [`at_rest`] when nothing is under way any
//! more. A [`Snapshot`] is filled from stores or from a test server and follows single changes; [`always_touched`]
//! checks only what one write can have broken, and what is to be seen at that write only. [`ExternalChanges`] excuses the effects of changes by users, hosts and
//! other programs. [`Overdue`] checks states that may last for a limited time, and `testing::Disturbances` events that
//! may occur a limited number of times; both get all changes and the time. `testing::overpromised` checks promises that
//! no object shows yet. The caller decides how to handle a violation.

mod always;
mod amounts;
mod at_rest;
mod changes;
mod cores;
mod external_changes;
mod free_capacity;
mod held;
mod invariant;
mod key;
mod overdue;
mod paused;
mod published_info;
mod slots;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod usage;
mod zones;

pub use always::{always, always_touched};
pub use at_rest::at_rest;
pub use external_changes::ExternalChanges;
pub use invariant::{Invariant, Violation};
pub use key::Key;
pub use overdue::Overdue;
pub use paused::PausedScope;
pub use published_info::PublishedInfo;
pub use snapshot::{Snapshot, Touched};
