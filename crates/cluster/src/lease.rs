//! Who of several replicas leads, by the Lease protocol that client-go uses. It decides when this process may write and
//! when it has lost; what a leader does, and that a process ends when it has lost, is decided by the caller.
//!
//! [`step`] is a function of what is known and of the monotonic clock, [`elector`] does what it says, [`fence`] tells
//! every write whether it may still be sent, and [`fenced`] asks once more when the body of a request goes to the
//! socket.
//!
//! What is covered: a process that is paused, starved or cut off sends no write once less than 5 s of its lease are
//! left, because the last question comes immediately before the bytes go to the socket, in the same poll; a write that
//! was sent ends within 4 s or is given up; nobody else leads before the 15 s are over. Steps of wall clocks do not
//! matter, and monotonic clocks may differ by half a second in 15 s. What no client can cover: a process that is paused
//! between that last question and the system call a few instructions later, a network or API server that holds a
//! request back for longer than 5 s and applies it then, a machine whose monotonic clock stands still while others go
//! on (a virtual machine that was suspended), and a Lease object that somebody deletes or empties while its holder
//! lives. Against all four stand the `resourceVersion` and the uid that writes carry.

mod elector;
mod fence;
mod fenced;
mod leadership;
mod object;
pub(crate) mod step;

pub use elector::{Candidate, Election};
pub use fence::{Fence, NotLeader};
pub(crate) use fenced::{fenced, last_moment};
pub use leadership::{Ended, Leader, Leadership};
pub use step::Lost;
