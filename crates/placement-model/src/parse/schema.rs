//! Which parameters a query string may have and the form of their values, with the messages of Placement's JSON
//! schemas.

use std::fmt;

use crate::{Refusal, key};

/// A parameter of a query string after percent-decoding, in the order of the query.
pub type Pair = (String, String);

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    /// A UUID with dashes at the usual places, in any case.
    Uuid,
    AnyUuid,
    /// A positive integer without a sign and without leading zeros.
    Positive,
    OneOf(&'static [&'static str]),
}

/// The form of suffixes of request groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffixes {
    /// Numbers, up to 1.32.
    Numbers,
    /// Up to 64 letters, digits, `_` and `-`, from 1.33.
    Words,
}

/// The parameters of one route at one microversion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    parameters: Vec<(&'static str, Form)>,
    mandatory: Option<&'static str>,
    families: Vec<&'static str>,
    suffixes: Option<Suffixes>,
}

impl Suffixes {
    const fn pattern(self) -> &'static str {
        match self {
            Self::Numbers => "[1-9][0-9]*",
            Self::Words => "[a-zA-Z0-9_-]{1,64}",
        }
    }

    /// Whether this is a suffix; the empty one is.
    pub fn allows(self, suffix: &str) -> bool {
        let word = |one: u8| one.is_ascii_alphanumeric() || one == b'_' || one == b'-';
        suffix.is_empty()
            || match self {
                Self::Numbers => is_positive(suffix),
                Self::Words => suffix.len() <= 64 && suffix.bytes().all(word),
            }
    }
}

fn is_positive(text: &str) -> bool {
    !text.starts_with('0') && !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit())
}

fn is_dashed_uuid(text: &str) -> bool {
    text.len() == 36 && key::canonical(text).is_some_and(|canonical| canonical.eq_ignore_ascii_case(text))
}

impl Form {
    /// The message and the keyword of the schema that `value` breaks.
    fn fault(self, value: &str) -> Option<(String, &'static str)> {
        let is_good = match self {
            Self::Text => true,
            Self::Uuid => is_dashed_uuid(value),
            Self::AnyUuid => key::canonical(value).is_some(),
            Self::Positive => is_positive(value),
            Self::OneOf(known) => known.contains(&value),
        };
        (!is_good).then(|| match self {
            Self::Positive => (format!("{} does not match '^[1-9][0-9]*$'", Quoted(value)), "pattern"),
            Self::OneOf(known) => (format!("{} is not one of {}", Quoted(value), list(known)), "enum"),
            Self::Text | Self::Uuid | Self::AnyUuid => (format!("{} is not a 'uuid'", Quoted(value)), "format"),
        })
    }
}

impl Schema {
    #[must_use]
    pub fn with(mut self, key: &'static str, form: Form) -> Self {
        self.parameters.push((key, form));
        self
    }

    /// The same with a parameter that must be there.
    #[must_use]
    pub fn with_mandatory(self, key: &'static str) -> Self {
        Self { mandatory: Some(key), ..self.with(key, Form::Text) }
    }

    /// The same with a parameter for each of these names followed by any suffix or none.
    #[must_use]
    pub fn with_families(self, families: &[&'static str], suffixes: Suffixes) -> Self {
        Self { families: families.to_vec(), suffixes: Some(suffixes), ..self }
    }

    /// The family and the suffix of a parameter of a request group.
    pub fn family<'a>(&self, key: &'a str) -> Option<(&'static str, &'a str)> {
        let suffixes = self.suffixes?;
        self.families.iter().find_map(|family| {
            let suffix = key.strip_prefix(family)?;
            suffixes.allows(suffix).then_some((*family, suffix))
        })
    }

    /// The first fault, those of the whole query before those of a value. All values of a repeated parameter are checked.
    pub fn check(&self, pairs: &[Pair]) -> Result<(), Refusal> {
        if let Some(key) = self.mandatory.filter(|key| !pairs.iter().any(|pair| pair.0 == **key)) {
            return Err(failure(&format!("{} is a required property", Quoted(key)), "required", "", &instance(pairs)));
        }
        self.check_keys(pairs)?;
        for (key, value) in pairs {
            let form = self.parameters.iter().find(|known| known.0 == key);
            if let Some((text, keyword)) = form.and_then(|known| known.1.fault(value)) {
                let place = format!("[{}]", Quoted(key));
                let schema = format!("['properties']{place}");
                return Err(failed(&text, keyword, &schema, &place, &Quoted(value).to_string()));
            }
        }
        Ok(())
    }

    fn check_keys(&self, pairs: &[Pair]) -> Result<(), Refusal> {
        let is_known = |key: &str| self.parameters.iter().any(|known| known.0 == key) || self.family(key).is_some();
        let mut unknown: Vec<&str> = pairs.iter().map(|pair| pair.0.as_str()).filter(|key| !is_known(key)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        unknown.sort_unstable();
        unknown.dedup();
        Err(failure(&self.about_unknown(&unknown), "additionalProperties", "", &instance(pairs)))
    }

    fn about_unknown(&self, unknown: &[&str]) -> String {
        let keys = unknown.iter().map(|key| Quoted(key).to_string()).collect::<Vec<_>>().join(", ");
        let Some(suffixes) = self.suffixes else {
            let verb = if unknown.len() == 1 { "was" } else { "were" };
            return format!("Additional properties are not allowed ({keys} {verb} unexpected)");
        };
        let verb = if unknown.len() == 1 { "does" } else { "do" };
        let mut regexes: Vec<String> =
            self.families.iter().map(|family| format!("'^{family}({})?$'", suffixes.pattern())).collect();
        regexes.sort_unstable();
        format!("{keys} {verb} not match any of the regexes: {}", regexes.join(", "))
    }
}

/// Text as the reference prints it: in single quotes.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "'{}'", self.0)
    }
}

/// Texts as the reference prints a list of them.
pub fn list<T: AsRef<str>>(texts: &[T]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| Quoted(text.as_ref()).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

fn instance(pairs: &[Pair]) -> String {
    let members: Vec<String> = pairs.iter().map(|(key, value)| format!("{}: {}", Quoted(key), Quoted(value))).collect();
    format!("{{{}}}", members.join(", "))
}

fn failure(text: &str, keyword: &str, place: &str, shown: &str) -> Refusal {
    failed(text, keyword, place, place, shown)
}

fn failed(text: &str, keyword: &str, schema: &str, place: &str, shown: &str) -> Refusal {
    Refusal::invalid(format!(
        "Invalid query string parameters: {text}\n\nFailed validating '{keyword}' in schema{schema}:\n    ...\n\nOn \
         instance{place}:\n    {shown}"
    ))
}
