//! The algorithm of Placement, step by step, over sets.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::provider::Held;
use berth_placement_model::question::{CandidatesQuestion, Group};
use berth_placement_model::{ClassName, Key, ProviderId, TraitName, Version};

use super::cloud::{Cloud, Ids, Mappings, Total};
use super::values::{self, Answer};

const SHARES: &str = "MISC_SHARES_VIA_AGGREGATE";

/// A possible choice for one group.
#[derive(Clone)]
struct Request {
    anchor: ProviderId,
    amounts: Total,
    providers: Ids,
}

/// A possible choice for all groups together, with the providers of each.
#[derive(Clone, Default)]
struct Combination {
    amounts: Vec<(ProviderId, ClassName, u64)>,
    mappings: Mappings,
}

/// Why a group has no requests: no provider fits, or a name is unknown.
enum Stop {
    Empty,
    Refused(String),
}

impl Cloud {
    fn root(&self, id: ProviderId) -> ProviderId {
        self.providers[&id].root
    }

    pub fn tree(&self, id: ProviderId) -> Ids {
        self.providers.keys().copied().filter(|other| self.root(*other) == self.root(id)).collect()
    }

    fn is_sharing(&self, id: ProviderId) -> bool {
        self.providers[&id].traits.contains(SHARES)
    }

    fn aggregates(&self, id: ProviderId) -> BTreeSet<Key> {
        self.providers[&id].aggregates.iter().map(|aggregate| aggregate.key.clone()).collect()
    }

    fn anchors(&self, id: ProviderId) -> Ids {
        let own = self.aggregates(id);
        let near = self.providers.keys().filter(|other| !self.aggregates(**other).is_disjoint(&own));
        near.map(|other| self.root(*other)).collect()
    }

    fn held(&self, id: ProviderId, class: &ClassName) -> Option<&Held> {
        self.providers[&id].inventories.get(class)
    }

    fn fits(&self, id: ProviderId, class: &ClassName, amount: Option<u64>) -> bool {
        let (Some(held), Some(amount)) = (self.held(id, class), amount) else { return false };
        let inventory = &held.inventory;
        u128::from(held.used) + u128::from(amount) <= u128::from(values::capacity(inventory).max(0).unsigned_abs())
            && inventory.min_unit <= amount
            && amount <= inventory.max_unit
            && amount % inventory.step_size == 0
    }

    fn has_forbidden(&self, id: ProviderId, group: &Group) -> bool {
        !self.providers[&id].traits.is_disjoint(&group.forbidden)
    }

    fn is_member(&self, id: ProviderId, group: &Group) -> bool {
        group.member_of.iter().all(|set| !self.aggregates(id).is_disjoint(set))
    }

    fn is_bad(&self, id: ProviderId, group: &Group) -> bool {
        !self.aggregates(id).is_disjoint(&group.forbidden_aggregates)
    }

    fn check_traits<'a>(&self, names: impl Iterator<Item = &'a TraitName>) -> Result<(), String> {
        let unknown: BTreeSet<&str> =
            names.map(TraitName::as_str).filter(|name| !self.traits.contains(*name)).collect();
        let names: Vec<&str> = unknown.into_iter().collect();
        if names.is_empty() { Ok(()) } else { Err(format!("No such trait(s): {}.", names.join(", "))) }
    }

    fn is_above(&self, top: ProviderId, id: ProviderId) -> bool {
        top == id || self.providers[&id].parent.is_some_and(|parent| self.is_above(top, parent))
    }
}

fn matches(traits: &BTreeSet<TraitName>, group: &Group) -> bool {
    group.required.iter().all(|set| !set.is_disjoint(traits))
}

impl Cloud {
    /// The answer without the limit, or the text of the refusal.
    pub fn candidates(&self, question: &CandidatesQuestion) -> Result<Answer, String> {
        match self.found(question) {
            Ok((found, anchors)) => Ok(values::answer(self, question, &self.merge(question, &found, &anchors))),
            Err(Stop::Empty) => Ok(Answer::default()),
            Err(Stop::Refused(text)) => Err(text),
        }
    }

