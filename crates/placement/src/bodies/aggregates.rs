//! Bodies of PUT aggregates.

use berth_placement_model::Version;

use super::{Lazy, integer};
use crate::json::Json;
use crate::schema::Schema;

fn list() -> Schema {
    Schema::array(Schema::uuid()).unique()
}

static LIST: Lazy = Lazy::new(list);
static WITH_GENERATION: Lazy = Lazy::new(|| {
    Schema::object().requires("aggregates", list()).requires("resource_provider_generation", Schema::integer())
});

pub fn schema(version: Version) -> &'static Schema {
    if version.has(Version::AGGREGATE_GENERATIONS) { &WITH_GENERATION } else { &LIST }
}

/// The aggregates as sent, and the generation that the body expects.
pub fn read(body: &Json, version: Version) -> (Vec<String>, Option<i64>) {
    let has_generation = version.has(Version::AGGREGATE_GENERATIONS);
    let list =
        if has_generation { body.get("aggregates").map(Json::elements).unwrap_or_default() } else { body.elements() };
    let texts = list.iter().filter_map(Json::as_text).map(str::to_owned).collect();
    (texts, has_generation.then(|| integer(body, "resource_provider_generation")))
}
