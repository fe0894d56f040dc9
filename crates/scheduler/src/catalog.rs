//! The steps that pipelines can name, for the documentation.

use crate::steps;

/// A step that pipelines can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepDescription {
    pub name: &'static str,
    pub does: &'static str,
    /// Its parameters and their types; empty without any.
    pub parameters: &'static str,
}

pub fn filters() -> impl Iterator<Item = StepDescription> {
    let kinds = steps::filters::ALL.into_iter();
    kinds.map(|kind| StepDescription { name: kind.name, does: kind.does, parameters: kind.parameters })
}

pub fn weighers() -> impl Iterator<Item = StepDescription> {
    let kinds = steps::weighers::ALL.into_iter();
    kinds.map(|kind| StepDescription { name: kind.name, does: kind.does, parameters: kind.parameters })
}
