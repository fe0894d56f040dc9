//! The schema of a kind, compiled once. An unknown keyword is an error, so that nothing in a CRD is silently ignored;
//! `prepare` (defaults, pruning), `validate` and `rules` use the schema.

mod prepare;
mod problem;
mod rules;
mod validate;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use crate::cel::{Program, Typed};
pub(crate) use prepare::prepare;
pub(crate) use problem::{Path, Problems, SchemaProblem};
pub(crate) use validate::check;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    Text,
    Integer,
    Number,
    Bool,
    IntOrString,
    #[default]
    Any,
}

/// The schema of a value and of everything in it.
#[derive(Debug, Default)]
pub(crate) struct Node {
    kind: Type,
    nullable: bool,
    preserve: bool,
    properties: BTreeMap<String, Node>,
    additional: Option<Box<Node>>,
    items: Option<Box<Node>>,
    required: Vec<String>,
    choices: Vec<Value>,
    pattern: Option<Regex>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    max_properties: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    format: Option<Format>,
    default: Option<Value>,
    /// The keys of a list of type `map`.
    keys: Vec<String>,
    rules: Vec<Rule>,
    has_rules: bool,
}

/// The formats that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DateTime,
    Int32,
    Int64,
}

/// A rule in CEL.
#[derive(Debug)]
struct Rule {
    program: Program,
    message: String,
    expression: Option<Program>,
    field: Option<String>,
    optional_old: bool,
}

impl Node {
    /// Compiles the schema of a whole object, as it is in a CRD.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let mut node = Self::default();
        let fields = schema.as_object().ok_or("a schema is no object")?;
        for (keyword, value) in fields {
            node.take(keyword, value).map_err(|problem| format!("{keyword}: {problem}"))?;
        }
        if fields.contains_key("anyOf") && node.kind != Type::IntOrString {
            return Err("anyOf is known for x-kubernetes-int-or-string only".to_owned());
        }
        node.has_rules = !node.rules.is_empty() || node.children().any(|child| child.has_rules);
        Ok(node)
    }

    fn take(&mut self, keyword: &str, value: &Value) -> Result<(), String> {
        match keyword {
            // anyOf is evaluated at the end; the type of a map is for server-side apply, which the double does not
            // support.
            "description" | "title" | "anyOf" | "x-kubernetes-map-type" => {}
            "x-kubernetes-list-type" if value == "map" || value == "atomic" => {}
            "type" => self.kind = type_of(text(value)?)?,
            "x-kubernetes-int-or-string" => self.kind = Type::IntOrString,
            "x-kubernetes-preserve-unknown-fields" => self.preserve = value == true,
            "nullable" => self.nullable = value == true,
            "properties" => self.properties = properties(value)?,
            "additionalProperties" => self.additional = Some(Box::new(Self::compile(value)?)),
            "items" => self.items = Some(Box::new(Self::compile(value)?)),
            "required" => self.required = texts(value)?,
            "enum" => self.choices.clone_from(value.as_array().ok_or("no list")?),
            "pattern" => self.pattern = Some(Regex::new(text(value)?).map_err(|error| error.to_string())?),
            "minimum" => self.minimum = Some(value.as_f64().ok_or("no number")?),
            "maximum" => self.maximum = Some(value.as_f64().ok_or("no number")?),
            "minLength" => self.min_length = Some(value.as_u64().ok_or("no number")?),
            "maxLength" => self.max_length = Some(value.as_u64().ok_or("no number")?),
            "maxProperties" => self.max_properties = Some(value.as_u64().ok_or("no number")?),
            "minItems" => self.min_items = Some(value.as_u64().ok_or("no number")?),
            "maxItems" => self.max_items = Some(value.as_u64().ok_or("no number")?),
            "format" => self.format = Some(format(text(value)?)?),
            "default" => self.default = Some(value.clone()),
            "x-kubernetes-list-map-keys" => self.keys = texts(value)?,
            "x-kubernetes-validations" => {
                self.rules = value.as_array().ok_or("no list")?.iter().map(rule).collect::<Result<_, _>>()?;
            }
            _ => return Err("this keyword is not known here".to_owned()),
        }
        Ok(())
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        self.properties.values().chain(self.additional.as_deref()).chain(self.items.as_deref())
    }

    pub(crate) fn child(&self, field: &str) -> Option<&Self> {
        self.properties.get(field).or(self.additional.as_deref())
    }

    /// The schema of the elements of a list.
    pub(crate) fn item(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The number of CEL rules, here and below.
    #[cfg(test)]
    pub(crate) fn rules(&self) -> usize {
        self.rules.len() + self.children().map(Self::rules).sum::<usize>()
    }
}

impl Typed for Node {
    fn child(&self, field: &str) -> Option<&dyn Typed> {
        Node::child(self, field).map(|child| child as &dyn Typed)
    }

    fn item(&self) -> Option<&dyn Typed> {
        Node::item(self).map(|item| item as &dyn Typed)
    }

    fn is_time(&self) -> bool {
        self.format == Some(Format::DateTime)
    }

    fn is_number(&self) -> bool {
        self.kind == Type::Number
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("{value} is no text"))
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    value.as_array().ok_or("no list")?.iter().map(|one| text(one).map(str::to_owned)).collect()
}

fn type_of(name: &str) -> Result<Type, String> {
    Ok(match name {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::Text,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Bool,
        other => return Err(format!("{other} is not known here")),
    })
}

fn format(name: &str) -> Result<Format, String> {
    match name {
        "date-time" => Ok(Format::DateTime),
        "int32" => Ok(Format::Int32),
        "int64" => Ok(Format::Int64),
        other => Err(format!("{other} is not known here")),
    }
}

fn properties(value: &Value) -> Result<BTreeMap<String, Node>, String> {
    let fields: &Map<String, Value> = value.as_object().ok_or("no object")?;
    fields
        .iter()
        .map(|(name, schema)| {
            let node = Node::compile(schema).map_err(|problem| format!("{name}: {problem}"))?;
            Ok((name.clone(), node))
        })
        .collect()
}

fn rule(value: &Value) -> Result<Rule, String> {
    let optional = |key: &str| value.get(key).map(text).transpose();
    let cel = text(&value["rule"])?;
    let program = |cel: &str| Program::new(cel).map_err(|problem| format!("{cel}: {problem}"));
    Ok(Rule {
        program: program(cel)?,
        message: optional("message")?.map_or_else(|| format!("failed rule: {cel}"), str::to_owned),
        expression: optional("messageExpression")?.map(program).transpose()?,
        field: optional("fieldPath")?.map(str::to_owned),
        optional_old: value.get("optionalOldSelf").is_some_and(|set| set == true),
    })
}

#[cfg(test)]
mod tests;
