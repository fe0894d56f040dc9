//! Checks a value against a schema. Of several violations the one nearest to the root is reported, and of those the
//! first.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use berth_placement_model::key::canonical;

use super::{Others, Schema, Type};
use crate::json::{Json, quoted, text};

pub fn check(value: &Json, schema: &Schema) -> Result<(), LocatedViolation> {
    let mut waiting = VecDeque::from([Location { value, schema, within: String::new(), at: String::new() }]);
    while let Some(place) = waiting.pop_front() {
        if let Some(fault) = fault(place.value, place.schema) {
            return Err(place.complaint(fault));
        }
        place.below(&mut waiting);
    }
    Ok(())
}

/// A part of the value and the part of the schema that it must agree with.
struct Location<'a> {
    value: &'a Json,
    schema: &'a Schema,
    within: String,
    at: String,
}

impl<'a> Location<'a> {
    fn complaint(self, Fault { keyword, message }: Fault) -> LocatedViolation {
        LocatedViolation { message, keyword, schema: self.within, instance: self.at, found: text(self.value) }
    }

    fn below(&self, waiting: &mut VecDeque<Self>) {
        for (name, value) in self.value.members() {
            for (property, schema) in &self.schema.properties {
                if property == name {
                    waiting.push_back(self.member(name, value, schema, "properties", property));
                }
            }
            for (pattern, schema) in &self.schema.patterns {
                if (pattern.matches)(name) {
                    waiting.push_back(self.member(name, value, schema, "patternProperties", pattern.text));
                }
            }
        }
        let Some(schema) = &self.schema.items else { return };
        for (place, value) in self.value.elements().iter().enumerate() {
            let (within, at) = (format!("{}['items']", self.within), format!("{}[{place}]", self.at));
            waiting.push_back(Self { value, schema, within, at });
        }
    }

    fn member(&self, name: &str, value: &'a Json, schema: &'a Schema, keyword: &str, property: &str) -> Self {
        let within = format!("{}['{keyword}'][{}]", self.within, quoted(property));
        Self { value, schema, within, at: format!("{}[{}]", self.at, quoted(name)) }
    }
}

/// The violation of the value itself, without its parts.
fn fault(value: &Json, schema: &Schema) -> Option<Fault> {
    if !schema.types.is_empty() && !schema.types.iter().any(|&kind| is_a(value, kind)) {
        let names: Vec<&str> = schema.types.iter().map(|kind| kind.name()).collect();
        return Some(Fault::kind(value, &names));
    }
    match value {
        Json::Text(string) => text_fault(value, string, schema),
        Json::List(elements) => list_fault(value, elements, schema),
        Json::Object(members) => object_fault(value, members, schema),
        _ => number_fault(value, schema),
    }
}

fn is_a(value: &Json, kind: Type) -> bool {
    match kind {
        Type::Object => matches!(value, Json::Object(_)),
        Type::Array => matches!(value, Json::List(_)),
        Type::Text => matches!(value, Json::Text(_)),
        Type::Integer => value.as_integer().is_some(),
        Type::Number => value.as_number().is_some(),
        Type::Null => matches!(value, Json::Null),
    }
}

fn text_fault(value: &Json, string: &str, schema: &Schema) -> Option<Fault> {
    if schema.nonempty && string.is_empty() {
        return Some(Fault::empty(value));
    }
    if schema.longest.is_some_and(|most| string.chars().count() > most) {
        return Some(Fault::long(value));
    }
    if let Some(pattern) = schema.pattern.filter(|pattern| !(pattern.matches)(string)) {
        return Some(Fault::pattern(string, pattern.text));
    }
    (schema.uuid && canonical(string).is_none()).then(|| Fault::format(string))
}

fn list_fault(value: &Json, elements: &[Json], schema: &Schema) -> Option<Fault> {
    if schema.nonempty && elements.is_empty() {
        return Some(Fault::empty(value));
    }
    // Only lists of strings must be unique anywhere in the API.
    let mut seen = HashSet::new();
    let repeats = schema.unique && !elements.iter().filter_map(Json::as_text).all(|one| seen.insert(one));
    repeats.then(|| Fault::repeated(value))
}

