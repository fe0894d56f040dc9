//! `make attack QUICK=1`, with the programs that were built together with this test: no process ends, and a client that
//! behaves always gets an answer.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::process::Command;

fn attack(only: &str) -> String {
    let mut attack = Command::new(env!("CARGO_BIN_EXE_berth-bench"));
    let output = attack.args(["attack", "--quick", "--only", only]).output().unwrap();
    let (shown, reported) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{shown}\n{reported}", output.status);
    shown.into_owned()
}

#[test]
fn hostile_clients_of_placement_neither_end_it_nor_keep_others_from_an_answer() {
    let table = attack("connections,readers,senders,scarce");
    for row in ['A', 'B', 'C', 'E'] {
        assert!(table.contains(&format!("| {row} | ")), "{table}");
    }
}

#[test]
fn large_bodies_neither_end_the_operator_nor_keep_others_from_an_answer() {
    let table = attack("bodies");
    assert!(table.contains("| D | "), "{table}");
}
