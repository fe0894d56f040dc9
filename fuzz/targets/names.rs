//! Names of objects: made from values of users and other programs, and parsed again.
#![no_main]

#[path = "../../crates/crds/tests/trials/names.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|texts: &[u8]| trial::names(texts));
