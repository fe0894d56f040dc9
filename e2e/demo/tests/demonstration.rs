//! `make run ONCE=1`, with the programs that were built together with this test: the demonstration ends in its
//! committed end state.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod ending;

#[test]
fn one_cluster_ends_as_committed() {
    ending::is_as_committed(1, &[]);
}
