//! Quota that Limes sets: answers, objects, and what happens when a process ends or the API server fails in the middle.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod answers;
#[path = "../trials/bodies.rs"]
mod bodies;
#[path = "../trials/quota_body.rs"]
mod body;
#[path = "../../../../fuzz/changed.rs"]
mod changed;
mod concurrent;
mod fuzz_seeds;
mod scenarios;
mod setting;
