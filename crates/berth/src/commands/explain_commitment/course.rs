//! Where a commitment stands and why, in plain words: a sentence for each course that the controller can take. A course
//! without a sentence does not compile.

use berth_committed_resource::{Claim, Course, Verdict};
use berth_core::commitment::State;

use super::claim::amount;
use super::facts::Facts;

/// What the controller makes of it now.
pub(super) fn words(facts: &Facts) -> String {
    let outlook = &facts.outlook;
    match &outlook.decided.plan.course {
        Course::Frozen(why) => format!("It is frozen: {why}."),
        Course::Braked(stopped) => format!("The brake holds it back: {stopped}."),
        Course::Planned => "It begins later: while its state is planned it holds nothing.".to_owned(),
        Course::Over(state) => over(facts, *state),
        Course::Deleting => deleting(facts),
        Course::Duplicate(served) => format!(
            "{served} has the same spec.commitmentUUID and is served in its place. Nothing is done for this one; delete \
             one of the two."
        ),
        Course::WrongCluster(cluster) => format!(
            "Its zone {} belongs to cluster {cluster}, and it is in cluster {}: create it there, then delete this one. Its \
             slots stay as they are until then.",
            outlook.facts.spec.zone, outlook.facts.cluster
        ),
        Course::Reserve => reserve(facts),
        Course::RolledBack => rolled_back(facts),
        Course::Refused { text, retry, .. } => {
            let then = if *retry { "It is tried again, since it may not be rejected." } else { REFUSED };
            format!("It cannot have slots as it is: {text}. {then}")
        }
        Course::Unreadable(why) => {
            format!("Not everything that it rests on can be read, so nothing is done and what was said stands: {why}.")
        }
        Course::Hindered(why) => format!("Something is missing that it needs, so nothing is done: {why}."),
        Course::NoCapacity { detail, .. } => {
            format!(
                "Cores are accepted by what their flavor group has left in the zone, and nobody says what there is: {detail}."
            )
        }
        Course::Covered => "It asks for no more cores than it holds already.".to_owned(),
        Course::Count(claim) => counted(facts, claim),
        Course::Settled => "What was said about this spec stands; nothing is to be done.".to_owned(),
    }
}

const REFUSED: &str = "It is rejected until its spec is another one.";

fn over(facts: &Facts, state: State) -> String {
    let spec = &facts.outlook.facts.spec;
    let why = match (spec.end.filter(|end| *end < facts.now), state) {
        (Some(end), _) => format!("It ended at {end}"),
        (None, State::Superseded) => "It was replaced by other commitments".to_owned(),
        (None, _) => "It is over".to_owned(),
    };
    match facts.slots.len() {
        0 => format!("{why} and holds nothing any more."),
        1 => format!("{why}; the slot that is left is given up."),
        left => format!("{why}; the {left} slots that are left are given up."),
    }
}

fn deleting(facts: &Facts) -> String {
    if facts.outlook.facts.served_instead.is_some() {
        return "It is being deleted; its slots are left to the object that is served in its place.".to_owned();
    }
    if let Some((cluster, why)) = facts.outlook.facts.unreadable().next() {
        return format!(
            "It is being deleted and has to wait for cluster {cluster}, which may hold slots of it: {why}. If that cluster \
             is gone for good, give it up with the annotation {}: {cluster}.",
            berth_crds::labels::FORGET_CLUSTER
        );
    }
    let slots = match facts.slots.len() {
        0 => None,
        1 => Some("its slot has to go first".to_owned()),
        slots => Some(format!("its {slots} slots have to go first")),
    };
    let foreign = Some(facts.foreign_finalizers().join(", ")).filter(|names| !names.is_empty());
    match (slots, foreign) {
        (None, None) => "It is being deleted, and nothing keeps it any more.".to_owned(),
        (None, Some(foreign)) => format!("It is being deleted; Berth is done, and others keep it: {foreign}."),
        (Some(slots), None) => format!("It is being deleted; {slots}."),
        (Some(slots), Some(foreign)) => format!("It is being deleted; {slots}, and others keep it: {foreign}."),
    }
}

fn rolled_back(facts: &Facts) -> String {
    let keeps = match &facts.outlook.facts.accepted {
        Some(accepted) => format!("Its slots follow what was accepted before: {}.", amount(accepted)),
        None => "Nothing was accepted before, so it holds nothing.".to_owned(),
    };
    format!("Its present spec was rejected, and is not tried again. {keeps}")
}

fn reserve(facts: &Facts) -> String {
    let outlook = &facts.outlook;
    let (total, in_force) = (outlook.decided.plan.slots.total(), facts.staying_in_force());
    if outlook.refused {
        let could = outlook.decided.could_be_placed(&outlook.facts);
        return format!(
            "There is room for {could} of its {total} slots, and it may be rejected: nothing of it is done.{}",
            shortage(facts)
        );
    }
    let ready = outlook.report.says.as_ref().is_some_and(|says| says.ready);
    if ready && outlook.decided.plan.slots.is_empty() {
        return format!("{}, which is everything that it wants.", progress(total, total));
    }
    let roomless = facts.slots.iter().filter(|slot| slot.waiting().is_some()).count();
    let roomless = roomless + outlook.decided.hosts.iter().filter(|host| host.is_none()).count();
    let progress = progress(in_force, total);
    let (room, looked) = ("there is no room", shortage(facts));
    match roomless {
        0 if total == 1 => format!("{progress} yet."),
        0 => format!("{progress}; the others are on their way."),
        1 if total == 1 => format!("{progress}: {room} for it.{looked}"),
        1 => format!("{progress}; for one of them {room}.{looked}"),
        _ => format!("{progress}; for {roomless} of them {room}.{looked}"),
    }
}

fn progress(in_force: usize, total: usize) -> String {
    match (in_force, total) {
        (_, 0) => "It needs no slots".to_owned(),
        (1, 1) => "Its only slot is in force".to_owned(),
        (0, 1) => "Its only slot is not in force".to_owned(),
        _ if in_force == total => format!("All of its {total} slots are in force"),
        _ => format!("{in_force} of its {total} slots are in force"),
    }
}

/// Document 20 section 13.
fn counted(facts: &Facts, claim: &Claim) -> String {
    let (place, total) = (format!("{} in {}", claim.place.group, claim.place.zone), claim.total.get());
    let asked = format!("It asks for {} cores of the {total} that {place} has", claim.cores.get());
    match facts.outlook.decided.cores {
        Some(Verdict::Enough) => format!("{asked}, and so many are left."),
        Some(Verdict::Short { available, .. }) => {
            format!("{asked}, and {} are left, as the others are promised to other commitments.", available.get())
        }
        None => format!("{asked}."),
    }
}

/// In numbers per filter, as conditions have them.
fn shortage(facts: &Facts) -> String {
    let new = facts.outlook.decided.shortage.as_ref();
    let shortage = new.or(facts.outlook.facts.shortage.as_ref());
    shortage.map(|shortage| format!(" Looked at: {shortage}.")).unwrap_or_default()
}
