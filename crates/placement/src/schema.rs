//! Schemas of bodies and queries as values: the part of JSON Schema that Placement uses.

mod check;
mod pattern;

use strum::IntoStaticStr;

pub use check::check;
pub use pattern::Pattern;

/// The constraints of a value. Each constraint applies only to values of its own type.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// One of these types; empty: any.
    types: Vec<Type>,
    properties: Vec<(&'static str, Schema)>,
    patterns: Vec<(Pattern, Schema)>,
    /// Members that must be there.
    required: Vec<&'static str>,
    others: Others,
    items: Option<Box<Schema>>,
    unique: bool,
    minimum: Option<i128>,
    maximum: Option<Maximum>,
    /// The least number of characters, elements or members; 1 is the only one in use.
    nonempty: bool,
    longest: Option<usize>,
    pattern: Option<Pattern>,
    uuid: bool,
}

/// Members that a schema does not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Others {
    #[default]
    Ignored,
    Refused,
}

/// An upper bound, and how it is printed.
#[derive(Debug, Clone, Copy)]
struct Maximum {
    value: f64,
    text: &'static str,
}

/// The types in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Type {
    Object,
    Array,
    #[strum(serialize = "string")]
    Text,
    Integer,
    Number,
    Null,
}

impl Type {
    fn name(self) -> &'static str {
        self.into()
    }
}

impl Schema {
    fn of(kind: Type) -> Self {
        Self { types: vec![kind], ..Self::default() }
    }

    /// An object with no other members than are named.
    pub fn object() -> Self {
        Self { others: Others::Refused, ..Self::of(Type::Object) }
    }

    pub fn array(items: Self) -> Self {
        Self { items: Some(Box::new(items)), ..Self::of(Type::Array) }
    }

    pub fn text() -> Self {
        Self::of(Type::Text)
    }

    pub fn integer() -> Self {
        Self::of(Type::Integer)
    }

    pub fn number() -> Self {
        Self::of(Type::Number)
    }

    pub fn uuid() -> Self {
        Self { uuid: true, ..Self::text() }
    }

    /// Or `null`.
    #[must_use]
    pub fn or_null(mut self) -> Self {
        self.types.push(Type::Null);
        self
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, schema: Self) -> Self {
        self.properties.push((name, schema));
        self
    }

    #[must_use]
    pub fn requires(mut self, name: &'static str, schema: Self) -> Self {
        self.required.push(name);
        self.with(name, schema)
    }

    #[must_use]
    pub fn matching(mut self, pattern: Pattern, schema: Self) -> Self {
        self.patterns.push((pattern, schema));
        self
    }

    /// Other members are ignored.
    #[must_use]
    pub fn open(self) -> Self {
        Self { others: Others::Ignored, ..self }
    }

    #[must_use]
    pub fn nonempty(self) -> Self {
        Self { nonempty: true, ..self }
    }

    #[must_use]
    pub fn up_to(self, characters: usize) -> Self {
        Self { longest: Some(characters), ..self }
    }

    /// Elements must be different.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { unique: true, ..self }
    }

    #[must_use]
    pub fn at_least(self, minimum: i128) -> Self {
        Self { minimum: Some(minimum), ..self }
    }

    /// At most; `text` is how it is printed.
    #[must_use]
    pub fn at_most(self, value: f64, text: &'static str) -> Self {
        Self { maximum: Some(Maximum { value, text }), ..self }
    }

    #[must_use]
    pub fn like(self, pattern: Pattern) -> Self {
        Self { pattern: Some(pattern), ..self }
    }
}
