//! Bodies of requests: a schema for each route and microversion, and the value of a valid body.

pub mod aggregates;
pub mod allocations;
pub mod inventories;
pub mod names;
pub mod providers;
pub mod queries;
pub mod reshape;

use std::collections::HashMap;
use std::sync::LazyLock;

use berth_placement_model::Key;

use crate::json::Json;
use crate::schema::Schema;

/// A schema that is made once.
pub type Lazy = LazyLock<Schema>;

/// An integer member that the schema requires, limited to 64 bits: a value that does not fit equals no stored value.
fn integer(value: &Json, name: &str) -> i64 {
    let integer = value.get(name).and_then(Json::as_integer).unwrap_or_default();
    i64::try_from(integer).unwrap_or(if integer < 0 { i64::MIN } else { i64::MAX })
}

fn text(value: &Json, name: &str) -> String {
    value.get(name).and_then(Json::as_text).unwrap_or_default().to_owned()
}

/// Each key once, where it came first, with what came last: two spellings may be one key.
fn keep_last_of_each<V>(parts: impl IntoIterator<Item = (Key, V)>) -> Vec<(Key, V)> {
    let mut places = HashMap::new();
    let mut out: Vec<(Key, V)> = Vec::new();
    for (key, value) in parts {
        if let Some(&place) = places.get(&key) {
            out[place] = (key, value);
        } else {
            places.insert(key.clone(), out.len());
            out.push((key, value));
        }
    }
    out
}
