//! What is said of a commitment beside Ready: that it is frozen (U57), and that the brake holds its plan back (D14). It
//! decides which of these conditions an object has to have, and which events tell of their coming and going.

use berth_cluster::{Event, EventKind};
use berth_crds::{
    CommittedResource, Condition,
    conditions::{self, safety},
};
use jiff::Timestamp;

use crate::{facts::Facts, plan::Course};

/// Gives the object the marks that the facts and the course ask for, and no others. What is frozen keeps the mark of the
/// brake as it was, too.
pub(crate) fn mark(object: &mut CommittedResource, facts: &Facts, course: &Course, now: Timestamp) {
    let frozen = facts.frozen.as_ref().map(|why| (why.reason(), why.to_string()));
    let braked = match course {
        Course::Braked(stopped) => Some((stopped.cause, stopped.to_string())),
        _ => None,
    };
    if object.status.is_none() && frozen.is_none() && braked.is_none() {
        return;
    }
    let generation = object.metadata.generation;
    let all = &mut object.status.get_or_insert_default().conditions;
    let mut say = |type_: &str, says: Option<&(&str, String)>| {
        safety::mark(all, type_, says.map(|(reason, text)| (*reason, text.as_str())), generation, now);
    };
    say(safety::FROZEN, frozen.as_ref());
    if frozen.is_none() {
        say(safety::BRAKED, braked.as_ref());
    }
}

/// One event when it is frozen and one when it is set free. Of the brake its zone tells.
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