    #[allow(clippy::type_complexity, reason = "requests of each group, by suffix, and the anchors that may be used")]
    fn found(&self, question: &CandidatesQuestion) -> Result<(BTreeMap<String, Vec<Request>>, Ids), Stop> {
        let mut anchors: Ids = self.providers.keys().map(|id| self.root(*id)).collect();
        if let Some(root) = &question.root_required {
            self.check_traits(root.required.iter().chain(&root.forbidden)).map_err(Stop::Refused)?;
            anchors.retain(|id| {
                let traits = &self.providers[id].traits;
                root.required.is_subset(traits) && root.forbidden.is_disjoint(traits)
            });
            if anchors.is_empty() {
                return Err(Stop::Empty);
            }
        }
        let mut found = BTreeMap::new();
        for (suffix, group) in &question.groups {
            let requests = self.of_group(suffix, group, &anchors)?;
            if requests.is_empty() {
                return Err(Stop::Empty);
            }
            found.insert(suffix.clone(), requests);
        }
        Ok((found, anchors))
    }

    fn of_group(&self, suffix: &str, group: &Group, anchors: &Ids) -> Result<Vec<Request>, Stop> {
        if let Some((class, _)) = group.resources.iter().find(|one| !self.classes.contains(one.0.as_str())) {
            return Err(Stop::Refused(format!(
                "Invalid resource class in resources parameter: No such resource class {class}."
            )));
        }
        if !group.member_of.is_empty() && !self.providers.keys().any(|id| self.is_member(*id, group)) {
            return Err(Stop::Empty);
        }
        self.check_traits(group.required.iter().flatten()).map_err(Stop::Refused)?;
        self.check_traits(group.forbidden.iter()).map_err(Stop::Refused)?;
        let mut everybody: Ids = self.providers.keys().copied().collect();
        if let Some(key) = &group.in_tree {
            let member = self.providers.values().find(|provider| provider.uuid == *key).ok_or(Stop::Empty)?;
            everybody = self.tree(member.id);
        }
        let mut fit: BTreeMap<ClassName, Ids> = BTreeMap::new();
        for (class, amount) in &group.resources {
            let who: Ids = everybody.iter().copied().filter(|id| self.fits(*id, class, *amount)).collect();
            if who.is_empty() {
                return Err(Stop::Empty);
            }
            fit.insert(class.clone(), who);
        }
        Ok(if suffix.is_empty() { self.unsuffixed(group, &fit, anchors) } else { self.suffixed(group, &fit, anchors) })
    }

    fn unsuffixed(&self, group: &Group, fit: &BTreeMap<ClassName, Ids>, anchors: &Ids) -> Vec<Request> {
        let pairs = |class: &ClassName| -> BTreeSet<(ProviderId, ProviderId)> {
            let mut pairs: BTreeSet<_> = fit[class].iter().map(|id| (*id, self.root(*id))).collect();
            if group.in_tree.is_none() {
                let sharing = fit[class].iter().filter(|id| self.is_sharing(**id));
                for id in sharing.filter(|id| group.member_of.is_empty() || self.is_member(**id, group)) {
                    pairs.extend(self.anchors(*id).into_iter().map(|anchor| (*id, anchor)));
                }
            }
            pairs.retain(|(id, anchor)| {
                anchors.contains(anchor)
                    && (group.member_of.is_empty() || self.is_member(*id, group) || self.is_member(*anchor, group))
                    && !self.is_bad(*id, group)
                    && !self.is_bad(*anchor, group)
            });
            pairs
        };
        let by_class: BTreeMap<&ClassName, _> = fit.keys().map(|class| (class, pairs(class))).collect();
        let mut requests = Vec::new();
        for anchor in anchors {
            let mut choices: Vec<Total> = vec![Total::new()];
            for (class, amount) in &group.resources {
                let here: Vec<ProviderId> =
                    by_class[class].iter().filter(|pair| pair.1 == *anchor).map(|pair| pair.0).collect();
                let longer = choices.iter().flat_map(|choice| {
                    here.iter().map(|id| {
                        let mut longer = choice.clone();
                        longer.insert((*id, class.clone()), amount.unwrap_or(0));
                        longer
                    })
                });
                choices = longer.collect();
            }
            for amounts in choices {
                let providers: Ids = amounts.keys().map(|key| key.0).collect();
                let traits: BTreeSet<TraitName> =
                    providers.iter().flat_map(|id| self.providers[id].traits.clone()).collect();
                if !providers.iter().any(|id| self.has_forbidden(*id, group)) && matches(&traits, group) {
                    requests.push(Request { anchor: *anchor, amounts, providers });
                }
            }
        }
        requests
    }

