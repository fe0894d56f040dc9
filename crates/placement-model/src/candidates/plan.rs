//! A question about candidates with numbers instead of names, divided into *levels* of one choice of a provider each.
//!
//! The unsuffixed group has a level for each class, because each may come from another provider; a suffixed group has
//! one level.

use crate::model::{Number, Record, Slot, Tree};
use crate::names::SHARES;
use crate::question::{CandidatesQuestion, Group, RootTraits};
use crate::{Model, ProviderId, Refusal, TraitName, Version, resolve};

/// The result of planning a query.
pub enum PlannedGroups<'m> {
    Whole(CandidatesPlan<'m>),
    /// Something does not exist. It is reported if each of the groups `before` it has a request.
    Fault {
        before: usize,
        refusal: Refusal,
    },
    Nothing,
}

/// A question about candidates.
#[derive(Debug)]
pub struct CandidatesPlan<'m> {
    pub model: &'m Model,
    pub groups: Vec<Part>,
    pub levels: Vec<Level>,
    /// The required and forbidden traits of anchors.
    root: Option<(Vec<Vec<Number>>, Vec<Number>)>,
    /// No two suffixed groups may share a provider.
    pub isolate: bool,
    /// Levels that must be in one subtree.
    pub subtrees: Vec<Vec<usize>>,
    /// Two providers of a request may not be in one tree: before 1.29.
    pub one_per_tree: bool,
    /// Whether two levels can take the same class from one provider.
    pub overlaps: bool,
    pub version: Version,
}

/// A request group.
#[derive(Debug)]
pub struct Part {
    pub suffix: String,
    pub resources: Vec<(Number, u64)>,
    pub required: Vec<Vec<Number>>,
    forbidden: Vec<Number>,
    pub member_of: Vec<Vec<Number>>,
    forbidden_aggregates: Vec<Number>,
    /// The root of the only tree in which candidates may be.
    pub tree: Option<ProviderId>,
}

/// The choice of one provider.
#[derive(Debug)]
pub struct Level {
    pub group: usize,
    pub resources: Vec<(Number, u64)>,
    /// Whether it is the last of its group.
    pub is_last: bool,
    /// Providers that can be used from other trees, by aggregate, ascending.
    pub shared: Vec<(Number, Slot)>,
}

impl Level {
    /// Whether a provider has free capacity for the amounts of this level.
    fn fits(&self, record: &Record) -> bool {
        self.resources.iter().all(|(class, amount)| record.fits(*class, *amount))
    }
}

impl<'m> CandidatesPlan<'m> {
    pub fn of_question(model: &'m Model, question: &CandidatesQuestion) -> Result<PlannedGroups<'m>, Refusal> {
        let mut plan = Self::empty(model, question)?;
        let mut is_nothing = false;
        for (place, (suffix, group)) in question.groups.iter().enumerate() {
            match Part::new(model, suffix, group) {
                Ok(Some(part)) => plan.groups.push(part),
                Ok(None) => is_nothing = true,
                // A root that no provider has ends the evaluation before any group is evaluated.
                Err(_) if !plan.has_anchor() => return Ok(PlannedGroups::Nothing),
                Err(refusal) => return Ok(PlannedGroups::Fault { before: place, refusal }),
            }
        }
        if is_nothing {
            return Ok(PlannedGroups::Nothing);
        }
        plan.set_levels();
        plan.set_subtrees(question);
        Ok(PlannedGroups::Whole(plan))
    }

    /// Takes one group of a question, for whether it alone has a request.
    pub fn of_one_group(
        model: &'m Model,
        question: &CandidatesQuestion,
        place: usize,
    ) -> Result<PlannedGroups<'m>, Refusal> {
        let mut plan = Self { isolate: false, one_per_tree: false, ..Self::empty(model, question)? };
        let Some((suffix, group)) = question.groups.get(place) else { return Ok(PlannedGroups::Nothing) };
        let Some(part) = Part::new(model, suffix, group)? else { return Ok(PlannedGroups::Nothing) };
        plan.groups.push(part);
        plan.set_levels();
        Ok(PlannedGroups::Whole(plan))
    }

