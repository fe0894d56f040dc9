//! Configurations: parsed, strictly and not, and the configuration in effect parsed again.
#![no_main]

#[path = "../../crates/telemetry/tests/trials/configuration.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|file: &[u8]| trial::configuration(file));
