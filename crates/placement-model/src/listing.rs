//! GET `/resource_providers`: which providers satisfy all filters.

use crate::model::{Number, Provider, Record};
use crate::question::{Group, ProvidersQuestion};
use crate::{Model, Refusal, resolve};

/// The filters of a list, with numbers instead of names.
struct Filter {
    required: Vec<Vec<Number>>,
    forbidden: Vec<Number>,
    member_of: Vec<Vec<Number>>,
    forbidden_aggregates: Vec<Number>,
    resources: Vec<(Number, Option<u64>)>,
}

impl Model {
    /// The providers that a question is about, in the order of creation.
    pub fn list(&self, question: &ProvidersQuestion) -> Result<Vec<Provider<'_>>, Refusal> {
        let tree = match &question.group.in_tree {
            Some(key) => match self.provider(key) {
                Some(member) => Some(member.record.root),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let Some(filter) = self.filter(&question.group)? else { return Ok(Vec::new()) };
        let holds = |provider: &Provider<'_>| {
            question.name.as_ref().is_none_or(|name| provider.name() == name)
                && tree.is_none_or(|root| provider.record.root == root)
                && filter.holds(provider.record)
        };
        Ok(match &question.uuid {
            Some(uuid) => self.provider(uuid).into_iter().filter(holds).collect(),
            None => self.few(&filter).map_or_else(
                || self.providers().filter(holds).collect(),
                |few| few.into_iter().filter(holds).collect(),
            ),
        })
    }

    /// `None`: nothing can hold, whatever comes later.
    fn filter(&self, group: &Group) -> Result<Option<Filter>, Refusal> {
        let about = |refusal: Refusal| Refusal {
            text: format!("Invalid trait(s) in \"required\" parameter: {refusal}"),
            ..refusal
        };
        let required = resolve::required(self, group).map_err(about)?;
        let all = |record: &Record| required.iter().all(|any| record.has_trait(any));
        if !required.is_empty() && !self.providers().any(|provider| all(provider.record)) {
            return Ok(None);
        }
        let forbidden = resolve::forbidden(self, group).map_err(about)?;
        let member_of = resolve::member_of(self, group);
        if !resolve::has_members(self, &member_of) {
            return Ok(None);
        }
        let resources = resolve::resources(self, group)?;
        let forbidden_aggregates = resolve::aggregates(self, &group.forbidden_aggregates);
        Ok(Some(Filter { required, forbidden, member_of, forbidden_aggregates, resources }))
    }

    /// The members of the smallest set of aggregates, if the query names aggregates.
    fn few(&self, filter: &Filter) -> Option<Vec<Provider<'_>>> {
        let holders = |set: &Vec<Number>| -> Vec<_> {
            set.iter().flat_map(|number| self.aggregate_register().holders(*number)).copied().collect()
        };
        let slots = filter.member_of.iter().map(holders).min_by_key(Vec::len)?;
        let mut few: Vec<_> = slots.into_iter().filter_map(|slot| self.at(slot)).collect();
        few.sort_unstable_by_key(Provider::id);
        few.dedup_by_key(|provider| provider.id());
        Some(few)
    }
}

impl Filter {
    fn holds(&self, record: &Record) -> bool {
        let fits = |(class, amount): &(Number, Option<u64>)| amount.is_some_and(|amount| record.fits(*class, amount));
        self.required.iter().all(|any| record.has_trait(any))
            && !record.has_trait(&self.forbidden)
            && self.member_of.iter().all(|any| record.is_member(any))
            && !record.is_member(&self.forbidden_aggregates)
            && self.resources.iter().all(fits)
    }
}

#[cfg(test)]
mod tests;