fn object_fault(value: &Json, members: &[(String, Json)], schema: &Schema) -> Option<Fault> {
    if let Some(missing) = schema.required.iter().find(|name| value.get(name).is_none()) {
        return Some(Fault::required(missing));
    }
    if schema.nonempty && members.is_empty() {
        return Some(Fault::empty(value));
    }
    let known = |name: &str| {
        schema.properties.iter().any(|(property, _)| *property == name)
            || schema.patterns.iter().any(|(pattern, _)| (pattern.matches)(name))
    };
    let unknown: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).filter(|name| !known(name)).collect();
    if schema.others == Others::Ignored || unknown.is_empty() {
        return None;
    }
    if schema.patterns.is_empty() {
        return Some(Fault::unexpected(&unknown));
    }
    Some(Fault::unmatched(&unknown, schema.patterns.iter().map(|(pattern, _)| pattern.text).collect()))
}

fn number_fault(value: &Json, schema: &Schema) -> Option<Fault> {
    let number = value.as_number()?;
    #[allow(clippy::cast_precision_loss, reason = "bounds are below 2^31")]
    if let Some(minimum) = schema.minimum.filter(|&minimum| number < minimum as f64) {
        return Some(Fault::minimum(value, minimum));
    }
    let maximum = schema.maximum.filter(|maximum| number > maximum.value)?;
    Some(Fault::maximum(value, maximum.text))
}

// Renders a violation of a schema: the sentence that clients match on, and the paths in the schema and in the value. Dumps
// of schemas are left out.

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedViolation {
    pub message: String,
    pub keyword: &'static str,
    pub schema: String,
    pub instance: String,
    pub found: String,
}

impl fmt::Display for LocatedViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, keyword, schema, instance, found } = self;
        write!(formatter, "{message}\n\nFailed validating '{keyword}' in schema{schema}:\n    ...\n\n")?;
        write!(formatter, "On instance{instance}:\n    {found}")
    }
}

fn list_some_names(names: &[&str]) -> String {
    const MOST: usize = 20;
    let mut all: Vec<String> = names.iter().take(MOST).map(|name| quoted(name)).collect();
    all.extend((names.len() > MOST).then(|| "...".to_owned()));
    all.join(", ")
}

/// A violation, without its path.
pub(super) struct Fault {
    pub keyword: &'static str,
    pub message: String,
}

impl Fault {
    pub fn kind(value: &Json, types: &[&str]) -> Self {
        let types: Vec<String> = types.iter().map(|kind| quoted(kind)).collect();
        Self { keyword: "type", message: format!("{} is not of type {}", text(value), types.join(", ")) }
    }

    pub fn required(name: &str) -> Self {
        Self { keyword: "required", message: format!("{} is a required property", quoted(name)) }
    }

    /// Additional members: names that have no property, in the order of the value.
    pub fn unexpected(names: &[&str]) -> Self {
        let verb = if names.len() == 1 { "was" } else { "were" };
        let message = format!("Additional properties are not allowed ({} {verb} unexpected)", list_some_names(names));
        Self { keyword: "additionalProperties", message }
    }

    /// The same where members are named by patterns.
    pub fn unmatched(names: &[&str], mut patterns: Vec<&str>) -> Self {
        patterns.sort_unstable();
        let patterns: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
        let verb = if names.len() == 1 { "does" } else { "do" };
        let message =
            format!("{} {verb} not match any of the regexes: {}", list_some_names(names), patterns.join(", "));
        Self { keyword: "additionalProperties", message }
    }

    pub fn minimum(value: &Json, minimum: i128) -> Self {
        Self { keyword: "minimum", message: format!("{} is less than the minimum of {minimum}", text(value)) }
    }

    pub fn maximum(value: &Json, maximum: &str) -> Self {
        Self { keyword: "maximum", message: format!("{} is greater than the maximum of {maximum}", text(value)) }
    }

    pub fn pattern(value: &str, pattern: &str) -> Self {
        Self { keyword: "pattern", message: format!("{} does not match {}", quoted(value), quoted(pattern)) }
    }

    pub fn empty(value: &Json) -> Self {
        let keyword = match value {
            Json::Text(_) => "minLength",
            Json::List(_) => "minItems",
            _ => "minProperties",
        };
        Self { keyword, message: format!("{} should be non-empty", text(value)) }
    }

    pub fn long(value: &Json) -> Self {
        Self { keyword: "maxLength", message: format!("{} is too long", text(value)) }
    }

    pub fn repeated(value: &Json) -> Self {
        Self { keyword: "uniqueItems", message: format!("{} has non-unique elements", text(value)) }
    }