    fn suffixed(&self, group: &Group, fit: &BTreeMap<ClassName, Ids>, anchors: &Ids) -> Vec<Request> {
        let mut requests = Vec::new();
        if group.resources.is_empty() && group.required.is_empty() && group.member_of.is_empty() {
            return requests;
        }
        for (id, provider) in &self.providers {
            let is_good = fit.values().all(|who| who.contains(id))
                && matches(&provider.traits, group)
                && !self.has_forbidden(*id, group)
                && self.is_member(*id, group)
                && !self.is_bad(*id, group);
            if !is_good {
                continue;
            }
            let mut near = Ids::from([provider.root]);
            if self.is_sharing(*id) {
                near.extend(self.anchors(*id));
            }
            let resources = group.resources.iter();
            let amounts: Total = resources.map(|(class, amount)| ((*id, class.clone()), amount.unwrap_or(0))).collect();
            requests.extend(near.intersection(anchors).map(|anchor| Request {
                anchor: *anchor,
                amounts: amounts.clone(),
                providers: Ids::from([*id]),
            }));
        }
        requests
    }

    fn merge(
        &self,
        question: &CandidatesQuestion,
        found: &BTreeMap<String, Vec<Request>>,
        anchors: &Ids,
    ) -> BTreeSet<(Total, Mappings)> {
        let mut result = BTreeSet::new();
        for anchor in anchors {
            let mut combinations = vec![Combination::default()];
            for (suffix, requests) in found {
                let here: Vec<&Request> = requests.iter().filter(|request| request.anchor == *anchor).collect();
                let longer = combinations.iter().flat_map(|one| here.iter().map(|request| one.and(suffix, request)));
                combinations = longer.collect();
            }
            let good = combinations.iter().filter_map(|one| Some((self.total(question, one)?, one.mappings.clone())));
            result.extend(good);
        }
        result
    }

    /// The amounts of a combination, if it is allowed.
    fn total(&self, question: &CandidatesQuestion, combination: &Combination) -> Option<Total> {
        let suffixed: Vec<&Ids> =
            combination.mappings.iter().filter(|one| !one.0.is_empty()).map(|one| one.1).collect();
        let distinct: Ids = suffixed.iter().copied().flatten().copied().collect();
        if question.isolate && distinct.len() != suffixed.len() {
            return None;
        }
        for suffixes in &question.same_subtree {
            let members: Ids = suffixes
                .iter()
                .flat_map(|suffix| combination.mappings.get(suffix).cloned().unwrap_or_default())
                .collect();
            let is_top = |top: &ProviderId| members.iter().all(|id| self.is_above(*top, *id));
            if members.len() > 1 && !members.iter().any(is_top) {
                return None;
            }
        }
        let mut total = Total::new();
        for (id, class, amount) in &combination.amounts {
            *total.entry((*id, class.clone())).or_default() += amount;
        }
        for ((id, class), sum) in &total {
            let held = self.held(*id, class)?;
            let capacity = i128::from(values::capacity(&held.inventory));
            if i128::from(*sum) + i128::from(held.used) > capacity || *sum > held.inventory.max_unit {
                return None;
            }
        }
        let used: Ids = total.keys().map(|key| key.0).collect();
        let trees: Ids = used.iter().map(|id| self.root(*id)).collect();
        (question.version.has(Version::NESTED_CANDIDATES) || trees.len() == used.len()).then_some(total)
    }
}

impl Combination {
    fn and(&self, suffix: &str, request: &Request) -> Self {
        let mut longer = self.clone();
        longer.amounts.extend(request.amounts.iter().map(|((id, class), amount)| (*id, class.clone(), *amount)));
        longer.mappings.insert(suffix.to_owned(), request.providers.clone());
        longer
    }
}
