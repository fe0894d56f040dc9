//! Describes each verdict of the controller in a sentence. A verdict without a sentence does not compile.

use berth_committed_resource::{BlockReason, ClaimResult, CoresClaim, Verdict};
use berth_core::commitment::State;
use berth_scheduler::SchedulerError;

use super::claim::amount;
use super::facts::ExplainedCommitment;

pub(super) fn describe_verdict(facts: &ExplainedCommitment) -> String {
    let dry_run = &facts.dry_run;
    match &dry_run.decided.plan.verdict {
        Verdict::Paused(why) => format!("It is paused: {why}."),
        Verdict::DisruptionLimited(stopped) => format!("The disruption limit holds it back: {stopped}."),
        Verdict::Planned => "It starts later: it has no slots while its state is planned.".to_owned(),
        Verdict::Over(state) => describe_end(facts, *state),
        Verdict::Deleting => deleting(facts),
        Verdict::Duplicate(served) => format!(
            "{served} has the same spec.commitmentUUID and is served in its place. Nothing is done for this one; delete \
             one of the two."
        ),
        Verdict::WrongCluster(cluster) => format!(
            "Its zone {} belongs to cluster {cluster}, and it is in cluster {}: create it there, then delete this one. Its \
             slots stay as they are until then.",
            dry_run.facts.spec.zone, dry_run.facts.cluster
        ),
        Verdict::Reserve => reserve(facts),
        Verdict::RolledBack => rolled_back(facts),
        Verdict::Refused { text, retry, .. } => {
            let then = if *retry { "It is retried, because it must not be rejected." } else { REFUSED };
            format!("It cannot have slots as it is: {text}. {then}")
        }
        Verdict::Unreadable(why) => {
            format!("Objects that it depends on cannot be read, so nothing is changed: {why}.")
        }
        Verdict::Blocked(why @ BlockReason::Scheduler(SchedulerError::Promised { .. })) => {
            format!("Only claimed capacity is missing, so nothing is changed: {why}.")
        }
        Verdict::Blocked(why) => format!("Data that it needs is missing, so nothing is changed: {why}."),
        Verdict::NoCapacity { detail, .. } => {
            format!(
                "Cores are accepted if their flavor group has enough left in the zone, and the total is unknown: {detail}."
            )
        }
        Verdict::Covered => "It asks for no more cores than it holds already.".to_owned(),
        Verdict::Count(claim) => counted(facts, claim),
        Verdict::Settled => "The decision about this spec stands; nothing is to be changed.".to_owned(),
    }
}

const REFUSED: &str = "It stays rejected until its spec changes.";

fn describe_end(facts: &ExplainedCommitment, state: State) -> String {
    let spec = &facts.dry_run.facts.spec;
    let why = match (spec.end.filter(|end| *end < facts.now), state) {
        (Some(end), _) => format!("It ended at {end}"),
        (None, State::Superseded) => "It was replaced by other commitments".to_owned(),
        (None, _) => "It has ended".to_owned(),
    };
    match facts.slots.len() {
        0 => format!("{why} and has no slots."),
        1 => format!("{why}; its remaining slot is released."),
        left => format!("{why}; its remaining {left} slots are released."),
    }
}

fn deleting(facts: &ExplainedCommitment) -> String {
    if facts.dry_run.facts.served_instead.is_some() {
        return "It is being deleted; the object that is served in its place keeps its slots.".to_owned();
    }
    if let Some((cluster, why)) = facts.dry_run.facts.unreadable().next() {
        return format!(
            "It is being deleted and has to wait for cluster {cluster}, which may hold slots of it: {why}. If that cluster \
             is gone for good, give it up with the annotation {}: {cluster}.",
            berth_crds::labels::FORGET_CLUSTER
        );
    }
    let slots = match facts.slots.len() {
        0 => None,
        1 => Some("its slot must be released first".to_owned()),
        slots => Some(format!("its {slots} slots must be released first")),
    };
    let foreign = Some(facts.foreign_finalizers().join(", ")).filter(|names| !names.is_empty());
    match (slots, foreign) {
        (None, None) => "It is being deleted, and no finalizer keeps it.".to_owned(),
        (None, Some(foreign)) => format!("It is being deleted; only finalizers of other clients keep it: {foreign}."),
        (Some(slots), None) => format!("It is being deleted; {slots}."),
        (Some(slots), Some(foreign)) => {
            format!("It is being deleted; {slots}, and finalizers of other clients keep it: {foreign}.")
        }
    }
}

fn rolled_back(facts: &ExplainedCommitment) -> String {
    let keeps = match &facts.dry_run.facts.accepted {
        Some(accepted) => format!("Its slots follow the accepted spec: {}.", amount(accepted)),
        None => "No spec was accepted before, so it has no slots.".to_owned(),
    };
    format!("Its present spec was rejected and is not retried. {keeps}")
}

fn reserve(facts: &ExplainedCommitment) -> String {
    let dry_run = &facts.dry_run;
    let (total, in_force) = (dry_run.decided.plan.slots.total(), facts.staying_in_force());
    if dry_run.refused {
        let could = dry_run.decided.could_be_placed(&dry_run.facts);
        return format!(
            "There is capacity for {could} of its {total} slots, and it may be rejected: nothing is changed.{}",
            shortage(facts)
        );
    }
    let ready = dry_run.report.ready.as_ref().is_some_and(|ready| ready.ready);
    if ready && dry_run.decided.plan.slots.is_empty() {
        return format!("{}, as desired.", progress(total, total));
    }
    let roomless = facts.slots.iter().filter(|slot| slot.waiting().is_some()).count();
    let roomless = roomless + dry_run.decided.hosts.iter().filter(|host| host.is_none()).count();
    let progress = progress(in_force, total);
    let (free, candidates) = ("there is no free capacity", shortage(facts));
    match roomless {
        0 if total == 1 => format!("{progress} yet."),
        0 => format!("{progress}; the others are being placed."),
        1 if total == 1 => format!("{progress}: {free} for it.{candidates}"),
        1 => format!("{progress}; for one of them {free}.{candidates}"),
        _ => format!("{progress}; for {roomless} of them {free}.{candidates}"),
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

fn counted(facts: &ExplainedCommitment, claim: &CoresClaim) -> String {
    let (place, total) = (format!("{} in {}", claim.place.group, claim.place.zone), claim.total.get());
    let asked = format!("It asks for {} cores of the {total} that {place} has", claim.cores.get());
    match facts.dry_run.decided.cores {
        Some(ClaimResult::Enough) => format!("{asked}, and enough are left."),
        Some(ClaimResult::Short { available, .. }) => {
            format!("{asked}, and {} are left, as the others are promised to other commitments.", available.get())
        }
        None => format!("{asked}."),
    }
}

/// In numbers per filter, as conditions have them.
fn shortage(facts: &ExplainedCommitment) -> String {
    let new = facts.dry_run.decided.shortage.as_ref();
    let shortage = new.or(facts.dry_run.facts.shortage.as_ref());
    shortage.map(|shortage| format!(" Candidates: {shortage}.")).unwrap_or_default()
}
