//! The format of a request and of a summary in each microversion. The common parts of all requests of a response are
//! rendered once.

use std::ops::Range;

use super::plan::{CandidatesPlan, Part};
use crate::model::{Number, Record, Slot, Tree, capacity};
use crate::{Model, Version, json};

/// The parts that are the same in the whole response.
#[derive(Debug, Default)]
pub struct Form {
    version: Version,
    /// Whether two levels can take the same class from one provider.
    overlaps: bool,
    levels: Vec<Taken>,
    groups: Vec<Mapping>,
}

/// The amount that a level takes.
#[derive(Debug)]
struct Taken {
    resources: Vec<(Number, u64)>,
    /// `"VCPU":1,"MEMORY_MB":512`
    text: String,
}

/// A group in `mappings`.
#[derive(Debug)]
struct Mapping {
    /// `"":[`, a comma before all but the first.
    text: String,
    levels: Range<usize>,
}

impl Form {
    /// The form of the answer to a question.
    pub fn new(plan: &CandidatesPlan<'_>) -> Self {
        let groups = plan.groups.iter().enumerate().map(|(group, part)| Mapping::new(plan, group, part)).collect();
        let model = plan.model;
        let taken = |resources: &Vec<_>| Taken {
            text: text(|out| amounts(out, model, resources)),
            resources: resources.clone(),
        };
        Self {
            version: plan.version,
            overlaps: plan.overlaps,
            groups,
            levels: plan.levels.iter().map(|level| taken(&level.resources)).collect(),
        }
    }

    /// How many providers are chosen for a request.
    pub fn width(&self) -> usize {
        self.levels.len()
    }

    /// Appends the summaries of a tree with commas between: from 1.29 of all its members, before that of those that are used.
    pub fn summaries(&self, model: &Model, out: &mut Vec<u8>, tree: &Tree, used: &[bool]) {
        let root = tree.find(tree.root).and_then(|slot| model.record(slot));
        let needed =
            tree.members.iter().filter(|member| self.version.has(Version::NESTED_CANDIDATES) || used[member.1.place()]);
        json::joined(out, needed.filter_map(|member| model.record(member.1)), |out, record| {
            self.summary(model, out, record);
            if self.version.has(Version::NESTED_CANDIDATES) {
                place(model, out, tree, root.unwrap_or(record), record);
            }
            out.push(b'}');
        });
    }

    fn summary(&self, model: &Model, out: &mut Vec<u8>, record: &Record) {
        if self.version.has(Version::ALL_CLASSES_SUMMARIZED) {
            return json::raw(out, record.summary());
        }
        json::raw(out, record.quoted());
        json::raw(out, ":{\"resources\":{");
        let held = record.inventories.iter().filter(|held| self.asks(held.0));
        json::joined(out, held, |out, (class, held)| {
            if let Some(entry) = model.class_register().entry(*class) {
                capacity(out, &entry.name, held);
            }
        });
        out.push(b'}');
        if self.version.has(Version::REQUIRED_TRAITS) {
            let entries = record.traits.iter().filter_map(|number| model.trait_register().entry(*number));
            json::raw(out, ",\"traits\":[");
            json::joined(out, entries, |out, entry| json::string(out, entry.name.as_str()));
            out.push(b']');
        }
    }

    fn asks(&self, class: Number) -> bool {
        self.levels.iter().flat_map(|level| &level.resources).any(|resource| resource.0 == class)
    }
}

impl Mapping {
    fn new(plan: &CandidatesPlan<'_>, group: usize, part: &Part) -> Self {
        let text = text(|out| {
            if group > 0 {
                out.push(b',');
            }
            json::string(out, &part.suffix);
            json::raw(out, ":[");
        });
        let start = plan.levels.partition_point(|level| level.group < group);
        Self { text, levels: start..plan.levels.partition_point(|level| level.group <= group) }
    }
}

/// Where a provider is in its tree, from 1.29.
fn place(model: &Model, out: &mut Vec<u8>, tree: &Tree, root: &Record, record: &Record) {
    let parent = record.parent.and_then(|id| model.record(tree.find(id)?));
    json::raw(out, ",\"parent_provider_uuid\":");
    json::raw(out, parent.map_or("null", Record::quoted));
    json::raw(out, ",\"root_provider_uuid\":");
    json::raw(out, root.quoted());
}

/// Writes requests, one after the other.
pub struct Requests<'w> {
    form: &'w Form,
    model: &'w Model,
    /// The providers of the request that was written last, by level, and within a group by age.
    chosen: Vec<(Slot, &'w Record)>,
    by_provider: Vec<usize>,
    /// A request with one provider, split at its UUID: such requests differ in nothing else.
    alone: Option<Vec<String>>,
}

impl<'w> Requests<'w> {
    pub fn new(form: &'w Form, model: &'w Model) -> Self {
        let (chosen, by_provider) = (Vec::with_capacity(form.width()), Vec::with_capacity(form.width()));
        Self { form, model, chosen, by_provider, alone: None }
    }

