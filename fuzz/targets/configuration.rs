//! Configurations: read, strictly and not, and what they say in effect read again.
#![no_main]

#[path = "../../crates/telemetry/tests/trials/configuration.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|file: &[u8]| trial::configuration(file));
