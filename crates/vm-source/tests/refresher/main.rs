//! When the tables are read and what becomes of the answers, on a paused clock and with tables of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod configured;
mod failures;
mod reads;
mod world;
