//! The content of the Knowledge object: flavor groups are parsed, and slots planned with them.
#![no_main]

#[path = "../../crates/crds/tests/trials/flavor_groups.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|raw: &[u8]| trial::flavor_groups(raw));
