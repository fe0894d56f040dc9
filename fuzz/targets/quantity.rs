//! Quantities: parsed, rounded, written again.
#![no_main]

#[path = "../../crates/core/tests/trials/quantity.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|text: &[u8]| trial::quantity(text));
