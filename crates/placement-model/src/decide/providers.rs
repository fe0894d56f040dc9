//! Writes of providers: names, parents and roots. The root of a whole subtree changes in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::{Decision, only};
use super::view::View;
use crate::command::Parent;
use crate::refusal::Code;
use crate::write_set::{NewProvider, ProviderChange};
use crate::{Key, Outcome, ProviderId, ProviderState, Refusal, WriteSet};

pub(super) fn create(view: &View<'_>, uuid: &Key, name: &str, parent: Option<&Key>) -> Decision {
    let above = parent_of_new(view, uuid, name, parent).map_err(|cause| {
        Refusal::invalid(format!(
            "Unable to create resource provider \"{name}\", {uuid}: Object action create failed because: {cause}"
        ))
    })?;
    let taken = |what: String| {
        Refusal::conflict(format!("Conflicting resource provider {what} already exists.")).with(Code::DuplicateName)
    };
    if view.named(name).is_some() {
        return Err(taken(format!("name: {name}")));
    }
    if view.find(uuid).is_some() {
        return Err(taken(format!("uuid: {uuid}")));
    }
    let created = Some(NewProvider { uuid: uuid.clone(), name: name.to_owned(), above });
    Ok((WriteSet { created, ..WriteSet::default() }, Outcome::Created))
}

fn parent_of_new(
    view: &View<'_>,
    uuid: &Key,
    name: &str,
    parent: Option<&Key>,
) -> Result<Option<(ProviderId, ProviderId)>, &'static str> {
    if name.is_empty() {
        return Err("name is required");
    }
    let Some(parent) = parent else { return Ok(None) };
    if parent == uuid {
        return Err(
            "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is \
                    no parent.",
        );
    }
    let above = view.find(parent).ok_or(UNKNOWN_PARENT)?;
    Ok(Some((above.id, above.root)))
}

const UNKNOWN_PARENT: &str = "parent provider UUID does not exist.";

pub(super) fn update(view: &View<'_>, uuid: &Key, name: &str, parent: &Parent, reparents: bool) -> Decision {
    let provider = view.provider(uuid)?;
    let mut changes = match parent {
        Parent::Unchanged => WriteSet::default(),
        Parent::Set(parent) => moved(view, provider, parent.as_ref(), reparents)?,
    };
    if view.named(name).is_some_and(|other| other.id != provider.id) {
        let text = format!("Conflicting resource provider {name} already exists.");
        return Err(Refusal::conflict(text).with(Code::DuplicateName));
    }
    let change = changes.providers.entry(provider.id).or_default();
    change.touched = true;
    if name != provider.name {
        change.name = Some(name.to_owned());
    }
    Ok((changes, Outcome::Done))
}

fn moved(
    view: &View<'_>,
    provider: &ProviderState,
    parent: Option<&Key>,
    reparents: bool,
) -> Result<WriteSet, Refusal> {
    // The reference uses "create" for an unknown parent, and clients match on it.
    let refused = |action, cause| {
        Refusal::invalid(format!(
            "Unable to save resource provider {}: Object action {action} failed because: {cause}",
            provider.uuid
        ))
    };
    let above = match parent {
        Some(uuid) => Some(view.find(uuid).ok_or_else(|| refused("create", UNKNOWN_PARENT))?),
        None => None,
    };
    let is_new = above.map(|above| above.id) != provider.parent;
    if !reparents && provider.parent.is_some() && is_new {
        let cause = match above {
            Some(_) => "re-parenting a provider is not currently allowed.",
            None => "un-parenting a provider is not currently allowed.",
        };
        return Err(refused("update", cause));
    }
    let subtree = subtree(view, provider.id);
    if above.is_some_and(|above| subtree.contains(&above.id)) {
        return Err(refused("update", "creating loop in the provider tree is not allowed."));
    }
    Ok(if is_new { below(provider, above, subtree) } else { WriteSet::default() })
}

fn subtree(view: &View<'_>, top: ProviderId) -> BTreeSet<ProviderId> {
    let mut children = BTreeMap::<ProviderId, Vec<ProviderId>>::new();
    for provider in view.rows.providers.values() {
        if let Some(parent) = provider.parent {
            children.entry(parent).or_default().push(provider.id);
        }
    }
    let mut found = BTreeSet::new();
    let mut open = vec![top];
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(children.remove(&next).unwrap_or_default());
        }
    }
    found
}

/// Puts a subtree below another provider, or makes it a tree.
fn below(top: &ProviderState, above: Option<&ProviderState>, subtree: BTreeSet<ProviderId>) -> WriteSet {
    let root = above.map_or(top.id, |above| above.root);
    if root == top.root {
        let parent = Some(above.map(|above| above.id));
        return only(top.id, ProviderChange { parent, ..ProviderChange::default() });
    }
    let with_root = |id| (id, ProviderChange { root: Some(root), touched: true, ..ProviderChange::default() });
    let mut providers: BTreeMap<_, _> = subtree.into_iter().map(with_root).collect();
    providers.entry(top.id).or_default().parent = Some(above.map(|above| above.id));
    WriteSet { providers, ..WriteSet::default() }
}

pub(super) fn delete(view: &View<'_>, uuid: &Key) -> Decision {
    let provider = view
        .find(uuid)
        .ok_or_else(|| Refusal::not_found(format!("No resource provider with uuid {uuid} found for delete")))?;
    if view.rows.providers.values().any(|other| other.parent == Some(provider.id)) {
        let text = format!("Unable to delete parent resource provider {uuid}: It has child resource providers.");
        return Err(Refusal::conflict(text).with(Code::CannotDeleteParent));
    }
    if provider.inventories.values().any(|held| held.used > 0) {
        let text = format!("Unable to delete resource provider {uuid}: Resource provider has allocations.");
        return Err(Refusal::conflict(text).with(Code::ProviderInUse));
    }
    Ok((WriteSet { deleted: Some(provider.id), ..WriteSet::default() }, Outcome::Done))
}
