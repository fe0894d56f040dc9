//! Schemas of bodies and queries, as values: what document 51 section 1.7 says of JSON Schema and no more. It decides what
//! can be asked of a value; how a violation is told is in `complaint`, the schemas themselves are in [`crate::bodies`].

mod check;
mod pattern;

use strum::IntoStaticStr;

pub use check::check;
pub use pattern::Pattern;

/// What a value must be like. Each constraint looks only at values of its own type.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// One of these types; empty: any.
    types: Vec<Type>,
    /// Members by name.
    properties: Vec<(&'static str, Schema)>,
    /// Members by pattern.
    patterns: Vec<(Pattern, Schema)>,
    /// Members that must be there.
    required: Vec<&'static str>,
    /// What becomes of other members.
    others: Others,
    /// Every element.
    items: Option<Box<Schema>>,
    /// Whether elements are different.
    unique: bool,
    minimum: Option<i128>,
    maximum: Option<Maximum>,
    /// The least number of characters, elements or members; 1 is the only one in use.
    nonempty: bool,
    /// The most characters.
    longest: Option<usize>,
    pattern: Option<Pattern>,
    /// A UUID in any spelling.
    uuid: bool,
}

/// Members that a schema does not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Others {
    /// They may be there.
    #[default]
    Ignored,
    /// They may not.
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

    /// An array of such elements.
    pub fn array(items: Self) -> Self {
        Self { items: Some(Box::new(items)), ..Self::of(Type::Array) }
    }

    /// A string.
    pub fn text() -> Self {
        Self::of(Type::Text)
    }

    /// An integer.
    pub fn integer() -> Self {
        Self::of(Type::Integer)
    }

    /// A number.
    pub fn number() -> Self {
        Self::of(Type::Number)
    }

    /// A string that is a UUID.
    pub fn uuid() -> Self {
        Self { uuid: true, ..Self::text() }
    }

    /// Or `null`.
    #[must_use]
    pub fn or_null(mut self) -> Self {
        self.types.push(Type::Null);
        self
    }

    /// With this member, if it wants.
    #[must_use]
    pub fn with(mut self, name: &'static str, schema: Self) -> Self {
        self.properties.push((name, schema));
        self
    }

    /// With this member.
    #[must_use]
    pub fn requires(mut self, name: &'static str, schema: Self) -> Self {
        self.required.push(name);
        self.with(name, schema)
    }

    /// With members whose names match.
    #[must_use]
    pub fn matching(mut self, pattern: Pattern, schema: Self) -> Self {
        self.patterns.push((pattern, schema));
        self
    }

    /// Other members may be there, and are not looked at.
    #[must_use]
    pub fn open(self) -> Self {
        Self { others: Others::Ignored, ..self }
    }

    /// At least one character, element or member.
    #[must_use]
    pub fn nonempty(self) -> Self {
        Self { nonempty: true, ..self }
    }

    /// At most so many characters.
    #[must_use]
    pub fn up_to(self, characters: usize) -> Self {
        Self { longest: Some(characters), ..self }
    }

    /// Elements must be different.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { unique: true, ..self }
    }

    /// At least.
    #[must_use]
    pub fn at_least(self, minimum: i128) -> Self {
        Self { minimum: Some(minimum), ..self }
    }

    /// At most; `text` is how it is printed.
    #[must_use]
    pub fn at_most(self, value: f64, text: &'static str) -> Self {
        Self { maximum: Some(Maximum { value, text }), ..self }
    }

    /// A string of this form.
    #[must_use]
    pub fn like(self, pattern: Pattern) -> Self {
        Self { pattern: Some(pattern), ..self }
    }
}
