//! Bodies of PUT and POST allocations. All microversions become a [`ConsumerWrite`].

use berth_placement_model::command::{ConsumerGuard, ConsumerWrite, UNKNOWN_OWNER};
use berth_placement_model::{ClassName, Key, Version};

use super::{Lazy, keep_last_of_each, text};
use crate::json::Json;
use crate::schema::{Pattern, Schema};

fn resources() -> Schema {
    Schema::object().nonempty().matching(Pattern::NAME, Schema::integer().at_least(1))
}

fn list() -> Schema {
    let provider = Schema::object().requires("uuid", Schema::uuid());
    let element = Schema::object().requires("resource_provider", provider).requires("resources", resources());
    Schema::object().requires("allocations", Schema::array(element).nonempty())
}

fn owned(schema: Schema) -> Schema {
    let id = || Schema::text().nonempty().up_to(255);
    schema.requires("project_id", id()).requires("user_id", id())
}

fn by_provider() -> Schema {
    let one = Schema::object().with("generation", Schema::integer()).requires("resources", resources());
    Schema::object().matching(Pattern::KEY, one)
}

/// The members that may be empty, from 1.28 on and in every POST.
fn emptiable() -> Schema {
    owned(Schema::object().requires("allocations", by_provider()))
}

fn with_consumer_generation() -> Schema {
    emptiable().requires("consumer_generation", Schema::integer().or_null())
}

fn mapped() -> Schema {
    let mappings = Schema::object().nonempty().open();
    with_consumer_generation()
        .with("mappings", mappings.matching(Pattern::SUFFIX, Schema::array(Schema::uuid()).nonempty()))
}

fn typed() -> Schema {
    mapped().requires("consumer_type", Schema::text().nonempty().up_to(255).like(Pattern::NAME))
}

fn many(one: Schema) -> Schema {
    Schema::object().matching(Pattern::KEY, one)
}

static PUT_LIST: Lazy = Lazy::new(list);
static PUT_OWNED: Lazy = Lazy::new(|| owned(list()));
static PUT_BY_PROVIDER: Lazy = Lazy::new(|| owned(Schema::object().requires("allocations", by_provider().nonempty())));
static PUT_WITH_GENERATION: Lazy = Lazy::new(with_consumer_generation);
static PUT_MAPPED: Lazy = Lazy::new(mapped);
static PUT_TYPED: Lazy = Lazy::new(typed);
static POST_PLAIN: Lazy = Lazy::new(|| many(emptiable()).nonempty());
static POST_WITH_GENERATION: Lazy = Lazy::new(|| many(with_consumer_generation()).nonempty());
static POST_MAPPED: Lazy = Lazy::new(|| many(mapped()).nonempty());
static POST_TYPED: Lazy = Lazy::new(|| many(typed()).nonempty());

pub fn put(version: Version) -> &'static Schema {
    if version.has(Version::CONSUMER_TYPES) {
        &PUT_TYPED
    } else if version.has(Version::MAPPINGS) {
        &PUT_MAPPED
    } else if version.has(Version::CONSUMER_GENERATIONS) {
        &PUT_WITH_GENERATION
    } else if version.has(Version::ALLOCATIONS_BY_PROVIDER) {
        &PUT_BY_PROVIDER
    } else if version.has(Version::CONSUMER_OWNERS) {
        &PUT_OWNED
    } else {
        &PUT_LIST
    }
}

pub fn post(version: Version) -> &'static Schema {
    if version.has(Version::CONSUMER_TYPES) {
        &POST_TYPED
    } else if version.has(Version::MAPPINGS) {
        &POST_MAPPED
    } else if version.has(Version::CONSUMER_GENERATIONS) {
        &POST_WITH_GENERATION
    } else {
        &POST_PLAIN
    }
}

/// The allocations of a reshape, which may be none.
pub fn of_reshape(version: Version) -> Schema {
    if version.has(Version::CONSUMER_TYPES) {
        many(typed())
    } else if version.has(Version::MAPPINGS) {
        many(mapped())
    } else {
        many(with_consumer_generation())
    }
}

