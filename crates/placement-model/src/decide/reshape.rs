//! The reshaper (document 51 section 11): inventories and allocations of several providers move in one step. It decides in
//! three: what is new is there as well, allocations move, what is old goes.

use std::collections::BTreeSet;

use super::{
    allocations::{Interim, Request},
    consumers,
    decision::Decision,
    inventories,
    view::{View, no_such_class},
};
use crate::{
    Changes, Outcome, ProviderState, Refusal,
    command::{ConsumerWrite, NewInventories, ReservedRule},
    refusal::Code,
};

pub(super) fn reshape(view: &View<'_>, news: &[NewInventories], writes: &[ConsumerWrite]) -> Decision {
    let shapes = shapes(view, news)?;
    consumers::check(view, writes)?;
    let request = Request::read(view, writes)?;
    let classes = news.iter().flat_map(|new| &new.inventories).map(|(class, _)| class);
    if let Some(class) = view.unknown_class(classes) {
        return Err(Refusal::invalid(malformed(class)));
    }
    let changes = request.grant(view, &interim(&shapes), |_, class| malformed(class))?;
    Ok((exactly(view, &shapes, changes)?, Outcome::Done))
}

fn malformed(class: &crate::ClassName) -> String {
    format!("malformed reshaper data: {}", no_such_class(class))
}

/// A provider and what it is to have.
type Shape<'a> = (&'a ProviderState, &'a NewInventories);

fn shapes<'a>(view: &View<'a>, news: &'a [NewInventories]) -> Result<Vec<Shape<'a>>, Refusal> {
    let mut seen = BTreeSet::new();
    let shapes = news.iter().map(|new| {
        if !seen.insert(&new.provider) {
            let text = format!("Resource provider {} is named more than once; name each provider once", new.provider);
            return Err(Refusal::invalid(text));
        }
        shape(view, new)
    });
    shapes.collect()
}

fn shape<'a>(view: &View<'a>, new: &'a NewInventories) -> Result<Shape<'a>, Refusal> {
    let uuid = &new.provider;
    let provider = view.find(uuid).ok_or_else(|| {
        let cause = format!("No resource provider with uuid {uuid} found");
        let text = format!("Resource provider {uuid} in inventories not found: {cause}");
        Refusal::invalid(text).with(Code::ProviderNotFound)
    })?;
    if provider.generation != new.generation {
        return Err(Refusal::concurrent(format!(
            "resource provider generation conflict for provider {uuid}: actual: {}, given: {}",
            provider.generation, new.generation
        )));
    }
    for (class, inventory) in &new.inventories {
        inventories::check_reserved("update", provider, class, inventory, ReservedRule::UpToTotal)?;
    }
    Ok((provider, new))
}

/// The new inventories of each provider; while allocations move, its old ones are there too.
fn interim<'a>(shapes: &[Shape<'a>]) -> Interim<'a> {
    let of = |new: &'a NewInventories| new.inventories.iter().map(|(class, inventory)| (class, inventory)).collect();
    shapes.iter().map(|(provider, new)| (provider.id, of(new))).collect()
}

fn exactly(view: &View<'_>, shapes: &[Shape<'_>], mut changes: Changes) -> Result<Changes, Refusal> {
    for (provider, new) in shapes {
        let mut change = changes.providers.remove(&provider.id).unwrap_or_default();
        // The interim step shows in the generation, and there is none where nothing was added.
        change.raised += if new.inventories.is_empty() { 1 } else { 2 };
        change.touched = true;
        let change = inventories::exactly(view, provider, &new.inventories, change)
            .map_err(|in_use| in_use.after("update conflict: "))?;
        changes.providers.insert(provider.id, change);
    }
    Ok(changes)
}
