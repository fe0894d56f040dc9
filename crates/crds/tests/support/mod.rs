//! The example objects of document 10, changes to them, and an API server that takes or refuses them.
#![allow(dead_code, reason = "each test binary uses a part of this")]

pub mod beyond;
pub mod cases;
pub mod edit;
pub mod server;

use std::fs;
use std::path::Path;

use serde_json::Value;

/// One example object: `tests/objects/<name>.yaml`.
pub fn example(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(format!("{name}.yaml"));
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The example with one change.
pub fn changed(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = example(name);
    change(&mut object);
    object
}
