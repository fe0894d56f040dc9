//! The laws: what must be true of commitments, slots, hosts and cores whatever happened. Everything is worked out from
//! the objects alone and apart from the code that it judges: who owns what, and what is free on a host.
//!
//! [`always`] holds after every write that was committed, [`at_rest`] when nothing is under way any more. A
//! [`Snapshot`] is filled from stores or from a test server and follows single changes; [`always_touched`] judges only
//! what one change can have broken. What people, hosts and other programs did is told apart with [`Outside`]. What may
//! be so for a while and not for longer is judged by [`Overdue`], what may happen only so often by `testing::Disturbances`;
//! both are told of changes and of the time. `testing::overpromised` judges what was promised and no object shows yet. What is
//! done about a violation is left to the caller.

mod always;
mod amounts;
mod at_rest;
mod cores;
mod frozen;
mod key;
mod law;
mod outside;
mod overdue;
mod room;
mod slots;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use always::{always, always_touched};
pub use at_rest::at_rest;
pub use frozen::Frozen;
pub use key::Key;
pub use law::{Law, Violation};
pub use outside::Outside;
pub use overdue::Overdue;
pub use snapshot::{Snapshot, Touched};
