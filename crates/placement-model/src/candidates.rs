//! GET `/allocation_candidates` (document 51 section 12): which providers could hold everything that a question asks for. It
//! decides what is evaluated in which order, and what is answered when there is too much of it.
//!
//! A question becomes a *plan* (names are numbers), the plan names *anchors* in the order of creation, and at each anchor a
//! *walk* goes through the choices that satisfy all groups together. Constraints are checked while choosing, so what cannot
//! become a request is left early; nothing is kept but the slots of the requests that are answered.

mod anchors;
mod answer;
mod form;
mod lists;
mod pages;
mod plan;
mod search;
mod walk;

pub use pages::Pages;
use thiserror::Error;

use crate::{
    Model, Refusal,
    question::{CandidatesQuestion, GenerationOptions},
};
use answer::{Answer, Found};
use plan::{Plan, Planned};

/// The bounds of the issue, with nothing drawn.
impl Default for GenerationOptions {
    fn default() -> Self {
        Self { shuffle: None, breadth_first: false, most_requests: 100_000, most_combinations: 1_000_000 }
    }
}

/// Why a question about candidates has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoCandidates {
    /// It names what does not exist.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// As many combinations as are allowed were tried, and none of them is a candidate. 503.
    #[error("query too complex")]
    TooComplex,
}

/// Allocation requests of one model.
#[derive(Debug)]
pub struct Candidates<'m> {
    model: &'m Model,
    found: Option<Found<'m>>,
    /// Whether there may be more because a bound was reached; the limit of the question is none.
    pub is_cut: bool,
}

impl Candidates<'_> {
    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.requests.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether as many combinations as are allowed were tried, so that there may be more.
    fn is_exhausted(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.requests.is_exhausted)
    }

    /// The body of the answer (document 51 section 12.5).
    pub fn body(self) -> Vec<u8> {
        let (model, mut out) = (self.model, Vec::new());
        self.answer().write(model, &mut out, usize::MAX);
        out
    }

    fn answer(self) -> Answer {
        self.found.map(Answer::new).unwrap_or_default()
    }
}

impl Model {
    /// The requests that satisfy a question, in the order of section 12.4.
    pub fn candidates(
        &self,
        question: &CandidatesQuestion,
        options: &GenerationOptions,
    ) -> Result<Candidates<'_>, NoCandidates> {
        let nothing = Candidates { model: self, found: None, is_cut: false };
        let plan = match Plan::of_question(self, question)? {
            Planned::Whole(plan) => plan,
            Planned::Fault { before, refusal } => {
                return if self.all_found(question, before, options)? { Err(refusal.into()) } else { Ok(nothing) };
            }
            Planned::Nothing => return Ok(nothing),
        };
        let most = question.limit.unwrap_or(usize::MAX).min(options.most_requests);
        let requests = search::requests(&plan, most, options);
        if requests.count == 0 && requests.is_exhausted {
            return Err(NoCandidates::TooComplex);
        }
        let is_cut = requests.is_exhausted || question.limit.is_none_or(|limit| limit > most) && requests.count == most;
        Ok(Candidates { model: self, found: Some(Found { plan, requests }), is_cut })
    }

    /// Whether each of the first groups alone has a request: only then later groups are looked at (section 19 no. 24).
    fn all_found(
        &self,
        question: &CandidatesQuestion,
        groups: usize,
        options: &GenerationOptions,
    ) -> Result<bool, NoCandidates> {
        for place in 0..groups {
            let Planned::Whole(plan) = Plan::of_one_group(self, question, place)? else { return Ok(false) };
            let requests = search::requests(&plan, 1, &GenerationOptions { shuffle: None, ..*options });
            if requests.count == 0 {
                return if requests.is_exhausted { Err(NoCandidates::TooComplex) } else { Ok(false) };
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
