//! Requests to the scheduler API: parsed, decided over a few hosts, answered.
#![no_main]

#[path = "../../crates/scheduler-api/tests/trials/request.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|body: &[u8]| trial::request(body));