    fn empty(model: &'m Model, question: &CandidatesQuestion) -> Result<Self, Refusal> {
        Ok(Self {
            model,
            groups: Vec::new(),
            levels: Vec::new(),
            root: question.root_required.as_ref().map(|traits| root(model, traits)).transpose()?,
            isolate: question.isolate,
            subtrees: Vec::new(),
            one_per_tree: !question.version.has(Version::NESTED_CANDIDATES),
            overlaps: false,
            version: question.version,
        })
    }

    fn set_levels(&mut self) {
        for (place, group) in self.groups.iter().enumerate() {
            self.levels.extend(group.levels(place));
        }
        let mut classes: Vec<Number> =
            self.levels.iter().flat_map(|level| level.resources.iter().map(|resource| resource.0)).collect();
        let all = classes.len();
        classes.sort_unstable();
        classes.dedup();
        self.overlaps = classes.len() < all;
        for place in 0..self.levels.len() {
            self.levels[place].shared = self.shared(&self.levels[place]);
        }
    }

    fn set_subtrees(&mut self, question: &CandidatesQuestion) {
        let level_of =
            |suffix: &String| self.levels.iter().position(|level| self.groups[level.group].suffix == *suffix);
        self.subtrees =
            question.same_subtree.iter().map(|suffixes| suffixes.iter().filter_map(level_of).collect()).collect();
    }

