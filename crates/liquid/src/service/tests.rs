//! The service over stores and an API server in memory. The tests play the controller of changes and the dry run.

mod bodies;
mod dry_runs;
mod leading;
mod no_verdict;
mod outcomes;
mod setting;
