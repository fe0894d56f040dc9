//! Runs the demonstration to its end.

use std::path::Path;
use std::process::Command;

/// The output of the demonstration is shown when the test fails.
pub fn is_as_committed(clusters: u8, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut demonstration = Command::new(env!("CARGO_BIN_EXE_berth-demo"));
    demonstration.arg("--once").arg(format!("--clusters={clusters}")).args(arguments).current_dir(root);
    let output = demonstration.output().unwrap();
    let (shown, reported) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{shown}\n{reported}", output.status);
}