pub fn read(consumer: Key, body: &Json, version: Version) -> ConsumerWrite {
    let owner = |name| if version.has(Version::CONSUMER_OWNERS) { text(body, name) } else { UNKNOWN_OWNER.to_owned() };
    ConsumerWrite {
        consumer,
        project: owner("project_id"),
        user: owner("user_id"),
        kind: version.has(Version::CONSUMER_TYPES).then(|| text(body, "consumer_type")),
        generation: guard(body, version),
        allocations: allocations(body),
    }
}

/// The writes of a body with several consumers, in its order; of two spellings of one consumer the last counts.
pub fn read_many(body: &Json, version: Version) -> Vec<ConsumerWrite> {
    let consumers = body.members().iter().map(|(consumer, body)| (Key::new(consumer), body));
    keep_last_of_each(consumers).into_iter().map(|(consumer, body)| read(consumer, body, version)).collect()
}

fn guard(body: &Json, version: Version) -> ConsumerGuard {
    if !version.has(Version::CONSUMER_GENERATIONS) {
        return ConsumerGuard::Unchecked;
    }
    let given = body.get("consumer_generation").filter(|given| **given != Json::Null);
    ConsumerGuard::Expected(given.map(|_| super::integer(body, "consumer_generation")))
}

/// Both forms. A provider that is named twice, or in two spellings, counts with its last part.
fn allocations(body: &Json) -> Vec<(Key, Vec<(ClassName, u64)>)> {
    let part = |provider: &str, part: &Json| (Key::new(provider), amounts(part));
    match body.get("allocations") {
        Some(Json::List(elements)) => {
            let uuid = |element: &Json| text(element.get("resource_provider").unwrap_or(&Json::Null), "uuid");
            keep_last_of_each(elements.iter().map(|element| part(&uuid(element), element)))
        }
        Some(object) => keep_last_of_each(object.members().iter().map(|(provider, one)| part(provider, one))),
        None => Vec::new(),
    }
}

