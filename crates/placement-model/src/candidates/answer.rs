//! The answer to a question about candidates, written straight into bytes (document 51 section 12.5). It decides the form of
//! each microversion; what is in it was found by [`super::search`].

use super::{
    Candidates,
    plan::{Level, Part, Plan},
    search::Requests,
};
use crate::{
    json,
    model::{Number, Record, Slot, Tree, capacity},
};

const NONE: &str = "{\"allocation_requests\":[],\"provider_summaries\":{}}";

impl Candidates<'_> {
    /// The body of the answer.
    pub fn body(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Appends the body of the answer.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self.found.as_ref().filter(|found| found.1.count > 0) {
            Some((plan, requests)) => Writer::new(plan).write(out, requests),
            None => json::raw(out, NONE),
        }
    }
}

/// What is the same in all requests of an answer, and what summaries are needed.
struct Writer<'p, 'm> {
    plan: &'p Plan<'m>,
    /// `"VCPU":1,"MEMORY_MB":512` of each level.
    amounts: Vec<String>,
    /// `"":[` of each group, a comma before all but the first.
    suffixes: Vec<String>,
    /// The levels of each group.
    levels: Vec<std::ops::Range<usize>>,
    /// The providers of the request that is being written, by level.
    chosen: Vec<(Slot, &'m Record)>,
    /// Levels with resources, by provider.
    by_provider: Vec<usize>,
    /// Providers that are in a request, by slot.
    used: Vec<bool>,
    /// Trees of these.
    trees: Vec<&'m Tree>,
}

impl<'p, 'm> Writer<'p, 'm> {
    fn new(plan: &'p Plan<'m>) -> Self {
        let levels = |group| {
            let end = plan.levels.partition_point(|level| level.group <= group);
            plan.levels.partition_point(|level| level.group < group)..end
        };
        Self {
            plan,
            amounts: plan.levels.iter().map(|level| text(|out| amounts(out, plan, &level.resources))).collect(),
            suffixes: plan.groups.iter().enumerate().map(|(place, group)| suffix(place, group)).collect(),
            levels: (0..plan.groups.len()).map(levels).collect(),
            chosen: Vec::new(),
            by_provider: Vec::new(),
            used: vec![false; plan.model.slots()],
            trees: Vec::new(),
        }
    }

    fn write(mut self, out: &mut Vec<u8>, requests: &Requests<'m>) {
        let width = self.plan.levels.len();
        // About what 1.39 needs, so that the answer rarely moves while it grows.
        out.reserve(requests.count * (100 + 120 * width) + requests.runs.len() * 600);
        json::raw(out, "{\"allocation_requests\":[");
        let ends = requests.runs.iter().skip(1).map(|run| run.0).chain([requests.count]);
        for ((start, tree), end) in requests.runs.iter().zip(ends) {
            for place in *start..end {
                if place > 0 {
                    out.push(b',');
                }
                self.request(out, tree, &requests.chosen[place * width..(place + 1) * width]);
            }
        }
        json::raw(out, "],\"provider_summaries\":{");
        self.summaries(out);
        json::raw(out, "}}");
    }

    fn request(&mut self, out: &mut Vec<u8>, anchor: &'m Tree, slots: &[Slot]) {
        let model = self.plan.model;
        self.chosen.clear();
        self.chosen.extend(slots.iter().filter_map(|slot| Some((*slot, model.record(*slot)?))));
        self.by_provider.clear();
        let levels = self.plan.levels.iter().enumerate();
        self.by_provider.extend(levels.filter(|level| !level.1.resources.is_empty()).map(|level| level.0));
        self.by_provider.sort_unstable_by_key(|level| (self.chosen[*level].1.id, *level));
        let is_map = self.plan.version.has(12);
        json::raw(out, if is_map { "{\"allocations\":{" } else { "{\"allocations\":[" });
        let mut rest = self.by_provider.as_slice();
        while let Some(first) = rest.first() {
            let (slot, record) = self.chosen[*first];
            let same = rest.iter().take_while(|level| self.chosen[**level].0 == slot).count();
            let (levels, later) = rest.split_at(same);
            if is_map {
                json::raw(out, record.quoted());
                json::raw(out, ":{\"resources\":{");
            } else {
                json::raw(out, "{\"resource_provider\":{\"uuid\":");
                json::raw(out, record.quoted());
                json::raw(out, "},\"resources\":{");
            }
            self.taken(out, levels);
            json::raw(out, if later.is_empty() { "}}" } else { "}}," });
            rest = later;
            if !std::mem::replace(&mut self.used[slot.place()], true) {
                self.trees.extend(tree_of(self.plan, anchor, record));
            }
        }
        out.push(if is_map { b'}' } else { b']' });
        if self.plan.version.has(34) {
            self.mappings(out);
        }
        out.push(b'}');
    }

