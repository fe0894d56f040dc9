//! The binary that is shipped knows of no mutant (docs/testing.md): the variable that chooses one is not even in it.

use std::fs;

fn has(binary: &[u8], text: &str) -> bool {
    binary.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn the_binary_has_nothing_that_could_switch_on_a_mutant() {
    let binary = fs::read(env!("CARGO_BIN_EXE_berth")).unwrap();
    assert!(has(&binary, "reservations.cortex.cloud/release-slots"), "what is in it is found");
    assert!(!has(&binary, "BERTH_MUTANT"));
}
