//! Counts cores, on objects in stores.

use berth_cluster::indexes::{CAPACITY_INDEXES, CHANGE_INDEXES, COMMITMENT_INDEXES};
use berth_cluster::testing::{applied, applied_raw, doubtful, failing, filled, opened, take_smallest};
use berth_core::testing::at;
use berth_crds::CommitmentState::{self, Confirmed, Guaranteed, Pending};
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{FlavorGroupCapacitySpec, ResourceType, Time, testing};
use berth_telemetry::config::Pause;
use serde_json::json;

use super::*;
use crate::plan::tests::{facts as facts_of, no_groups, now};
use crate::plan::{Limits, Verdict, plan};
use crate::status::{Delays, report};

const DELAYS: Delays = Delays { retry: std::time::Duration::from_secs(30), cap: std::time::Duration::from_secs(1800) };

fn home() -> ClusterName {
    ClusterName::home()
}

fn here() -> GroupAndZone {
    GroupAndZone { group: testing::GROUP.into(), zone: testing::ZONE.into() }
}

fn key(uuid: &str) -> ObjectKey {
    ObjectKey::new(home(), format!("commitment-{uuid}"))
}

fn object(name: &str, cores: Option<&str>) -> FlavorGroupCapacity {
    let spec = FlavorGroupCapacitySpec {
        flavor_group: testing::GROUP.to_owned(),
        availability_zone: testing::ZONE.to_owned(),
    };
    let mut object = FlavorGroupCapacity::new(name, spec);
    let total = &mut object.status.get_or_insert_default().total_capacity;
    total.extend(cores.map(|cores| ("cores".to_owned(), cores.into())));
    object
}

/// A commitment that was accepted with this many cores.
fn accepted(uuid: &str, state: CommitmentState, cores: &str) -> CommittedResource {
    let mut object = testing::commitment(uuid, cores);
    object.spec.resource_type = ResourceType::Cores;
    object.spec.state = state;
    object.status.get_or_insert_default().accepted_spec = Some(object.spec.clone());
    object
}

/// The others of the example: A, B, C, D, E.
fn others() -> Vec<CommittedResource> {
    let mut b = accepted("b", Guaranteed, "64");
    b.spec.amount = "96".into();
    let mut d = accepted("d", Confirmed, "50");
    d.status = None;
    let mut e = accepted("e", Confirmed, "30");
    e.spec.availability_zone = "elsewhere".to_owned();
    e.status.as_mut().unwrap().accepted_spec = Some(e.spec.clone());
    vec![accepted("a", Confirmed, "120"), b, accepted("c", Pending, "40"), d, e]
}

fn book(commitments: Vec<CommittedResource>, capacities: Vec<FlavorGroupCapacity>) -> Arc<CoresBook> {
    book_with(commitments, capacities, Requests::closed())
}

fn book_with(
    commitments: Vec<CommittedResource>,
    capacities: Vec<FlavorGroupCapacity>,
    requests: Requests<ObjectKey>,
) -> Arc<CoresBook> {
    let commitments = filled(COMMITMENT_INDEXES, &home(), commitments);
    let capacities = filled(CAPACITY_INDEXES, &home(), capacities);
    let pauses = Pauses::new(Pause::default(), commitments.clone(), Store::new(&[]));
    Arc::new(CoresBook::new(commitments, capacities, Store::new(CHANGE_INDEXES), Routes::home_only(), pauses, requests))
}

/// The verdict on a commitment of this many cores, as a reconciliation gets it.
fn reported(book: &Arc<CoresBook>, amount: &str, allow_rejection: bool) -> (Reason, String) {
    let mut facts = facts_of(amount, vec![]);
    facts.spec.resource = berth_core::commitment::ResourceType::Cores;
    facts.spec.allow_rejection = allow_rejection;
    (facts.spec.group, facts.spec.zone) = (testing::GROUP.into(), testing::ZONE.into());
    facts.groups = Err(no_groups());
    facts.capacity = book.capacity(&here(), &home());
    let plan = plan(&facts, Limits::default(), Ok(now()));
    assert_eq!((plan.slots.is_empty(), plan.finalizer), (true, crate::plan::Finalizer::Leave), "it never has slots");
    let mut decided = crate::plan::CommitmentDecision::blocked(no_groups().into());
    let own = key("own");
    let _looking = book.start_reconciliation(&own);
    if let Verdict::Count(claim) = &plan.verdict {
        decided.cores = Some(book.take(&own, claim, Ok(now())));
    }
    decided.plan = plan;
    let report = report(&facts, &decided, DELAYS, now());
    let ready = report.ready.unwrap();
    let requeue_after = (ready.reason == Reason::Reserving).then_some(DELAYS.retry);
    assert_eq!(report.requeue_after, requeue_after, "waiting commitments are reconciled again");
    let detail = ready.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    (ready.reason, format!("{}{detail}", ready.message))
}

