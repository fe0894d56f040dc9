//! Objects that an API server takes or refuses, row by row of document 10 sections 13, 14 and 15.1.

use super::edit::Edit;

/// One object, made from an example.
#[derive(Clone, Debug)]
pub struct Case {
    /// Row in document 10, or number of the rule in section 15.1.
    pub row: &'static str,
    /// The example.
    pub base: &'static str,
    /// What is done with it.
    pub act: Act,
    /// A word that the refusal must have in its message; none if the object is taken.
    pub refusal: Option<&'static str>,
}

/// What is done with an example.
#[derive(Clone, Debug)]
pub enum Act {
    /// Create it with changes.
    Create(Vec<Edit>),
    /// Create it, then write its status with changes.
    Status(Vec<Edit>),
    /// Create it with the first changes, then add the others.
    Update(Vec<Edit>, Vec<Edit>),
}

/// Create with changes.
pub fn create(edits: impl Into<Vec<Edit>>) -> Act {
    Act::Create(edits.into())
}

/// Write the status with changes.
pub fn status(edits: impl Into<Vec<Edit>>) -> Act {
    Act::Status(edits.into())
}

/// Create with the first changes, then add the others.
pub fn update(before: impl Into<Vec<Edit>>, after: impl Into<Vec<Edit>>) -> Act {
    Act::Update(before.into(), after.into())
}

/// A case that is refused with a message that has `word` in it.
pub fn refused(row: &'static str, base: &'static str, act: Act, word: &'static str) -> Case {
    Case { row, base, act, refusal: Some(word) }
}

/// A case that is taken.
pub fn taken(row: &'static str, base: &'static str, act: Act) -> Case {
    Case { row, base, act, refusal: None }
}