/// Amounts beyond 64 bits are the largest there are, which never fit.
fn amounts(part: &Json) -> Vec<(ClassName, u64)> {
    let resources = part.get("resources").map(Json::members).unwrap_or_default();
    let amount = |value: &Json| u64::try_from(value.as_integer().unwrap_or_default()).unwrap_or(u64::MAX);
    resources.iter().map(|(class, value)| (ClassName::new(class), amount(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::schema::check;

    const RP: &str = "6b1e5f3a-0000-4000-8000-00000000abcd";

    fn value(text: &str) -> Json {
        json::read(text.replace("RP", RP).as_bytes()).unwrap()
    }

    fn reported(schema: &Schema, body: &str) -> String {
        check(&value(body), schema).map_or_else(|complaint| complaint.message, |()| String::new())
    }

    fn version(minor: u8) -> Version {
        Version::new(minor).unwrap()
    }

    #[test]
    fn bodies_of_put_by_version() {
        let list = r#""allocations": [{"resource_provider": {"uuid": "RP"}, "resources": {"VCPU": 1}}]"#;
        let dict = r#""allocations": {"RP": {"resources": {"VCPU": 1}, "generation": 7}}"#;
        let owner = r#""project_id": "p", "user_id": "u""#;
        let (cg, kind) = (r#""consumer_generation": null"#, r#""consumer_type": "INSTANCE""#);
        let mappings = r#""mappings": {"": 1, "_A": ["RP"]}"#;
        for (minor, body, expected) in [
            (0, format!("{{{list}}}"), ""),
            (
                7,
                format!("{{{list}, {owner}}}"),
                "Additional properties are not allowed ('project_id', 'user_id' were unexpected)",
            ),
            (0, r#"{"allocations": []}"#.to_owned(), "[] should be non-empty"),
            (8, format!("{{{list}}}"), "'project_id' is a required property"),
            (11, format!("{{{list}, {owner}}}"), ""),
            (12, format!("{{{dict}, {owner}}}"), ""),
            (12, format!(r#"{{"allocations": {{}}, {owner}}}"#), "{} should be non-empty"),
            (28, format!(r#"{{"allocations": {{}}, {owner}, {cg}}}"#), ""),
            (28, format!("{{{dict}, {owner}}}"), "'consumer_generation' is a required property"),
            (
                33,
                format!("{{{dict}, {owner}, {cg}, {mappings}}}"),
                "Additional properties are not allowed ('mappings' was unexpected)",
            ),
            (34, format!("{{{dict}, {owner}, {cg}, {mappings}}}"), ""),
            (34, format!(r#"{{{dict}, {owner}, {cg}, "mappings": {{}}}}"#), "{} should be non-empty"),
            (38, format!("{{{dict}, {owner}, {cg}}}"), "'consumer_type' is a required property"),
            (38, format!("{{{dict}, {owner}, {cg}, {mappings}, {kind}}}"), ""),
            (38, format!(r#"{{{dict}, {owner}, {cg}, "consumer_type": "x"}}"#), "'x' does not match '^[A-Z0-9_]+$'"),
            (12, format!(r#"{{"allocations": {{"RP": {{"resources": {{}}}}}}, {owner}}}"#), "{} should be non-empty"),
            (
                12,
                format!(r#"{{"allocations": {{"RP": {{"resources": {{"VCPU": 0}}}}}}, {owner}}}"#),
                "0 is less than the minimum of 1",
            ),
        ] {
            assert_eq!(reported(put(version(minor)), &body), expected, "1.{minor} {body}");
        }
    }

    #[test]
    fn bodies_of_post() {
        let one = r#"{"allocations": {}, "project_id": "p", "user_id": "u"}"#;
        assert_eq!(reported(post(version(13)), &format!(r#"{{"RP": {one}}}"#)), "");
        assert_eq!(reported(post(version(13)), "{}"), "{} should be non-empty");
        assert_eq!(reported(&of_reshape(version(30)), "{}"), "");
        let wrong = reported(post(version(13)), &format!(r#"{{"x": {one}}}"#));
        assert_eq!(wrong, "'x' does not match any of the regexes: '^[0-9a-fA-F-]{36}$'");
    }

    #[test]
    fn what_is_sent_is_read_in_its_order_and_the_last_of_two_counts() {
        let body = value(
            r#"{"allocations": [
                {"resource_provider": {"uuid": "RP"}, "resources": {"VCPU": 1}},
                {"resource_provider": {"uuid": "other"}, "resources": {"Z": 99999999999999999999, "A": 2.0}},
                {"resource_provider": {"uuid": "{RP}"}, "resources": {"VCPU": 3}}]}"#,
        );
        let write = read(Key::new("c"), &body, version(0));
        assert_eq!((write.project.as_str(), write.user.as_str()), (UNKNOWN_OWNER, UNKNOWN_OWNER));
        assert_eq!((write.kind, write.generation), (None, ConsumerGuard::Unchecked));
        let class = |name| ClassName::new(name);
        let expected = vec![
            (Key::new(RP), vec![(class("VCPU"), 3)]),
            (Key::new("other"), vec![(class("Z"), u64::MAX), (class("A"), 2)]),
        ];
        assert_eq!(write.allocations, expected);
    }

    #[test]
    fn generations_of_consumers() {
        let guard = |text: &str| read(Key::new("c"), &value(text), version(28)).generation;
        assert_eq!(guard(r#"{"consumer_generation": null}"#), ConsumerGuard::Expected(None));
        assert_eq!(guard(r#"{"consumer_generation": 2.0}"#), ConsumerGuard::Expected(Some(2)));
        assert_eq!(guard(r#"{"consumer_generation": 1e30}"#), ConsumerGuard::Expected(Some(i64::MAX)));
    }
}
