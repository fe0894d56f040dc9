//! A pipeline as data.

use crate::params::Param;

/// A pipeline as a Pipeline object describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineSpec {
    pub name: String,
    /// Requests choose from all hosts instead of those that the caller lists.
    pub ignore_preselection: bool,
    /// The filters, in the order in which they run.
    pub filters: Vec<StepSpec>,
    /// The weighers, in the order in which their results are added.
    pub weighers: Vec<StepSpec>,
}

/// A step of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// The name of the step, for example `filter_correct_az`.
    pub name: String,
    pub params: Vec<Param>,
    /// How much a weigher counts; negative inverts it, filters ignore it.
    pub multiplier: f64,
}

impl StepSpec {
    /// A step without parameters that counts once.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), params: Vec::new(), multiplier: 1.0 }
    }

    pub fn with(mut self, param: Param) -> Self {
        self.params.push(param);
        self
    }

    pub fn times(self, multiplier: f64) -> Self {
        Self { multiplier, ..self }
    }
}