fn with_total(cores: Option<&str>) -> Arc<CoresBook> {
    book(others(), vec![object("capacity", cores)])
}

const RESERVED: &str = "commitment successfully reserved";

#[test]
fn what_is_left_is_accepted_counting_pending_ones() {
    for allow_rejection in [true, false] {
        let reported = reported(&with_total(Some("320")), "96", allow_rejection);
        assert_eq!(reported, (Reason::Accepted, RESERVED.to_owned()), "136 without C");
    }
}

#[test]
fn one_more_is_rejected() {
    let text = "insufficient CPU cores: 96 available, 97 requested".to_owned();
    assert_eq!(reported(&with_total(Some("320")), "97", true), (Reason::Rejected, text));
}

#[test]
fn a_partial_placement_is_rolled_back_or_tried_again() {
    let text = "insufficient CPU cores: 96 available, 97 requested".to_owned();
    assert_eq!(reported(&with_total(Some("320")), "97", false), (Reason::Reserving, text));
}

#[test]
fn the_headroom_may_be_negative() {
    let text = "insufficient CPU cores: -44 available, 4 requested".to_owned();
    assert_eq!(reported(&with_total(Some("180")), "4", true), (Reason::Rejected, text), "-4 without C");
}

/// Reconciled again when the object changes, not each second.
#[test]
fn without_a_total_of_cores_it_waits() {
    let text =
        "waiting for CPU capacity data: FlavorGroupCapacity capacity has no status.totalCapacity.cores".to_owned();
    assert_eq!(reported(&with_total(None), "4", true), (Reason::Reserving, text));
}

#[test]
fn without_an_object_it_waits() {
    let text = "waiting for capacity data: no FlavorGroupCapacity object has spec.flavorGroup mem_v4 and \
                spec.availabilityZone eu-test-1a";
    for allow_rejection in [true, false] {
        assert_eq!(reported(&book(others(), vec![]), "4", allow_rejection), (Reason::Reserving, text.to_owned()));
    }
}

#[test]
fn a_total_rounds_down_and_a_request_up() {
    let halves = || book(vec![], vec![object("capacity", Some("7500m"))]);
    assert_eq!(reported(&halves(), "6500m", true).0, Reason::Accepted);
    let text = "insufficient CPU cores: 7 available, 8 requested".to_owned();
    assert_eq!(reported(&halves(), "7100m", true), (Reason::Rejected, text));
}

#[test]
fn total_of_zero_is_a_real_one() {
    let text = "insufficient CPU cores: 0 available, 1 requested".to_owned();
    assert_eq!(reported(&book(vec![], vec![object("capacity", Some("0"))]), "1", true), (Reason::Rejected, text));
}

#[test]
fn what_is_over_or_going_does_not_count() {
    let full = |change: fn(&mut CommittedResource)| {
        let mut other = accepted("a", Confirmed, "100");
        change(&mut other);
        reported(&book(vec![other], vec![object("capacity", Some("100"))]), "100", true).0
    };
    assert_eq!(full(|_| ()), Reason::Rejected);
    assert_eq!(full(|other| other.spec.end_time = Some(Time(at(-1)))), Reason::Accepted);
    assert_eq!(full(|other| other.spec.end_time = Some(Time(at(1)))), Reason::Rejected);
    assert_eq!(full(|other| other.metadata.deletion_timestamp = Some(Time(at(0)))), Reason::Accepted);
    for state in [CommitmentState::Planned, CommitmentState::Superseded, CommitmentState::Expired] {
        let mut other = accepted("a", Confirmed, "100");
        other.spec.state = state;
        let book = book(vec![other], vec![object("capacity", Some("100"))]);
        assert_eq!(reported(&book, "100", true).0, Reason::Accepted, "{state}");
    }
}

#[test]
fn what_is_paused_keeps_its_cores_over_its_end() {
    let mut other = accepted("a", Confirmed, "100");
    other.spec.end_time = Some(Time(at(-1)));
    other.metadata.annotations = Some([(berth_crds::labels::PAUSED.to_owned(), String::new())].into());
    assert_eq!(reported(&book(vec![other], vec![object("capacity", Some("100"))]), "100", true).0, Reason::Rejected);
}

#[test]
fn a_condition_releases_no_cores() {
    for (end, written) in [(None, 0), (Some(100), 0), (Some(100), 200)] {
        let mut other = accepted("a", Confirmed, "100");
        other.spec.end_time = end.map(|end| Time(at(end)));
        other.status.as_mut().unwrap().conditions =
            vec![ready_condition(Status::False, "expired", "", Some(1), at(written))];
        let book = book(vec![other], vec![object("capacity", Some("100"))]);
        assert_eq!(reported(&book, "100", true).0, Reason::Rejected, "{end:?} {written}");
    }
}

