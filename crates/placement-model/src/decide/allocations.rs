//! Writes of allocations: whether the inventories have capacity for all consumers together, after their former
//! allocations were released.

use std::collections::{BTreeMap, BTreeSet};

use super::consumers;
use super::decision::Decision;
use super::usage::{Line, Usage};
use super::view::{View, describe_missing_class};
use crate::command::ConsumerWrite;
use crate::{ClassName, Inventory, Key, Outcome, ProviderId, ProviderState, Refusal, WriteSet};

/// One amount of a request, with its consumer and provider.
struct Asked<'a> {
    consumer: &'a Key,
    provider: &'a ProviderState,
    class: &'a ClassName,
    /// 0: an allocation of a consumer that gives up everything.
    amount: u64,
}

/// Inventories that differ from the facts while allocations are checked.
pub(super) type Interim<'a> = BTreeMap<ProviderId, BTreeMap<&'a ClassName, &'a Inventory>>;

/// The error of a route for an unknown class, for a consumer.
pub(super) type UnknownClass = fn(&Key, &ClassName) -> String;

pub(super) fn set_one(view: &View<'_>, write: &ConsumerWrite) -> Decision {
    let unknown: UnknownClass = |consumer, class| {
        format!("Unable to allocate inventory for consumer {consumer}: {}", describe_missing_class(class))
    };
    set(view, std::slice::from_ref(write), unknown)
}

pub(super) fn set_many(view: &View<'_>, writes: &[ConsumerWrite]) -> Decision {
    set(view, writes, |_, class| format!("Unable to allocate inventory {}", describe_missing_class(class)))
}

fn set(view: &View<'_>, writes: &[ConsumerWrite], unknown: UnknownClass) -> Decision {
    consumers::check(view, writes)?;
    let request = Request::read(view, writes)?;
    Ok((request.grant(view, &Interim::new(), unknown)?, Outcome::Done))
}

pub(super) fn delete(view: &View<'_>, consumer: &Key) -> Decision {
    if !view.rows.consumers.contains_key(consumer) {
        return Err(Refusal::not_found(format!("No allocations for consumer '{consumer}'")));
    }
    let mut changes = WriteSet { gone: [consumer.clone()].into(), ..WriteSet::default() };
    let mut usage = Usage::default();
    usage.give_back(view, consumer);
    usage.follow(&mut changes);
    Ok((changes, Outcome::Done))
}

/// The amounts of a request, in its order, of providers that exist.
pub(super) struct Request<'a> {
    writes: &'a [ConsumerWrite],
    asked: Vec<Asked<'a>>,
}

impl<'a> Request<'a> {
    pub(super) fn read(view: &View<'a>, writes: &'a [ConsumerWrite]) -> Result<Self, Refusal> {
        let mut asked = Vec::with_capacity(writes.iter().map(|write| write.allocations.len()).sum());
        for write in writes {
            if write.allocations.is_empty() {
                asked.extend(list_given_up(view, &write.consumer));
            }
            for (uuid, amounts) in &write.allocations {
                let provider = view.find(uuid).ok_or_else(|| {
                    Refusal::invalid(format!("Allocation for resource provider '{uuid}' that does not exist."))
                })?;
                let consumer = &write.consumer;
                asked.extend(amounts.iter().map(|(class, amount)| Asked {
                    consumer,
                    provider,
                    class,
                    amount: *amount,
                }));
            }
        }
        Ok(Self { writes, asked })
    }

