//! `make run ONCE=1`, with the programs that were built together with this test: the demonstration ends in its
//! committed end state.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::path::Path;
use std::process::Command;

/// The output of the demonstration is shown when the test fails.
fn ends_as_committed(clusters: u8) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut demonstration = Command::new(env!("CARGO_BIN_EXE_berth-demo"));
    demonstration.arg("--once").arg(format!("--clusters={clusters}")).current_dir(root);
    let output = demonstration.output().unwrap();
    let (shown, reported) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{shown}\n{reported}", output.status);
}

#[test]
fn one_cluster_ends_as_committed() {
    ends_as_committed(1);
}

#[test]
fn two_clusters_one_of_them_away_for_a_while_end_as_committed() {
    ends_as_committed(2);
}
