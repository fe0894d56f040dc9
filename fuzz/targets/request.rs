//! Requests to the scheduler API: read, decided over a few hosts, answered. What is tried is in `trial.rs`.
#![no_main]

mod trial;

libfuzzer_sys::fuzz_target!(|body: &[u8]| trial::request(body));
