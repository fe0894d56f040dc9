//! Example objects, edits of them, and an API server that accepts or rejects them.
#![allow(dead_code, reason = "each test binary uses a part of this")]

pub mod beyond;
pub mod cases;
pub mod changes;
pub mod edit;
pub mod server;

use std::fs;
use std::path::Path;

use serde_json::Value;

pub fn example(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(format!("{name}.yaml"));
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

pub fn changed(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = example(name);
    change(&mut object);
    object
}
