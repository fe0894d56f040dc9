//! Bodies of resource classes and of the traits of a provider.

use berth_placement_model::{ClassName, TraitName};

use super::{Lazy, integer, text};
use crate::json::Json;
use crate::schema::{Pattern, Schema};

/// The longest name of a class or trait.
pub const LONGEST: usize = 255;

/// POST of a class, PUT of one before 1.7, and its name from 1.7 on.
pub static CLASS: Lazy =
    Lazy::new(|| Schema::object().requires("name", Schema::text().like(Pattern::CUSTOM).up_to(LONGEST)));

/// PUT of the traits of a provider.
pub static TRAITS: Lazy = Lazy::new(|| {
    Schema::object()
        .requires("traits", Schema::array(Schema::text().nonempty().up_to(LONGEST)))
        .requires("resource_provider_generation", Schema::integer())
});

pub fn class(body: &Json) -> ClassName {
    ClassName::new(&text(body, "name"))
}

/// A body that names a class, for names that come in the path.
pub fn body_with(name: &str) -> Json {
    Json::Object(vec![("name".to_owned(), Json::Text(name.to_owned()))])
}

pub fn is_custom_trait(name: &str) -> bool {
    (Pattern::CUSTOM.matches)(name) && name.len() <= LONGEST
}

/// The traits of a body, in its order, and the generation that it expects.
pub fn traits(body: &Json) -> (Vec<TraitName>, i64) {
    let names = body.get("traits").map(Json::elements).unwrap_or_default().iter().filter_map(Json::as_text);
    (names.map(TraitName::new).collect(), integer(body, "resource_provider_generation"))
}
