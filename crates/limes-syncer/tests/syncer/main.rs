//! The syncer, whole runs on doubles of Keystone, Limes and an API server. One program, because each would be built for as long as
//! all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod disruption;
mod histories;
mod runs;
mod scale;
mod scenarios;
mod support;
mod worked;
