//! The whole router over a ledger in memory: protocol, bodies, policies and handlers together, as clients see them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "api/allocations.rs"]
mod allocations;
#[path = "api/bounds.rs"]
mod bounds;
#[path = "api/candidates.rs"]
mod candidates;
#[path = "api/differences.rs"]
mod differences;
#[path = "api/errors.rs"]
mod errors;
#[path = "api/fuzz.rs"]
mod fuzz;
#[path = "api/generation.rs"]
mod generation;
#[path = "api/guard.rs"]
mod guard;
#[path = "api/in_memory.rs"]
mod in_memory;
#[path = "api/long_lists.rs"]
mod long_lists;
#[path = "api/policies.rs"]
mod policies;
#[path = "api/providers.rs"]
mod providers;
#[path = "api/reserved.rs"]
mod reserved;
#[path = "api/support.rs"]
mod support;
