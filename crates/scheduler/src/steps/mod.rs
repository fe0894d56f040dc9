//! The steps of a pipeline: filters remove hosts, weighers rank them. Each step looks at the request once
//! (`prepare`) and answers per host what is left of the question.

pub(crate) mod filters;
pub(crate) mod question;
pub(crate) mod weighers;

use std::fmt;

use crate::{FilterName, fleet::Candidate, order::Weighed, run::Run};

/// Removes hosts.
pub(crate) trait Filter: fmt::Debug + Send + Sync {
    fn name(&self) -> FilterName;

    /// What the filter does in this run, or why it cannot do its work (document 60 B2).
    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String>;
}

/// What a filter does in one run.
pub(crate) enum Check<'r> {
    /// Keeps every host.
    Skip,
    /// Keeps the hosts for which this is true.
    Keep(Box<dyn Fn(&Candidate<'r>) -> bool + 'r>),
}

impl<'r> Check<'r> {
    pub(crate) fn keep(keep: impl Fn(&Candidate<'r>) -> bool + 'r) -> Self {
        Self::Keep(Box::new(keep))
    }
}

/// Ranks hosts.
pub(crate) trait Weigher: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// How the weigher ranks the hosts that the filters have left.
    fn prepare<'r>(&'r self, run: &'r Run<'r>, hosts: &[Weighed<'r>]) -> Scores<'r>;
}

type Tier<'r> = Box<dyn Fn(&Candidate<'r>) -> bool + 'r>;

/// What a weigher does in one run.
pub(crate) enum Scores<'r> {
    /// 0 for every host.
    NoEffect,
    /// This activation per host.
    Each(Box<dyn Fn(&Candidate<'r>) -> f64 + 'r>),
    /// The same, and some hosts come before all others whatever they weigh.
    Tiered(Box<dyn Fn(&Candidate<'r>) -> f64 + 'r>, Tier<'r>),
}

impl<'r> Scores<'r> {
    pub(crate) fn each(score: impl Fn(&Candidate<'r>) -> f64 + 'r) -> Self {
        Self::Each(Box::new(score))
    }
}
