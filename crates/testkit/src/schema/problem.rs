//! The problems of an object with their places, in the words of the API server.

use std::fmt;

/// A place in an object, kept on the stack while the object is walked.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
    /// The key of a map: written like a field.
    Key(&'a Path<'a>, &'a str),
    /// Steps in their written form, such as `.a.b`.
    Steps(&'a Path<'a>, &'a str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) | Self::Key(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) | Self::Key(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
            Self::Steps(Self::Root, steps) => f.write_str(steps.trim_start_matches('.')),
            Self::Steps(parent, steps) => write!(f, "{parent}{steps}"),
        }
    }
}

/// The class of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaProblem {
    Required,
    Invalid,
    WrongType,
    NotSupported,
    Duplicate,
    TooLong,
    TooMany,
    Forbidden,
}

impl SchemaProblem {
    /// The reason in the cause of a refusal.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::WrongType => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    /// CEL rules are not evaluated on an object with such a problem.
    fn blocks_rules(self) -> bool {
        matches!(self, Self::Required | Self::WrongType | Self::TooLong | Self::TooMany | Self::NotSupported)
    }
}

/// All problems of an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    pub(crate) all: Vec<(SchemaProblem, String, String)>,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: SchemaProblem, path: &Path<'_>, text: impl Into<String>) {
        let path = match path {
            Path::Root => "<nil>".to_owned(),
            path => path.to_string(),
        };
        self.all.push((problem, path, text.into()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn block_rules(&self) -> bool {
        self.all.iter().any(|(problem, ..)| problem.blocks_rules())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.all.iter().map(|(_, path, text)| format!("{path}: {text}")).collect();
        match lines.as_slice() {
            [one] => f.write_str(one),
            all => write!(f, "[{}]", all.join(", ")),
        }
    }
}
