//! The controllers of slots, VMs in flight and oversubscription on a double of an API server. One program, because each would be built
//! for as long as all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod adoption;
mod in_flight;
mod memory;
mod oversubscription;
mod placement;
mod slots;
mod support;
mod vms;
mod waiting;
