//! GET `/allocation_candidates`: the providers that could satisfy a query.
//!
//! A question becomes a *plan* with numbers instead of names. The plan names *anchors* in the order of creation, and at
//! each anchor a *walk* goes through the choices that satisfy all groups together. Constraints are checked while
//! choosing, so that dead ends are left early.

mod form;
mod lists;
mod pages;
mod plan;
mod search;
mod walk;

pub use pages::Pages;
use thiserror::Error;

use crate::model::{Record, Slot, Tree};
use crate::question::{CandidatesQuestion, GenerationOptions};
use crate::{Model, Refusal, json};
use form::{Form, Requests};
use plan::{CandidatesPlan, PlannedGroups};

/// The bounds of the issue, with nothing drawn.
impl Default for GenerationOptions {
    fn default() -> Self {
        Self { shuffle: None, breadth_first: false, most_requests: 100_000, most_combinations: 1_000_000 }
    }
}

/// Why a question about candidates has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoCandidates {
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
    /// Whether there may be more results because a bound other than the limit of the query was reached.
    pub is_cut: bool,
}

impl Candidates<'_> {
    pub fn len(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.requests.count)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether as many combinations as are allowed were tried, so that there may be more.
    fn is_exhausted(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.requests.is_exhausted)
    }

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
    pub fn candidates(
        &self,
        question: &CandidatesQuestion,
        options: &GenerationOptions,
    ) -> Result<Candidates<'_>, NoCandidates> {
        let nothing = Candidates { model: self, found: None, is_cut: false };
        let plan = match CandidatesPlan::of_question(self, question)? {
            PlannedGroups::Whole(plan) => plan,
            PlannedGroups::Fault { before, refusal } => {
                return if self.all_found(question, before, options)? { Err(refusal.into()) } else { Ok(nothing) };
            }
            PlannedGroups::Nothing => return Ok(nothing),
        };
        let most = question.limit.unwrap_or(usize::MAX).min(options.most_requests);
        let requests = search::requests(&plan, most, options);
        if requests.count == 0 && requests.is_exhausted {
            return Err(NoCandidates::TooComplex);
        }
        let is_cut = requests.is_exhausted || question.limit.is_none_or(|limit| limit > most) && requests.count == most;
        Ok(Candidates { model: self, found: Some(Found { plan, requests }), is_cut })
    }

    /// Whether each of the first groups alone has a request: only then later groups are evaluated.
    fn all_found(
        &self,
        question: &CandidatesQuestion,
        groups: usize,
        options: &GenerationOptions,
    ) -> Result<bool, NoCandidates> {
        for place in 0..groups {
            let PlannedGroups::Whole(plan) = CandidatesPlan::of_one_group(self, question, place)? else {
                return Ok(false);
            };
            let requests = search::requests(&plan, 1, &GenerationOptions { shuffle: None, ..*options });
            if requests.count == 0 {
                return if requests.is_exhausted { Err(NoCandidates::TooComplex) } else { Ok(false) };
            }
        }
        Ok(true)
    }
}

// Writes the candidates as bytes, in chunks that the reader requests. This file determines the order of requests and
// summaries, [`super::form`] their format; [`super::search`] has found them.

/// The search results, and their query.
#[derive(Debug)]
struct Found<'m> {
    pub plan: CandidatesPlan<'m>,
    pub requests: search::Requests<'m>,
}

/// An answer that is being written; by default one without candidates.
#[derive(Debug, Default)]
struct Answer {
    form: Form,
    /// For each request the slot of each level.
    chosen: Vec<Slot>,
    /// Anchors, each with the request after the last one at it.
    runs: Vec<(usize, Tree)>,
    next: NextWrite,
    seen: NeededSummaries,
}

/// The next part to write.
#[derive(Debug, Default, Clone, Copy)]
enum NextWrite {
    #[default]
    Head,
    /// A request, and the run that it is in.
    Request(usize, usize),
    Summaries(usize),
    Nothing,
}

impl Answer {
    pub fn new(found: Found<'_>) -> Self {
        let Found { plan, requests } = found;
        let ends = requests.runs.iter().skip(1).map(|run| run.0).chain([requests.count]);
        Self {
            runs: ends.zip(requests.runs.iter().map(|run| run.1.clone())).collect(),
            chosen: requests.chosen,
            next: NextWrite::Head,
            seen: NeededSummaries::new(plan.model.slots()),
            form: Form::new(&plan),
        }
    }

    /// Appends until `out` has `enough` bytes, or all is written. `model` is the one in which the candidates were found.
    pub fn write(&mut self, model: &Model, out: &mut Vec<u8>, enough: usize) {
        let mut requests = Requests::new(&self.form, model);
        while out.len() < enough {
            self.next = match self.next {
                NextWrite::Head => {
                    json::raw(out, "{\"allocation_requests\":[");
                    NextWrite::Request(0, 0)
                }
                NextWrite::Request(place, run) => match self.runs.get(run) {
                    Some((end, _)) if place == *end => NextWrite::Request(place, run + 1),
                    Some((_, anchor)) => {
                        comma(out, place);
                        let width = self.form.width();
                        requests.write(out, &self.chosen[place * width..(place + 1) * width]);
                        self.seen.note(model, anchor, requests.providers());
                        NextWrite::Request(place + 1, run)
                    }
                    None => {
                        self.seen.sort();
                        json::raw(out, "],\"provider_summaries\":{");
                        NextWrite::Summaries(0)
                    }
                },
                NextWrite::Summaries(place) if place < self.seen.trees.len() => {
                    comma(out, place);
                    self.form.summaries(model, out, &self.seen.trees[place], &self.seen.used);
                    NextWrite::Summaries(place + 1)
                }
                NextWrite::Summaries(_) => {
                    json::raw(out, "}}");
                    NextWrite::Nothing
                }
                NextWrite::Nothing => return,
            }
        }
    }

    pub fn is_whole(&self) -> bool {
        matches!(self.next, NextWrite::Nothing)
    }

    /// About how much memory it takes, in bytes; the model is not counted.
    pub fn weight(&self) -> usize {
        // Each run may become a tree of which summaries are needed.
        let trees = self.runs.len() * (size_of::<(usize, Tree)>() + size_of::<Tree>());
        self.chosen.len() * size_of::<Slot>() + self.seen.used.len() + trees
    }
}

fn comma(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

/// The summaries that are needed.
#[derive(Debug, Default)]
struct NeededSummaries {
    /// Providers that are in a request, by slot.
    used: Vec<bool>,
    trees: Vec<Tree>,
}

impl NeededSummaries {
    fn new(slots: usize) -> Self {
        Self { used: vec![false; slots], trees: Vec::new() }
    }

    fn note<'m>(&mut self, model: &Model, anchor: &Tree, providers: impl Iterator<Item = (Slot, &'m Record)>) {
        for (slot, record) in providers {
            let is_known = std::mem::replace(&mut self.used[slot.place()], true);
            if !is_known && self.trees.last().is_none_or(|last| last.root != record.root) {
                let is_near = record.root == anchor.root;
                self.trees.extend(if is_near { Some(anchor) } else { model.trees().get(&record.root) }.cloned());
            }
        }
    }

    fn sort(&mut self) {
        self.trees.sort_unstable_by_key(|tree| tree.root);
        self.trees.dedup_by_key(|tree| tree.root);
    }
}

#[cfg(test)]
mod tests;