#[test]
fn a_duplicate_does_not_count() {
    let mut second = accepted("a", Confirmed, "100");
    second.metadata.name = Some("another-name".to_owned());
    let both = vec![accepted("a", Confirmed, "60"), second];
    let book = book(both, vec![object("capacity", Some("100"))]);
    assert_eq!(reported(&book, "40", true).0, Reason::Accepted);
    let text = "insufficient CPU cores: 40 available, 41 requested".to_owned();
    assert_eq!(reported(&book, "41", true), (Reason::Rejected, text));
}

#[test]
fn of_several_objects_the_first_by_name_counts() {
    let book = book(vec![], vec![object("second", Some("1000")), object("first", Some("10"))]);
    assert_eq!(book.capacity(&here(), &home()), Capacity::Total(Cores::new(10)));
    assert_eq!(book.ambiguous.lock().len(), 1, "reported once");
    berth_cluster::testing::deleted(&book.capacities, &home(), object("first", None));
    assert_eq!(book.capacity(&here(), &home()), Capacity::Total(Cores::new(1000)));
    assert_eq!(book.ambiguous.lock().len(), 0);
}

#[test]
fn what_cannot_be_read_rejects_no_commitment() {
    let book = book(vec![], vec![object("capacity", Some("10"))]);
    let unknown = |book: &Arc<CoresBook>| match reported(book, "100", true) {
        (Reason::Reserving, why) => why,
        other => panic!("{other:?}"),
    };
    applied(&book.capacities, &home(), object("capacity", Some("-5")));
    let why =
        "FlavorGroupCapacity capacity: status.totalCapacity.cores is \"-5\", it must be a number of cores, 0 or more";
    assert_eq!(unknown(&book), why);
    applied(&book.capacities, &home(), object("capacity", Some("10")));
    failing(&book.commitments, &home(), Some("we may not list them"));
    assert!(unknown(&book).contains("CommittedResource"), "{}", unknown(&book));
    failing(&book.commitments, &home(), None);
    failing(&book.capacities, &home(), Some("we may not list them"));
    assert!(unknown(&book).contains("FlavorGroupCapacity"), "{}", unknown(&book));
    failing(&book.capacities, &home(), None);
    assert_eq!(reported(&book, "100", true).0, Reason::Rejected);
    let raw = json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": "FlavorGroupCapacity",
        "metadata": { "name": "broken", "resourceVersion": "9" }, "spec": { "flavorGroup": testing::GROUP } });
    applied_raw(&book.capacities, &home(), raw).unwrap();
    assert!(unknown(&book).starts_with("FlavorGroupCapacity broken cannot be read, correct or delete it"));
}

#[test]
fn a_commitment_that_was_never_readable_keeps_what_it_was_given() {
    let book = book(vec![], vec![object("capacity", Some("100"))]);
    let mut broken = serde_json::to_value(accepted("a", Confirmed, "60")).unwrap();
    broken["spec"]["state"] = json!("unheard of");
    broken["metadata"]["resourceVersion"] = json!("9");
    applied_raw(&book.commitments, &home(), broken).unwrap();
    let text = "insufficient CPU cores: 40 available, 41 requested".to_owned();
    assert_eq!(reported(&book, "41", false), (Reason::Reserving, text));
}

#[test]
fn of_many_at_the_same_time_no_more_are_accepted_than_fit() {
    let book = book(vec![], vec![object("capacity", Some("100"))]);
    let take = |number: usize| {
        let claim = CoresClaim { place: here(), cores: Cores::new(30), total: Cores::new(100) };
        book.take(&key(&format!("uuid-{number}")), &claim, Ok(now()))
    };
    let verdicts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || take(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == ClaimResult::Enough).count(), 3, "{verdicts:?}");
}

#[test]
fn what_a_reconciliation_took_ends_with_it_unless_the_outcome_is_unknown() {
    let requests = opened();
    let mut waiting = accepted("waiting", Confirmed, "60");
    waiting.status = None;
    let book = book_with(vec![waiting], vec![object("capacity", Some("100"))], requests.clone());
    let claim = CoresClaim { place: here(), cores: Cores::new(60), total: Cores::new(100) };
    let reconciling = book.start_reconciliation(&key("one"));
    assert_eq!(book.take(&key("one"), &claim, Ok(now())), ClaimResult::Enough);
    let short = ClaimResult::Short { available: Cores::new(40), provisional: true };
    assert_eq!(book.take(&key("waiting"), &claim, Ok(now())), short);
    drop(book.start_reconciliation(&key("waiting")));
    doubtful(&book.commitments, &key("one"));
    drop(reconciling);
    assert!(!book.is_empty(), "the outcome of the write is unknown");
    assert_eq!(take_smallest(&requests), None);
    berth_cluster::testing::deleted(&book.commitments, &home(), accepted("one", Confirmed, "60"));
    applied(&book.commitments, &home(), accepted("one", Confirmed, "1"));
    drop(book.start_reconciliation(&key("one")));
    assert!(book.is_empty());
    assert_eq!((take_smallest(&requests), take_smallest(&requests)), (Some(key("waiting")), None));
}
