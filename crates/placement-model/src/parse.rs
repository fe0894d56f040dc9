//! Parses query strings into questions: GET `/resource_providers` and GET `/allocation_candidates`.

mod groups;
pub mod schema;
mod values;

pub use groups::candidates;

use crate::question::{Group, ProvidersQuestion};
use crate::{Key, Refusal, Version};
pub use schema::Pair;
use schema::{Form, Schema};

/// The last value of a parameter: what counts where a repetition is not meant.
fn find_last<'a>(pairs: &'a [Pair], key: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|pair| pair.0 == key).map(|pair| pair.1.as_str())
}

fn find_all<'a>(pairs: &'a [Pair], key: &str) -> Vec<&'a str> {
    pairs.iter().filter(|pair| pair.0 == key).map(|pair| pair.1.as_str()).collect()
}

pub fn providers(pairs: &[Pair], version: Version) -> Result<ProvidersQuestion, Refusal> {
    providers_schema(version).check(pairs)?;
    let mut group = Group::default();
    let member_of = find_all(pairs, "member_of");
    if !member_of.is_empty() {
        (group.member_of, group.forbidden_aggregates) = values::member_of(&member_of, "", version)?;
    }
    if let Some(text) = find_last(pairs, "resources") {
        group.resources = values::resources(text)?;
    }
    let required = find_all(pairs, "required");
    (group.required, group.forbidden) = values::required_of_all(&required, version)?;
    group.in_tree = find_last(pairs, "in_tree").map(Key::new);
    Ok(ProvidersQuestion {
        name: find_last(pairs, "name").filter(|name| !name.is_empty()).map(str::to_owned),
        uuid: find_last(pairs, "uuid").map(Key::new),
        group,
    })
}

fn providers_schema(version: Version) -> Schema {
    let mut schema = Schema::default().with("name", Form::Text).with("uuid", Form::Uuid);
    for (since, key, form) in [
        (Version::PROVIDERS_BY_AGGREGATE, "member_of", Form::Text),
        (Version::PROVIDERS_BY_RESOURCES, "resources", Form::Text),
        (Version::NESTED_PROVIDERS, "in_tree", Form::AnyUuid),
        (Version::PROVIDERS_BY_TRAITS, "required", Form::Text),
    ] {
        if version.has(since) {
            schema = schema.with(key, form);
        }
    }
    schema
}

#[cfg(test)]
mod tests;
