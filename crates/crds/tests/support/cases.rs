//! Objects that an API server accepts or rejects, row by row.

use super::edit::Edit;

/// One object, derived from an example.
#[derive(Clone, Debug)]
pub struct Case {
    pub row: &'static str,
    pub base: &'static str,
    pub act: Act,
    /// A word that the rejection must have in its message; `None` if the object is accepted.
    pub refusal: Option<&'static str>,
}

/// The writes of a case.
#[derive(Clone, Debug)]
pub enum Act {
    Create(Vec<Edit>),
    /// Create it, then write its status with changes.
    Status(Vec<Edit>),
    /// Create it with the first changes, then add the others.
    Update(Vec<Edit>, Vec<Edit>),
}

pub fn create(edits: impl Into<Vec<Edit>>) -> Act {
    Act::Create(edits.into())
}

pub fn status(edits: impl Into<Vec<Edit>>) -> Act {
    Act::Status(edits.into())
}

/// Create with the first changes, then add the others.
pub fn update(before: impl Into<Vec<Edit>>, after: impl Into<Vec<Edit>>) -> Act {
    Act::Update(before.into(), after.into())
}

/// A case that is rejected with a message that has `word` in it.
pub fn refused(row: &'static str, base: &'static str, act: Act, word: &'static str) -> Case {
    Case { row, base, act, refusal: Some(word) }
}

pub fn taken(row: &'static str, base: &'static str, act: Act) -> Case {
    Case { row, base, act, refusal: None }
}