    /// The providers from which the request that was written last takes something.
    pub fn providers(&self) -> impl Iterator<Item = (Slot, &'w Record)> {
        // Writing changes the order within a group; all levels of a group take something, or none does.
        self.by_provider.iter().map(|level| self.chosen[*level])
    }

    pub fn write(&mut self, out: &mut Vec<u8>, slots: &[Slot]) {
        let one = slots.first().filter(|first| slots.iter().all(|slot| slot == *first)).copied();
        let one = one.and_then(|slot| Some((slot, self.model.record(slot)?)));
        match (one, &self.alone) {
            (Some((slot, record)), Some(parts)) => {
                write_alone(out, parts, record);
                self.chosen.clear();
                self.chosen.push((slot, record));
                self.by_provider.clear();
                self.by_provider.push(0);
            }
            (Some((_, record)), None) => {
                let begin = out.len();
                self.write_any(out, slots);
                self.alone = self.parts(&out[begin..], record);
            }
            (None, _) => self.write_any(out, slots),
        }
    }

    /// The texts between the UUIDs of a request with one provider; `None` if a UUID also occurs elsewhere in it.
    fn parts(&self, request: &[u8], record: &Record) -> Option<Vec<String>> {
        let parts: Vec<String> = String::from_utf8_lossy(request).split(record.quoted()).map(str::to_owned).collect();
        let mappings = if self.form.version.has(Version::MAPPINGS) { self.form.groups.len() } else { 0 };
        (parts.len() == 2 + mappings).then_some(parts)
    }

    fn write_any(&mut self, out: &mut Vec<u8>, slots: &[Slot]) {
        self.chosen.clear();
        self.chosen.extend(slots.iter().filter_map(|slot| Some((*slot, self.model.record(*slot)?))));
        let is_map = self.form.version.has(Version::ALLOCATIONS_BY_PROVIDER);
        json::raw(out, if is_map { "{\"allocations\":{" } else { "{\"allocations\":[" });
        self.allocations(out, is_map);
        out.push(if is_map { b'}' } else { b']' });
        if self.form.version.has(Version::MAPPINGS) {
            self.mappings(out);
        }
        out.push(b'}');
    }

    fn allocations(&mut self, out: &mut Vec<u8>, is_map: bool) {
        let Self { form, model, chosen, by_provider, .. } = self;
        let levels = form.levels.iter().enumerate();
        by_provider.clear();
        by_provider.extend(levels.filter(|level| !level.1.resources.is_empty()).map(|level| level.0));
        by_provider.sort_unstable_by_key(|level| (chosen[*level].1.id, *level));
        let same = by_provider.chunk_by(|one, other| chosen[*one].0 == chosen[*other].0);
        json::joined(out, same, |out, levels| {
            let quoted = chosen[levels[0]].1.quoted();
            if is_map {
                json::raw(out, quoted);
                json::raw(out, ":{\"resources\":{");
            } else {
                json::raw(out, "{\"resource_provider\":{\"uuid\":");
                json::raw(out, quoted);
                json::raw(out, "},\"resources\":{");
            }
            form.taken(model, out, levels);
            json::raw(out, "}}");
        });
    }

    fn mappings(&mut self, out: &mut Vec<u8>) {
        json::raw(out, ",\"mappings\":{");
        for group in &self.form.groups {
            json::raw(out, &group.text);
            let of_group = &mut self.chosen[group.levels.clone()];
            // It is not needed in the order of levels any more.
            of_group.sort_unstable_by_key(|one| one.1.id);
            let distinct = of_group.chunk_by(|one, other| one.0 == other.0);
            json::joined(out, distinct, |out, same| json::raw(out, same[0].1.quoted()));
            out.push(b']');
        }
        out.push(b'}');
    }
}

fn write_alone(out: &mut Vec<u8>, parts: &[String], record: &Record) {
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            json::raw(out, record.quoted());
        }
        json::raw(out, part);
    }
}

impl Form {
    /// The amounts that one provider gives to these levels together.
    fn taken(&self, model: &Model, out: &mut Vec<u8>, levels: &[usize]) {
        if !self.overlaps || levels.len() == 1 {
            return json::joined(out, levels, |out, level| json::raw(out, &self.levels[*level].text));
        }
        let mut sums: Vec<(Number, u64)> = Vec::new();
        for (class, amount) in levels.iter().flat_map(|level| &self.levels[*level].resources) {
            match sums.iter_mut().find(|sum| sum.0 == *class) {
                Some(sum) => sum.1 = sum.1.saturating_add(*amount),
                None => sums.push((*class, *amount)),
            }
        }
        amounts(out, model, &sums);
    }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn amounts(out: &mut Vec<u8>, model: &Model, resources: &[(Number, u64)]) {
    json::joined(out, resources, |out, (class, amount)| {
        if let Some(entry) = model.class_register().entry(*class) {
            json::string(out, entry.name.as_str());
        }
        out.push(b':');
        json::unsigned(out, *amount);
    });
}
