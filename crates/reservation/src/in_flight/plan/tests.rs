use std::collections::BTreeSet;
use std::slice;

use berth_core::{Bytes, ClusterName, Cores, HostName, Resources};

use super::*;

const CREATED: &str = "2026-03-01T12:00:00Z";

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), name)
}

fn gib(gib: i64, cpu: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn hosts(names: &[&str]) -> BTreeSet<HostName> {
    names.iter().map(|name| (*name).into()).collect()
}

/// A reservation for VM x on its way to a host, first seen when no host listed the VM.
fn flight(name: &str, target: &str) -> Flight {
    Flight {
        key: key(name),
        vm: Some("x".into()),
        target: Some(target.into()),
        size: gib(32, 8),
        resizes: false,
        created: Some(CREATED.parse().unwrap()),
        end: None,
        listed_first: Some(BTreeSet::new()),
    }
}

/// The first of the family is reconciled, a minute after its creation.
fn facts(family: &[Flight], listed: &[&str]) -> InFlightFacts {
    let now = CREATED.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(1);
    let (own, family) = (family[0].clone(), family.to_vec());
    InFlightFacts {
        now: Some(now),
        known_for: Duration::ZERO,
        own,
        family,
        listed: hosts(listed),
        hosts_known: true,
        vm_size: None,
    }
}

fn reason(facts: &InFlightFacts) -> Option<(Status, Reason)> {
    match plan(facts).step {
        InFlightStep::WriteReady(ready) => Some((ready.status, ready.reason)),
        InFlightStep::Nothing => None,
        InFlightStep::Delete(..) => panic!("deleted: {facts:?}"),
    }
}

fn deleted(facts: &InFlightFacts) -> Vec<String> {
    match plan(facts).step {
        InFlightStep::Delete(Cause::Landed, keys) => keys.into_iter().map(|key| key.name.to_string()).collect(),
        other => panic!("{other:?}"),
    }
}

fn resize(flight: Flight, first: &[&str]) -> Flight {
    Flight { resizes: true, listed_first: Some(hosts(first)), ..flight }
}

#[test]
fn without_its_data_it_reports_it() {
    let own = Flight { vm: None, ..flight("i1", "node-a") };
    assert_eq!(reason(&facts(&[own], &[])), Some((Status::False, Reason::MissingSpec)));
}

#[test]
fn while_the_clock_cannot_be_trusted_nothing_ends() {
    let ended = Flight { end: Some("2026-03-01T00:00:00Z".parse().unwrap()), ..flight("i1", "node-a") };
    let over = InFlightFacts { now: Some("2026-03-02T00:00:00Z".parse().unwrap()), ..facts(&[ended], &[]) };
    assert!(matches!(plan(&over).step, InFlightStep::Delete(Cause::EndTime, _)));
    let untrusted = plan(&InFlightFacts { now: None, ..over });
    assert!(!matches!(untrusted.step, InFlightStep::Delete(..)));
    assert_eq!(untrusted.requeue_after, Some(CLOCK));
}

#[test]
fn a_vm_that_is_nowhere_has_not_spawned() {
    let mut facts = facts(&[flight("i1", "node-a")], &[]);
    assert_eq!(reason(&facts), Some((Status::Unknown, Reason::InstanceNotFound)));
    facts.hosts_known = false;
    assert_eq!(reason(&facts), None, "nothing is reported while hosts cannot be read");
}

#[test]
fn a_resize_on_the_same_host_is_reported_by_the_size() {
    let mut facts = facts(&[resize(flight("i5", "node-a"), &["node-a"])], &["node-a"]);
    assert!(needs_size(&facts));
    assert_eq!(reason(&facts), Some((Status::Unknown, Reason::VmSizeUnknown)), "the size is unknown");
    facts.vm_size = Some(gib(16, 4));
    assert_eq!(reason(&facts), Some((Status::Unknown, Reason::VmSizeMismatch)), "8/32 wanted, still 4/16");
    facts.vm_size = Some(gib(32, 8));
    assert_eq!(deleted(&facts), ["i5"]);
}

#[test]
fn all_of_a_vm_that_has_landed_are_deleted() {
    let (i1, i2, i3) = (flight("i1", "node-a"), flight("i2", "node-b"), flight("i3", "node-a"));
    assert_eq!(
        deleted(&facts(&[i1.clone(), i2.clone()], &["node-a"])),
        ["i2", "i1"],
        "the reservation that proves the landing goes last"
    );
    assert_eq!(deleted(&facts(&[i1.clone(), i3.clone()], &["node-a"])), ["i1", "i3"]);
    let seen_late = |flight: Flight| Flight { listed_first: Some(hosts(&["node-a"])), ..flight };
    let restarted = facts(&[seen_late(i2), seen_late(i1)], &["node-a"]);
    assert_eq!(deleted(&restarted), ["i2", "i1"], "after a restart the target is still known");
}

#[test]
fn a_vm_on_another_host_has_landed_unless_it_was_there_before() {
    let own = flight("i1", "node-a");
    assert_eq!(deleted(&facts(slice::from_ref(&own), &["node-c"])), ["i1"], "Nova took another host");
    let migrating = Flight { listed_first: Some(hosts(&["node-c"])), ..own.clone() };
    assert_eq!(reason(&facts(slice::from_ref(&migrating), &["node-c"])), None, "the source lists the VM");
    assert_eq!(deleted(&facts(&[migrating], &["node-c", "node-a"])), ["i1"], "both hosts list the VM for a while");
    let unseen = Flight { listed_first: None, ..own };
    assert_eq!(reason(&facts(&[unseen], &["node-c"])), None, "the source is unknown");
}

#[test]
fn a_resize_that_moves_the_vm_has_landed_on_the_new_host_and_not_before() {
    let family = [resize(flight("i1", "node-a"), &["node-a"]), resize(flight("i2", "node-b"), &["node-a"])];
    assert_eq!(reason(&facts(&family, &["node-a"])), Some((Status::Unknown, Reason::VmSizeUnknown)));
    let second = [family[1].clone(), family[0].clone()];
    assert_eq!(
        reason(&facts(&second, &["node-a"])),
        None,
        "the reservation on the other host waits without a condition"
    );
    assert_eq!(deleted(&facts(&family, &["node-a", "node-b"])), ["i1", "i2"]);
    let mut known = facts(&family, &["node-a", "node-b"]);
    known.vm_size = Some(gib(32, 8));
    known.family[0].size = gib(16, 4);
    assert_eq!(deleted(&known), ["i1", "i2"], "the host with the new size goes last");
    assert!(!needs_size(&facts(&[flight("i1", "node-a")], &["node-a"])), "other intents need no size");
}

#[test]
fn it_ends_at_its_end_or_half_an_hour_after_its_creation_and_not_a_second_earlier() {
    let at = |own: Flight, seconds: i64| {
        let mut facts = facts(&[own], &[]);
        facts.now = Some(CREATED.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds));
        plan(&facts)
    };
    let (own, seconds) = (flight("i1", "node-a"), |count| Some(Duration::from_secs(count)));
    assert_eq!(at(own.clone(), 60).requeue_after, seconds(1740));
    assert_eq!(at(own.clone(), 1799).requeue_after, seconds(1));
    let ahead = |minutes: u64| InFlightFacts {
        known_for: Duration::from_secs(60 * minutes),
        ..facts(std::slice::from_ref(&own), &[])
    };
    assert_eq!(plan(&ahead(29)).requeue_after, seconds(60), "the clock of the API server is ahead");
    let gone = |cause| InFlightPlan { step: InFlightStep::Delete(cause, vec![key("i1")]), requeue_after: None };
    assert_eq!(at(own.clone(), 1800), gone(Cause::Age));
    assert_eq!(plan(&ahead(30)), gone(Cause::Age));
    let ends = Flight { end: Some(CREATED.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(90)), ..own };
    assert_eq!(at(ends.clone(), 1800).requeue_after, seconds(3600), "its own end counts, also when it is later");
    assert_eq!(at(ends.clone(), 5400), gone(Cause::EndTime));
    assert_eq!(at(Flight { vm: None, ..ends }, 5400), gone(Cause::EndTime), "whatever else is wrong with it");
}