    /// What one provider gives to these levels together.
    fn taken(&self, out: &mut Vec<u8>, levels: &[usize]) {
        if !self.plan.overlaps || levels.len() == 1 {
            return json::joined(out, levels, |out, level| json::raw(out, &self.amounts[*level]));
        }
        let mut sums: Vec<(Number, u64)> = Vec::new();
        for (class, amount) in levels.iter().flat_map(|level| &self.plan.levels[*level].resources) {
            match sums.iter_mut().find(|sum| sum.0 == *class) {
                Some(sum) => sum.1 = sum.1.saturating_add(*amount),
                None => sums.push((*class, *amount)),
            }
        }
        amounts(out, self.plan, &sums);
    }

    fn mappings(&mut self, out: &mut Vec<u8>) {
        json::raw(out, ",\"mappings\":{");
        for (suffix, levels) in self.suffixes.iter().zip(&self.levels) {
            json::raw(out, suffix);
            let of_group = &mut self.chosen[levels.clone()];
            // It is not needed in the order of levels any more.
            of_group.sort_unstable_by_key(|one| one.1.id);
            let distinct = of_group.chunk_by(|one, other| one.0 == other.0);
            json::joined(out, distinct, |out, same| json::raw(out, same[0].1.quoted()));
            out.push(b']');
        }
        out.push(b'}');
    }

    fn summaries(&mut self, out: &mut Vec<u8>) {
        let version = self.plan.version;
        self.trees.sort_unstable_by_key(|tree| tree.root);
        self.trees.dedup_by_key(|tree| tree.root);
        let mut is_first = true;
        for tree in &self.trees {
            let root = tree.find(tree.root).and_then(|slot| self.plan.model.record(slot));
            for (_, slot) in tree.members.iter() {
                if !version.has(29) && !self.used[slot.place()] {
                    continue;
                }
                let Some(record) = self.plan.model.record(*slot) else { continue };
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                self.summary(out, record);
                if version.has(29) {
                    self.place(out, tree, root, record);
                }
                out.push(b'}');
            }
        }
    }

    fn summary(&self, out: &mut Vec<u8>, record: &Record) {
        if self.plan.version.has(27) {
            return json::raw(out, record.summary());
        }
        json::raw(out, record.quoted());
        json::raw(out, ":{\"resources\":{");
        let asked = |class: Number| self.plan.levels.iter().any(|level| takes(level, class));
        let held = record.inventories.iter().filter(|held| asked(held.0));
        json::joined(out, held, |out, (class, held)| {
            if let Some(entry) = self.plan.model.class_register().entry(*class) {
                capacity(out, &entry.name, held);
            }
        });
        out.push(b'}');
        if self.plan.version.has(17) {
            let entries = record.traits.iter().filter_map(|number| self.plan.model.trait_register().entry(*number));
            json::raw(out, ",\"traits\":[");
            json::joined(out, entries, |out, entry| json::string(out, entry.name.as_str()));
            out.push(b']');
        }
    }

    /// Where a provider is in its tree, from 1.29.
    fn place(&self, out: &mut Vec<u8>, tree: &Tree, root: Option<&Record>, record: &Record) {
        let parent = record.parent.and_then(|id| self.plan.model.record(tree.find(id)?));
        json::raw(out, ",\"parent_provider_uuid\":");
        json::raw(out, parent.map_or("null", Record::quoted));
        json::raw(out, ",\"root_provider_uuid\":");
        json::raw(out, root.unwrap_or(record).quoted());
    }
}

fn takes(level: &Level, class: Number) -> bool {
    level.resources.iter().any(|resource| resource.0 == class)
}

fn tree_of<'m>(plan: &Plan<'m>, anchor: &'m Tree, record: &Record) -> Option<&'m Tree> {
    if record.root == anchor.root { Some(anchor) } else { plan.model.trees().get(&record.root) }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn amounts(out: &mut Vec<u8>, plan: &Plan<'_>, resources: &[(Number, u64)]) {
    json::joined(out, resources, |out, (class, amount)| {
        if let Some(entry) = plan.model.class_register().entry(*class) {
            json::string(out, entry.name.as_str());
        }
        out.push(b':');
        json::unsigned(out, *amount);
    });
}

fn suffix(place: usize, group: &Part) -> String {
    text(|out| {
        if place > 0 {
            out.push(b',');
        }
        json::string(out, &group.suffix);
        json::raw(out, ":[");
    })
}