    /// Sharing providers that a level may use at other anchors than their own root.
    fn shared(&self, level: &Level) -> Vec<(Number, Slot)> {
        let group = &self.groups[level.group];
        let Some(shares) = self.model.trait_register().find(&TraitName::new(SHARES)) else { return Vec::new() };
        if group.is_unsuffixed() && group.tree.is_some() {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for slot in self.model.trait_register().holders(shares) {
            let Some(record) = self.model.record(*slot) else { continue };
            if group.suits(level, record) && group.is_member(record) {
                pairs.extend(record.aggregates.iter().map(|aggregate| (*aggregate, *slot)));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// Whether a provider that is alone in its tree has at most one request, which [`Self::suits_alone`] finds: no
    /// provider shares anything with it, no two groups have to differ, and no two levels take from the same inventory.
    pub fn is_simple(&self) -> bool {
        let suffixed = self.groups.iter().filter(|group| !group.is_unsuffixed()).count();
        let may_be_one = !self.isolate || suffixed < 2;
        may_be_one && !self.overlaps && self.levels.iter().all(|level| level.shared.is_empty())
    }

    /// Whether a provider satisfies all groups by itself. Only for those that are alone in their trees, in
    /// [simple](Self::is_simple) plans.
    pub fn suits_alone(&self, record: &Record) -> bool {
        self.levels.iter().all(|level| level.fits(record))
            && self.allows(record)
            && self.groups.iter().all(|group| {
                let meets = || group.required.iter().all(|any| record.has_trait(any));
                group.may_have(record) && group.is_member(record) && meets()
            })
    }

    pub fn allows(&self, anchor: &Record) -> bool {
        let is_good = |(required, forbidden): &(Vec<Vec<Number>>, Vec<Number>)| {
            required.iter().all(|any| anchor.has_trait(any)) && !anchor.has_trait(forbidden)
        };
        self.root.as_ref().is_none_or(is_good)
    }

    fn has_anchor(&self) -> bool {
        let anchor = |tree: &Tree| self.model.record(tree.find(tree.root)?);
        self.root.is_none() || self.model.trees().values().filter_map(anchor).any(|anchor| self.allows(anchor))
    }

    pub fn required_of_root(&self) -> &[Vec<Number>] {
        self.root.as_ref().map_or(&[], |root| &root.0)
    }
}

fn root(model: &Model, traits: &RootTraits) -> Result<(Vec<Vec<Number>>, Vec<Number>), Refusal> {
    resolve::traits(model, traits.required.iter().chain(&traits.forbidden))?;
    let required = resolve::traits(model, &traits.required)?;
    Ok((required.into_iter().map(|one| vec![one]).collect(), resolve::traits(model, &traits.forbidden)?))
}

impl Part {
    /// In this order: classes, aggregates, traits, tree, amounts. `None`: no provider can satisfy it.
    fn new(model: &Model, suffix: &str, group: &Group) -> Result<Option<Self>, Refusal> {
        let resources = resolve::resources(model, group)?;
        let member_of = resolve::member_of(model, group);
        if !resolve::has_members(model, &member_of) {
            return Ok(None);
        }
        let (required, forbidden) = (resolve::required(model, group)?, resolve::forbidden(model, group)?);
        let selects_nothing = resources.is_empty() && required.is_empty() && member_of.is_empty();
        let tree = match group.in_tree.as_ref().map(|key| model.provider(key)) {
            Some(None) => return Ok(None),
            Some(Some(member)) => Some(member.record.root).filter(|_| !resources.is_empty()),
            None => None,
        };
        // An amount of more than 64 bits never fits.
        let amounts: Option<Vec<_>> = resources.iter().map(|(class, amount)| Some((*class, (*amount)?))).collect();
        let Some(resources) = amounts.filter(|_| !selects_nothing) else { return Ok(None) };
        Ok(Some(Self {
            suffix: suffix.to_owned(),
            resources,
            required,
            forbidden,
            member_of,
            forbidden_aggregates: resolve::aggregates(model, &group.forbidden_aggregates),
            tree,
        }))
    }

    pub fn is_unsuffixed(&self) -> bool {
        self.suffix.is_empty()
    }

    fn levels(&self, group: usize) -> Vec<Level> {
        let level = |resources: &[(Number, u64)], is_last| Level {
            group,
            resources: resources.to_vec(),
            is_last,
            shared: Vec::new(),
        };
        if !self.is_unsuffixed() {
            return vec![level(&self.resources, true)];
        }
        let last = self.resources.len().saturating_sub(1);
        self.resources.chunks(1).enumerate().map(|(place, one)| level(one, place == last)).collect()
    }

    /// Whether a provider can be chosen at a level as far as only it matters. Membership of the unsuffixed group depends on the
    /// anchor as well, and its required traits on what else is chosen.
    pub fn suits(&self, level: &Level, record: &Record) -> bool {
        level.fits(record)
            && self.may_have(record)
            && (self.is_unsuffixed() || self.is_member(record) && self.required.iter().all(|any| record.has_trait(any)))
    }

    /// Whether a provider is in the tree, and has nothing that is forbidden.
    fn may_have(&self, record: &Record) -> bool {
        self.tree.is_none_or(|root| record.root == root)
            && !record.has_trait(&self.forbidden)
            && !self.is_refused(record)
    }

    /// Whether a provider is in at least one aggregate of every set.
    pub fn is_member(&self, record: &Record) -> bool {
        self.member_of.iter().all(|any| record.is_member(any))
    }

    /// Whether a provider is in an aggregate that is forbidden.
    pub fn is_refused(&self, record: &Record) -> bool {
        record.is_member(&self.forbidden_aggregates)
    }

    /// Which of the first 64 required sets a provider meets.
    pub fn met(&self, record: &Record) -> u64 {
        let met = |(place, any): (usize, &Vec<Number>)| u64::from(record.has_trait(any)) << place;
        self.required.iter().take(64).enumerate().map(met).fold(0, |all, one| all | one)
    }

    pub fn all_met(&self) -> u64 {
        (0..self.required.len().min(64)).fold(0, |all, place| all | 1 << place)
    }
}
