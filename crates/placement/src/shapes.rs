//! The form of objects in answers, by microversion.

use berth_placement_model::model::Provider as Known;
use berth_placement_model::{ClassName, Inventory, Key, Version};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// A link of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    rel: &'static str,
    href: String,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provider {
    uuid: String,
    name: String,
    generation: i64,
    links: Vec<Link>,
    /// From 1.14 on the parent, which may be `null`, and the root.
    #[serde(flatten)]
    nested: Option<Nested>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Nested {
    parent_provider_uuid: Option<String>,
    root_provider_uuid: String,
}

/// A provider of the model as this microversion shows it.
pub fn provider(known: Known<'_>, version: Version) -> Provider {
    let parent = known.parent().map(|parent| parent.uuid().clone());
    provider_of(known.uuid(), known.name(), known.generation(), parent, known.root().uuid(), version)
}

pub fn provider_of(
    uuid: &Key,
    name: &str,
    generation: i64,
    parent: Option<Key>,
    root: &Key,
    version: Version,
) -> Provider {
    let nested =
        Nested { parent_provider_uuid: parent.map(|parent| parent.to_string()), root_provider_uuid: root.to_string() };
    Provider {
        uuid: uuid.to_string(),
        name: name.to_owned(),
        generation,
        links: provider_links(uuid.as_str(), version),
        nested: version.has(Version::NESTED_PROVIDERS).then_some(nested),
    }
}

fn provider_links(uuid: &str, version: Version) -> Vec<Link> {
    let all = [
        ("self", Version::OLDEST),
        ("inventories", Version::OLDEST),
        ("usages", Version::OLDEST),
        ("aggregates", Version::AGGREGATES),
        ("traits", Version::TRAITS),
        ("allocations", Version::ALLOCATIONS_LINK),
    ];
    let link = |(rel, _)| {
        let path = provider_path(uuid);
        Link { rel, href: if rel == "self" { path } else { format!("{path}/{rel}") } }
    };
    all.into_iter().filter(|(_, since)| version.has(*since)).map(link).collect()
}

pub fn provider_path(uuid: &str) -> String {
    format!("/resource_providers/{uuid}")
}

/// A resource class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Class {
    name: String,
    links: [Link; 1],
}

pub fn class(name: &ClassName) -> Class {
    Class { name: name.to_string(), links: [Link { rel: "self", href: class_path(name.as_str()) }] }
}

pub fn class_path(name: &str) -> String {
    format!("/resource_classes/{name}")
}

/// One inventory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_generation: Option<i64>,
    total: u64,
    reserved: u64,
    min_unit: u64,
    max_unit: u64,
    step_size: u64,
    allocation_ratio: f64,
}

/// An inventory, with the generation of its provider if it is rendered alone.
pub fn record(inventory: &Inventory, generation: Option<i64>) -> Record {
    Record {
        resource_provider_generation: generation,
        total: inventory.total,
        reserved: inventory.reserved,
        min_unit: inventory.min_unit,
        max_unit: inventory.max_unit,
        step_size: inventory.step_size,
        allocation_ratio: inventory.allocation_ratio,
    }
}

/// Amounts by class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amounts(pub Vec<(ClassName, u64)>);

/// The memory that amounts take, together with what refers to them. The names are shared.
pub fn weight_of_amounts(count: usize) -> usize {
    size_of::<Amounts>() + count * size_of::<(ClassName, u64)>()
}

/// The memory that texts take, together with what refers to them.
pub fn weight<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> usize {
    texts.into_iter().map(|text| size_of::<String>() + text.as_ref().len()).sum()
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (class, amount) in &self.0 {
            map.serialize_entry(class.as_str(), amount)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(minor: u8) -> String {
        let uuid = Key::new("u");
        let shape = provider_of(&uuid, "n", 3, None, &uuid, Version::new(minor).unwrap());
        serde_json::to_string(&shape).unwrap()
    }

    #[test]
    fn a_provider_is_shown_with_its_links() {
        let oldest = concat!(
            r#"{"uuid":"u","name":"n","generation":3,"links":[{"rel":"self","href":"/resource_providers/u"},"#,
            r#"{"rel":"inventories","href":"/resource_providers/u/inventories"},"#,
            r#"{"rel":"usages","href":"/resource_providers/u/usages"}]}"#
        );
        assert_eq!(shown(0), oldest);
        let newest = shown(39);
        assert!(newest.ends_with(r#"],"parent_provider_uuid":null,"root_provider_uuid":"u"}"#), "{newest}");
        let rels = |minor| shown(minor).matches("\"rel\"").count();
        assert_eq!([0, 1, 5, 6, 10, 11].map(rels), [3, 4, 4, 5, 5, 6]);
        assert!(!shown(13).contains("parent"));
    }
}
