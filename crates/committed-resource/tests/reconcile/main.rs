//! The controller of commitments on a double of an API server. One program, because each would be built for as long as all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod cores;
mod crash;
mod disruption_limited;
mod documents;
mod edited;
mod failed_writes;
mod good_path;
mod invalid;
mod orphans;
mod paused;
mod reads;
mod running_vms;
mod scenario;
mod support;
mod waiting;
