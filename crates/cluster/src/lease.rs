//! Leader election with the Lease protocol of client-go.
//!
//! [`step`] is a pure function of observations and the monotonic clock, [`elector`] carries it out, [`fence`] decides
//! for every write whether it may still be sent, and [`fenced`] checks again when the body of a request goes to the
//! socket.
//!
//! A process that is paused, starved or cut off sends no write once less than 5 s of its lease are left, because the
//! last question comes immediately before the bytes go to the socket. A write that was sent ends within 4 s or is given
//! up, and no other replica leads before the 15 s are over. Steps of wall clocks do not matter; monotonic clocks may
//! differ by half a second in 15 s.
//!
//! No client can cover a process that is paused between this last check and the system call, an API server that applies
//! a request after holding it back for more than 5 s, a suspended virtual machine whose monotonic clock stopped, and a
//! Lease object that a user deletes while its holder is alive. The `resourceVersion` and the uid in the writes protect
//! against these.

mod elector;
mod fence;
mod fenced;
mod leadership;
mod object;
mod published;
pub(crate) mod step;

pub use elector::{Candidate, Election};
pub use fence::{Fence, NotLeader};
pub(crate) use fenced::{fenced, last_moment};
pub use leadership::{Ended, Leader, Leadership};
pub use published::published_leader;
pub use step::Lost;
