//! The body of POST `/reshaper`.

use berth_placement_model::command::{ConsumerWrite, NewInventories};
use berth_placement_model::{Key, Version};

use super::{Lazy, allocations, inventories, keep_last_of_each};
use crate::json::Json;
use crate::schema::{Pattern, Schema};

fn schema_of(version: Version) -> Schema {
    let inventories = Schema::object().nonempty().matching(Pattern::KEY, inventories::all());
    Schema::object().requires("inventories", inventories).requires("allocations", allocations::of_reshape(version))
}

static OLDEST: Lazy = Lazy::new(|| schema_of(Version::RESHAPER));
static MAPPED: Lazy = Lazy::new(|| schema_of(Version::MAPPINGS));
static TYPED: Lazy = Lazy::new(|| schema_of(Version::CONSUMER_TYPES));

pub fn schema(version: Version) -> &'static Schema {
    if version.has(Version::CONSUMER_TYPES) {
        &TYPED
    } else if version.has(Version::MAPPINGS) {
        &MAPPED
    } else {
        &OLDEST
    }
}

/// The content of the body; of two spellings of one provider the last counts.
pub fn read(body: &Json, version: Version) -> (Vec<NewInventories>, Vec<ConsumerWrite>) {
    let members = body.get("inventories").map(Json::members).unwrap_or_default();
    let each = keep_last_of_each(members.iter().map(|(provider, one)| (Key::new(provider), one)));
    let new = |(provider, one)| NewInventories {
        provider,
        generation: inventories::generation(one),
        inventories: inventories::inventories(one),
    };
    let all = each.into_iter().map(new).collect();
    let consumers = body.get("allocations").unwrap_or(&Json::Null);
    (all, allocations::read_many(consumers, version))
}
