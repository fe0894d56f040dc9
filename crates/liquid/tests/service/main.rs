//! The LIQUID service on a double of an API server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod changes;
mod concurrent;
mod dry_runs;
mod scenarios;
#[path = "../support/mod.rs"]
mod support;
