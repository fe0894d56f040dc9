//! Names of objects: made from what people and other programs chose, and read again.
#![no_main]

#[path = "../../crates/crds/tests/trials/names.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|texts: &[u8]| trial::names(texts));