    pub fn format(value: &str) -> Self {
        Self { keyword: "format", message: format!("{} is not a 'uuid'", quoted(value)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;
    use crate::schema::Pattern;

    fn reported(json: &str, schema: &Schema) -> String {
        check(&read(json.as_bytes()).unwrap(), schema)
            .map_or_else(|complaint| complaint.to_string(), |()| String::new())
    }

    fn message(json: &str, schema: &Schema) -> String {
        reported(json, schema).split("\n\n").next().unwrap().to_owned()
    }

    #[test]
    fn schema_violations_have_the_messages_of_placement() {
        let object = Schema::object()
            .requires("name", Schema::text())
            .with("n", Schema::integer().at_least(1).at_most(2.0, "2"));
        let pattern = Schema::text().like(Pattern::CUSTOM).up_to(9);
        let keys =
            Schema::object().matching(Pattern::NAME, Schema::integer()).matching(Pattern::KEY, Schema::integer());
        for (json, schema, expected) in [
            ("{}", &object, "'name' is a required property"),
            (r#"{"name": "a", "x": 1}"#, &object, "Additional properties are not allowed ('x' was unexpected)"),
            (
                r#"{"name": "a", "x": 1, "y": 1}"#,
                &object,
                "Additional properties are not allowed ('x', 'y' were unexpected)",
            ),
            (r#"{"k": 1}"#, &keys, "'k' does not match any of the regexes: '^[0-9a-fA-F-]{36}$', '^[A-Z0-9_]+$'"),
            (r#"{"name": "a", "n": "x"}"#, &object, "'x' is not of type 'integer'"),
            (r#"{"name": "a", "n": true}"#, &object, "True is not of type 'integer'"),
            (r#"{"name": "a", "n": 0}"#, &object, "0 is less than the minimum of 1"),
            (r#"{"name": "a", "n": 3}"#, &object, "3 is greater than the maximum of 2"),
            (r#"{"name": "a", "n": 1.0}"#, &object, ""),
            (r#""v""#, &pattern, "'v' does not match '^CUSTOM_[A-Z0-9_]+$'"),
            (r#""""#, &Schema::text().nonempty(), "'' should be non-empty"),
            ("[]", &Schema::array(Schema::text()).nonempty(), "[] should be non-empty"),
            ("{}", &Schema::object().nonempty(), "{} should be non-empty"),
            (r#""CUSTOM_TOO""#, &pattern, "'CUSTOM_TOO' is too long"),
            (r#"["a", "a"]"#, &Schema::array(Schema::text()).unique(), "['a', 'a'] has non-unique elements"),
            (r#""x""#, &Schema::uuid(), "'x' is not a 'uuid'"),
            (r#""x""#, &Schema::integer().or_null(), "'x' is not of type 'integer', 'null'"),
            ("null", &Schema::integer().or_null(), ""),
            (r#"{"k": 1}"#, &keys.clone().open(), ""),
        ] {
            assert_eq!(message(json, schema), expected, "{json}");
        }
    }

    #[test]
    fn paths_of_schema_and_value() {
        let aggregates = Schema::array(Schema::uuid()).unique();
        let expected = "'x' is not a 'uuid'\n\nFailed validating 'format' in schema['items']:\n    ...\n\nOn instance[0]:\n    'x'";
        assert_eq!(reported(r#"["x"]"#, &aggregates), expected);
        let record = Schema::object().with("total", Schema::integer().at_least(1));
        let all = Schema::object().with("inventories", Schema::object().matching(Pattern::NAME, record));
        let reported = reported(r#"{"inventories": {"VCPU": {"total": 0}}}"#, &all);
        assert!(
            reported.contains(
                "in schema['properties']['inventories']['patternProperties']['^[A-Z0-9_]+$']['properties']['total']:"
            ),
            "{reported}"
        );
        assert!(reported.contains("On instance['inventories']['VCPU']['total']:"), "{reported}");
    }

    #[test]
    fn the_violation_nearest_to_the_top_is_reported() {
        let deep =
            Schema::object().with("a", Schema::object().with("b", Schema::integer())).requires("z", Schema::text());
        assert_eq!(message(r#"{"a": {"b": "x"}}"#, &deep), "'z' is a required property");
        assert_eq!(message(r#"{"a": {"b": "x"}, "z": 1}"#, &deep), "1 is not of type 'string'");
    }
}
