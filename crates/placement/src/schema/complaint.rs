//! How a violation of a schema is told: the sentence that clients match on, where in the schema and where in the value
//! (document 51 section 1.7). Dumps of schemas are left out (section 19 no. 22).

use std::fmt;

use crate::json::{Json, quoted, text};

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// What is wrong.
    pub message: String,
    /// What the schema calls it.
    pub keyword: &'static str,
    /// Where in the schema.
    pub schema: String,
    /// Where in the value.
    pub instance: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, keyword, schema, instance, found } = self;
        write!(formatter, "{message}\n\nFailed validating '{keyword}' in schema{schema}:\n    ...\n\n")?;
        write!(formatter, "On instance{instance}:\n    {found}")
    }
}

/// The first of many names.
fn some(names: &[&str]) -> String {
    const MOST: usize = 20;
    let mut all: Vec<String> = names.iter().take(MOST).map(|name| quoted(name)).collect();
    all.extend((names.len() > MOST).then(|| "...".to_owned()));
    all.join(", ")
}

/// What is wrong with a value, apart from where it is.
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

    /// Members that nobody asked for: names that have no property, in the order of the value.
    pub fn unexpected(names: &[&str]) -> Self {
        let verb = if names.len() == 1 { "was" } else { "were" };
        let message = format!("Additional properties are not allowed ({} {verb} unexpected)", some(names));
        Self { keyword: "additionalProperties", message }
    }

    /// The same where members are named by patterns.
    pub fn unmatched(names: &[&str], mut patterns: Vec<&str>) -> Self {
        patterns.sort_unstable();
        let patterns: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
        let verb = if names.len() == 1 { "does" } else { "do" };
        let message = format!("{} {verb} not match any of the regexes: {}", some(names), patterns.join(", "));
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
