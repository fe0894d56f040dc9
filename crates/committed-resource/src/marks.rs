//! What is said of a commitment beside Ready: that it is frozen (U57). It decides which of these conditions an object has
//! to have, and which events tell of their coming and going.

use berth_cluster::{Event, EventKind};
use berth_crds::{
    CommittedResource, Condition,
    conditions::{self, safety},
};
use jiff::Timestamp;

use crate::facts::Facts;

/// Gives the object the marks that the facts ask for, and no others.
pub(crate) fn mark(object: &mut CommittedResource, facts: &Facts, now: Timestamp) {
    let frozen = facts.frozen.as_ref().map(|why| (why.reason(), why.to_string()));
    if object.status.is_none() && frozen.is_none() {
        return;
    }
    let generation = object.metadata.generation;
    let all = &mut object.status.get_or_insert_default().conditions;
    let says = frozen.as_ref().map(|(reason, text)| (*reason, text.as_str()));
    safety::mark(all, safety::FROZEN, says, generation, now);
}

/// One event for each mark that has come or gone.
pub(crate) fn changed_marks(old: &CommittedResource, new: &CommittedResource) -> Vec<Event> {
    let (before, after) = (find(old, safety::FROZEN), find(new, safety::FROZEN));
    match (before, after) {
        (None, Some(now)) => vec![event("Frozen", &now.message)],
        (Some(_), None) => vec![event("Unfrozen", "it is looked after again")],
        _ => Vec::new(),
    }
}

fn find<'a>(object: &'a CommittedResource, type_: &str) -> Option<&'a Condition> {
    conditions::find(&object.status.as_ref()?.conditions, type_)
}

fn event(reason: &str, note: &str) -> Event {
    let [reason, action, note] = [reason, "Freeze", note].map(str::to_owned);
    Event { kind: EventKind::Normal, reason, action, note }
}
