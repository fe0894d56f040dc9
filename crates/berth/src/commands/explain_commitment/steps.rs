//! What happens next to a commitment: what the controller would do, what it waits for, and when it looks again.

use std::time::Duration;

use berth_committed_resource::{Course, Finalizer, Plan};
use berth_core::HostName;
use berth_core::planner::{NewSlot, Why};
use berth_crds::conditions::commitment::{INSUFFICIENT_CAPACITY, INSUFFICIENT_CORES};

use super::facts::Facts;
use crate::commands::amounts::Amounts;
use crate::commands::next::Next;
use crate::commands::slot_facts::{CONFIRMED, SlotFacts, braked};

/// In the order in which it matters.
pub(super) fn steps(facts: &Facts) -> Vec<Next> {
    let mut all = Vec::new();
    if !facts.outlook.refused {
        let todo = to_do(&facts.outlook.decided.plan, &facts.outlook.decided.hosts);
        all.extend(
            todo.into_iter().map(|next| braked(next, facts.outlook.object.status.as_ref().map(|s| &s.conditions[..]))),
        );
    }
    all.extend(says(facts));
    all.extend(facts.slots.iter().flat_map(of_slot));
    all.extend(by_people(facts));
    all.push(look(facts));
    all.extend(end(facts));
    all
}

fn to_do(plan: &Plan, hosts: &[Option<HostName>]) -> Vec<Next> {
    let mut all = Vec::new();
    if plan.finalizer == Finalizer::Add {
        all.push("it gets its finalizer, so that its slots go before it does".to_owned());
    }
    let whys =
        plan.slots.release.iter().map(|release| format!("slot {} is deleted: {}", release.name, why(release.why)));
    all.extend(whys);
    all.extend(plan.leave.iter().map(|leave| format!("slot {} is given up", leave.name)));
    all.extend(
        plan.slots
            .update
            .iter()
            .map(|update| format!("slot {} is written, with {}", update.name, Amounts::from(update.size).words())),
    );
    all.extend(plan.slots.create.iter().zip(hosts).map(|(new, host)| created(new, host.as_ref())));
    if plan.finalizer == Finalizer::Remove {
        all.push("Berth takes its finalizer away".to_owned());
    }
    all.into_iter().map(Next::soon).collect()
}

fn created(new: &NewSlot, host: Option<&HostName>) -> String {
    let size = Amounts::from(new.size).words();
    let place = host.map_or("without a host".to_owned(), |host| format!("on {host}"));
    format!("slot {} of {size} is created {place}", new.name)
}

fn why(why: Why) -> &'static str {
    match why {
        Why::OtherIdentity => "its project, flavor group or zone is not that of the commitment any more",
        Why::LostFlavor => "its flavor has left the flavor group, and it has no host",
        Why::NoMemory => "it holds no memory",
        Why::TooFewCores => "it has too few cores, and its host has no room for more",
        Why::Surplus => "the commitment has become smaller",
    }
}

/// What would be said differs from what is said.
fn says(facts: &Facts) -> Option<Next> {
    let says = facts.outlook.report.says.as_ref().filter(|_| facts.outlook.is_news)?;
    // What comes of a plan is only known when it has been carried out.
    let known = facts.outlook.refused || facts.outlook.decided.plan.is_empty();
    known.then(|| Next::soon(format!("the condition says {}: {}", says.reason.as_str(), says.text())))
}

/// Timed looks of its slots would say nothing about it.
fn of_slot(slot: &SlotFacts) -> Vec<Next> {
    let telling = slot.next().into_iter().filter(|next| next.within_seconds.is_none());
    telling.map(|next| Next { what: format!("{}: {}", slot.key.name, next.what), ..next }).collect()
}

/// What somebody has to change.
fn by_people(facts: &Facts) -> Option<Next> {
    let accepted = facts.outlook.facts.accepted.is_some();
    match &facts.outlook.decided.plan.course {
        Course::RolledBack => Some(Next::once(change(facts), "it is tried anew as a whole")),
        Course::Reserve if facts.outlook.refused => {
            let then = if accepted { "it keeps what was accepted before" } else { "it holds nothing" };
            Some(Next::once(change(facts), format!("it is tried anew as a whole; until then {then}")))
        }
        Course::Refused { retry: false, .. } => Some(Next::once("its spec is corrected", "it is tried anew")),
        Course::Frozen(_) => Some(Next::once("it is set free", "everything that waits is done")),
        Course::Braked(_) => Some(Next::once(CONFIRMED, "what it holds back is done")),
        Course::Duplicate(_) => Some(Next::once("one of the two is deleted", "the other one is served")),
        Course::WrongCluster(_) => Some(Next::once("it is deleted here", "its slots are given up")),
        Course::Deleting if facts.slots.is_empty() && !facts.foreign_finalizers().is_empty() => {
            let finalizers = facts.foreign_finalizers().join(", ");
            Some(Next::once(format!("others have taken away {finalizers}"), "it is gone"))
        }
        _ => None,
    }
}

/// Which change lets a rejected commitment be tried again.
fn change(facts: &Facts) -> String {
    let said = facts.outlook.facts.ready.as_ref().map(|ready| ready.message.as_str()).unwrap_or_default();
    if facts.outlook.refused || said.starts_with(INSUFFICIENT_CAPACITY) || said.starts_with(INSUFFICIENT_CORES) {
        "its spec asks for less, for another zone or group, or has allowRejection: false".to_owned()
    } else {
        "its spec is corrected as the condition says".to_owned()
    }
}

fn look(facts: &Facts) -> Next {
    let again = facts.outlook.report.again.filter(|again| Some(*again) != until_end(facts));
    match again {
        Some(again) => Next::within(again, "it is looked at again, and at once when something changes"),
        None => Next::once("something changes", "it is looked at again"),
    }
}

/// The wait that the controller takes for the end: a second more than the time that is left.
fn until_end(facts: &Facts) -> Option<Duration> {
    let left: Duration = facts.outlook.facts.spec.end?.duration_since(facts.now).try_into().ok()?;
    Some(left + Duration::from_secs(1))
}

fn end(facts: &Facts) -> Option<Next> {
    let end = facts.outlook.facts.spec.end.filter(|end| *end > facts.now)?;
    match facts.outlook.decided.plan.course {
        Course::Over(_) | Course::Deleting => None,
        Course::Frozen(_) => Some(Next::at(end, "it ends, and keeps its slots as long as it is frozen")),
        _ => Some(Next::at(end, "it ends, and all of its slots are given up")),
    }
}
