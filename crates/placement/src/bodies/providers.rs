//! Bodies of POST and PUT `/resource_providers`.

use berth_placement_model::command::Parent;
use berth_placement_model::{Key, Version};

use super::{Lazy, text};
use crate::json::Json;
use crate::schema::Schema;

fn name() -> Schema {
    Schema::object().requires("name", Schema::text().up_to(200))
}

fn parent(schema: Schema) -> Schema {
    schema.with("parent_provider_uuid", Schema::uuid().or_null())
}

static POST: Lazy = Lazy::new(|| name().with("uuid", Schema::uuid()));
static POST_NESTED: Lazy = Lazy::new(|| parent(name().with("uuid", Schema::uuid())));
static PUT: Lazy = Lazy::new(name);
static PUT_NESTED: Lazy = Lazy::new(|| parent(name()));

pub fn creation(version: Version) -> &'static Schema {
    if version.has(Version::NESTED_PROVIDERS) { &POST_NESTED } else { &POST }
}

pub fn update(version: Version) -> &'static Schema {
    if version.has(Version::NESTED_PROVIDERS) { &PUT_NESTED } else { &PUT }
}

/// A provider as a body describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub name: String,
    pub uuid: Option<Key>,
    pub parent: Parent,
}

pub fn read(body: &Json) -> Described {
    let key = |value: &Json| value.as_text().map(Key::new);
    let parent = body.get("parent_provider_uuid").map_or(Parent::Unchanged, |value| Parent::Set(key(value)));
    Described { name: text(body, "name"), uuid: body.get("uuid").and_then(key), parent }
}