    /// Everything that follows, if there is free capacity.
    pub(super) fn grant(
        &self,
        view: &View<'a>,
        interim: &Interim<'_>,
        unknown: UnknownClass,
    ) -> Result<WriteSet, Refusal> {
        // Amounts that are given up belong to an inventory, so their class exists, and the ledger did not load it.
        if let Some(asked) = self.asked.iter().find(|asked| asked.amount > 0 && !view.has_class(asked.class)) {
            return Err(Refusal::invalid(unknown(asked.consumer, asked.class)));
        }
        self.check_served(view, interim)?;
        let mut usage = Usage::default();
        for write in self.writes {
            usage.give_back(view, &write.consumer);
        }
        for asked in &self.asked {
            let line = usage.ask(view, asked.provider.id, asked.class, asked.amount);
            asked.check(line, interim)?;
        }
        let mut changes = WriteSet::default();
        for asked in &self.asked {
            let change = changes.providers.entry(asked.provider.id).or_default();
            (change.raised, change.touched) = (1, true);
        }
        usage.follow(&mut changes);
        consumers::follow(view, self.writes, &mut changes);
        Ok(changes)
    }

    /// Every provider must have an inventory of at least one of the classes, whichever the write requests.
    fn check_served(&self, view: &View<'a>, interim: &Interim<'_>) -> Result<(), Refusal> {
        // Usually all consumers have the amount that the write requests; otherwise the other classes matter.
        if self.asked.iter().all(|asked| inventory(asked.provider, asked.class, interim).is_some()) {
            return Ok(());
        }
        let classes = distinct(self.asked.iter().map(|asked| asked.class));
        let mut without = distinct(self.asked.iter().map(|asked| &asked.provider.uuid));
        without.retain(|uuid| {
            let provider = view.find(uuid);
            !provider.is_some_and(|provider| classes.iter().any(|class| inventory(provider, class, interim).is_some()))
        });
        if without.is_empty() {
            return Ok(());
        }
        let classes: Vec<_> = classes.into_iter().map(ClassName::as_str).collect();
        let without: Vec<_> = without.into_iter().map(Key::as_str).collect();
        Err(invalid(&classes.join(", "), &without.join(", ")))
    }
}

/// Each once, in the order of the request.
fn distinct<'a, T: Ord>(all: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut seen = BTreeSet::new();
    all.filter(|one| seen.insert(*one)).collect()
}

/// The inventory that counts while a request is checked.
fn inventory<'b>(provider: &'b ProviderState, class: &ClassName, interim: &Interim<'b>) -> Option<&'b Inventory> {
    let newer = interim.get(&provider.id).and_then(|newer| newer.get(class).copied());
    newer.or_else(|| provider.inventories.get(class).map(|held| &held.inventory))
}

fn invalid(classes: &str, providers: &str) -> Refusal {
    Refusal::conflict(format!(
        "Unable to allocate inventory: Inventory for '{classes}' on resource provider '{providers}' invalid."
    ))
}

/// The present allocations of a consumer, as amounts of 0.
fn list_given_up<'a>(view: &View<'a>, key: &'a Key) -> impl Iterator<Item = Asked<'a>> {
    let has = view.rows.consumers.get(key).into_iter().flat_map(|consumer| consumer.allocations.keys());
    has.filter_map(move |(provider, class)| {
        let provider = view.rows.providers.get(provider)?;
        Some(Asked { consumer: key, provider, class, amount: 0 })
    })
}

impl Asked<'_> {
    fn check(&self, line: Line, interim: &Interim<'_>) -> Result<(), Refusal> {
        if self.amount == 0 {
            return Ok(());
        }
        let inventory = inventory(self.provider, self.class, interim)
            .ok_or_else(|| invalid(self.class.as_str(), self.provider.uuid.as_str()))?;
        if !inventory.allows(self.amount) {
            return Err(self.refused("violate inventory constraints"));
        }
        let shrinks = line.kept.saturating_add(line.asked) <= line.before;
        if shrinks || inventory.has_capacity(line.kept, line.asked) {
            return Ok(());
        }
        Err(self.refused("exceed the capacity"))
    }

    fn refused(&self, what: &str) -> Refusal {
        Refusal::conflict(format!(
            "Unable to allocate inventory: Unable to create allocation for '{}' on resource provider '{}'. The \
             requested amount would {what}.",
            self.class, self.provider.uuid
        ))
    }
}
