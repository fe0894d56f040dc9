//! The answer to a question about candidates, written straight into bytes, as much at a time as somebody takes (document 51
//! section 12.5). It decides in which order requests and summaries come; how each looks is up to [`super::form`], what is in
//! the answer was found by [`super::search`].

use super::{
    form::{Form, Requests},
    plan::Plan,
    search,
};
use crate::{
    Model, json,
    model::{Record, Slot, Tree},
};

/// What was found, and for what.
#[derive(Debug)]
pub struct Found<'m> {
    pub plan: Plan<'m>,
    pub requests: search::Requests<'m>,
}

/// An answer that is being written; by default one without candidates.
#[derive(Debug, Default)]
pub struct Answer {
    form: Form,
    /// For each request the slot of each level.
    chosen: Vec<Slot>,
    /// Anchors, each with the request after the last one at it.
    runs: Vec<(usize, Tree)>,
    next: Next,
    seen: Seen,
}

/// What is written next.
#[derive(Debug, Default, Clone, Copy)]
enum Next {
    #[default]
    Head,
    /// A request, and the run that it is in.
    Request(usize, usize),
    Summaries(usize),
    Nothing,
}

impl Answer {
    /// Nothing is written yet.
    pub fn new(found: Found<'_>) -> Self {
        let Found { plan, requests } = found;
        let ends = requests.runs.iter().skip(1).map(|run| run.0).chain([requests.count]);
        Self {
            runs: ends.zip(requests.runs.iter().map(|run| run.1.clone())).collect(),
            chosen: requests.chosen,
            next: Next::Head,
            seen: Seen::new(plan.model.slots()),
            form: Form::new(&plan),
        }
    }

    /// Appends until `out` has `enough` bytes, or all is written. `model` is the one in which the candidates were found.
    pub fn write(&mut self, model: &Model, out: &mut Vec<u8>, enough: usize) {
        let mut requests = Requests::new(&self.form, model);
        while out.len() < enough {
            self.next = match self.next {
                Next::Head => {
                    json::raw(out, "{\"allocation_requests\":[");
                    Next::Request(0, 0)
                }
                Next::Request(place, run) => match self.runs.get(run) {
                    Some((end, _)) if place == *end => Next::Request(place, run + 1),
                    Some((_, anchor)) => {
                        comma(out, place);
                        let width = self.form.width();
                        requests.write(out, &self.chosen[place * width..(place + 1) * width]);
                        self.seen.note(model, anchor, requests.providers());
                        Next::Request(place + 1, run)
                    }
                    None => {
                        self.seen.sort();
                        json::raw(out, "],\"provider_summaries\":{");
                        Next::Summaries(0)
                    }
                },
                Next::Summaries(place) if place < self.seen.trees.len() => {
                    comma(out, place);
                    self.form.summaries(model, out, &self.seen.trees[place], &self.seen.used);
                    Next::Summaries(place + 1)
                }
                Next::Summaries(_) => {
                    json::raw(out, "}}");
                    Next::Nothing
                }
                Next::Nothing => return,
            }
        }
    }

    /// Whether all is written.
    pub fn is_whole(&self) -> bool {
        matches!(self.next, Next::Nothing)
    }

    /// About how much memory it takes, in bytes; the model is not counted.
    pub fn weight(&self) -> usize {
        // Each run may become a tree of which summaries are needed.
        let trees = self.runs.len() * (size_of::<(usize, Tree)>() + size_of::<Tree>());
        self.chosen.len() * size_of::<Slot>() + self.seen.used.len() + trees
    }
}

/// Before all but the first.
fn comma(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

/// What summaries are needed.
#[derive(Debug, Default)]
struct Seen {
    /// Providers that are in a request, by slot.
    used: Vec<bool>,
    /// Trees of these.
    trees: Vec<Tree>,
}

impl Seen {
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
