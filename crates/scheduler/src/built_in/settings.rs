//! Settings of the built-in scheduler.

use crate::{AnswerSettings, Pipelines, TieBreak};

/// Settings of the built-in scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How hosts of equal weight are ordered.
    pub tie_break: TieBreak,
    /// The pipelines that requests can name.
    pub pipelines: Pipelines,
    /// How requests from outside are answered.
    pub answers: AnswerSettings,
}

impl Default for Settings {
    /// The compiled-in pipelines, ties by hash.
    fn default() -> Self {
        Self { tie_break: TieBreak::default(), pipelines: Pipelines::shipped(), answers: AnswerSettings::default() }
    }
}
