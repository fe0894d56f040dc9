//! Commitments whose slots are placed as a whole or one by one.

use super::*;
use crate::{Placed, Placement, Scheduler, Shortage};

const SIZE: (i64, i64) = (4, 32);

fn size() -> Resources {
    gib(SIZE.0, SIZE.1)
}

fn commitment(name: &str, created: i64, slots: u64) -> Vec<SlotRequest> {
    (0..slots).map(|number| wanted(name, created, number, size())).collect()
}

/// Hosts with free capacity for this many slots each.
fn cloud(free_capacities: &[i64]) -> Watched {
    let hosts: Vec<Host> = free_capacities
        .iter()
        .enumerate()
        .map(|(number, free)| host(&format!("h{number}"), gib(SIZE.0 * free, SIZE.1 * free)))
        .collect();
    built_in(&hosts)
}

fn place_all(scheduler: &Watched, request: &CommitmentRequest) -> (Vec<Option<HostName>>, Option<Shortage>) {
    match now(scheduler.place_all(request)).unwrap() {
        Placement::Decided { hosts, shortage, .. } => (hosts, shortage),
        Placement::Later => unreachable!("the built-in scheduler decides"),
    }
}

#[test]
fn two_commitments_of_four_with_capacity_for_five_give_exactly_one_whole_placement() {
    let scheduler = cloud(&[2, 3]);
    let (first, none) = place_all(&scheduler, &request_of(commitment("a", 1, 4), true));
    assert_eq!((first.iter().flatten().count(), none), (4, None));
    let (second, shortage) = place_all(&scheduler, &request_of(commitment("b", 2, 4), true));
    assert_eq!(second.iter().flatten().count(), 1, "the possible host of each slot");
    assert_eq!(shortage.unwrap().to_string(), "2 hosts; capacity 2");
    assert_eq!(scheduler.assumed(), 4, "a rejected commitment holds nothing");
}

#[test]
fn without_rejection_what_fits_is_kept() {
    let scheduler = cloud(&[2]);
    let (hosts, shortage) = place_all(&scheduler, &request_of(commitment("a", 1, 3), false));
    assert_eq!(hosts.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!((shortage.unwrap().hosts, scheduler.assumed()), (1, 2));
    assert!(scheduler.waiting_slots().is_empty(), "a slot that does not exist yet cannot be enqueued");
}

#[test]
fn assumed_capacity_stays_taken_until_it_is_seen() {
    let scheduler = built_in(&[host("h1", gib(20, 160))]);
    let (first, second) = (wanted("a", 1, 0, gib(16, 128)), wanted("b", 2, 0, gib(16, 128)));
    assert_eq!(now(scheduler.place(&first)), Ok(Placed::Host("h1".into())));
    assert!(matches!(now(scheduler.place(&second)), Ok(Placed::Nowhere(_))));
    let free = || scheduler.free_capacity(&"h1".into());
    assert_eq!(free(), Some(gib(4, 32)));
    let seen = scheduler.reservation_changed(&first.key, Some(placed(&first, "h1")));
    assert_eq!((seen, free(), scheduler.assumed()), (vec![], Some(gib(4, 32)), 0));
    assert_eq!(scheduler.applied(&[first.key]), []);
    assert_eq!(free(), Some(gib(4, 32)), "the slot itself blocks now");
}

#[test]
fn an_apply_that_ends_without_an_object_gives_its_capacity_back() {
    let scheduler = cloud(&[1]);
    let slot = wanted("a", 1, 0, size());
    assert!(matches!(now(scheduler.place(&slot)), Ok(Placed::Host(_))));
    assert_eq!(scheduler.applied(&[slot.key]), []);
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h0".into())), (0, Some(size())));
}

#[test]
fn a_write_in_doubt_keeps_its_capacity_until_it_is_settled() {
    let scheduler = cloud(&[1, 1]);
    let slot = wanted("a", 1, 0, size());
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h0".into())));
    scheduler.in_doubt(&slot.key);
    assert_eq!(scheduler.applied(std::slice::from_ref(&slot.key)), []);
    assert_eq!((scheduler.assumed(), scheduler.doubts().len()), (1, 1));
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h0".into())), "repeating the write is safe");
    let grown = SlotRequest { size: gib(5, 32), ..slot.clone() };
    assert!(matches!(now(scheduler.place(&grown)), Err(SchedulerError::InDoubt { .. })));
    assert_eq!(scheduler.settled(&slot.key), []);
    assert_eq!(scheduler.assumed(), 0);
}

#[test]
fn a_write_of_unknown_outcome_is_no_reason_to_reject() {
    let scheduler = cloud(&[2, 2]);
    let unknown = commitment("a", 1, 2);
    assert_eq!(place_all(&scheduler, &request_of(unknown.clone(), true)).1, None);
    for slot in &unknown {
        scheduler.in_doubt(&slot.key);
    }
    let free_capacities = || ["h0", "h1"].map(|host| scheduler.free_capacity(&host.into()));
    let before = free_capacities();
    let three = commitment("c", 3, 3);
    let placement = now(scheduler.place_all(&request_of(three.clone(), true)));
    assert!(matches!(placement, Err(SchedulerError::InDoubt { .. })), "{placement:?}");
    assert_eq!((free_capacities(), scheduler.doubts().len(), scheduler.assumed()), (before, 2, 2));
    assert!(
        place_all(&scheduler, &request_of(commitment("d", 4, 5), true)).1.is_some(),
        "there is no capacity for five anyway"
    );
    assert_eq!(
        place_all(&scheduler, &request_of(three.clone(), false)).0.iter().flatten().count(),
        2,
        "the slots wait"
    );
    let _ = scheduler.applied(&three.iter().map(|slot| slot.key.clone()).collect::<Vec<_>>());
    let _ = scheduler.settled(&unknown[0].key);
    assert_eq!(place_all(&scheduler, &request_of(three, true)).1, None);
}

#[test]
fn an_observation_settles_what_is_in_doubt() {
    let scheduler = cloud(&[1]);
    let slot = wanted("a", 1, 0, size());
    assert!(matches!(now(scheduler.place(&slot)), Ok(Placed::Host(_))));
    scheduler.in_doubt(&slot.key);
    let _ = scheduler.reservation_changed(&slot.key, Some(unplaced(&slot)));
    assert_eq!(scheduler.doubts().len(), 1, "an older observation ends no doubt");
    let _ = scheduler.reservation_changed(&slot.key, Some(placed(&slot, "h0")));
    assert_eq!(scheduler.doubts().len(), 0);
    let _ = scheduler.reservation_changed(&slot.key, None);
    assert_eq!(scheduler.free_capacity(&"h0".into()), Some(size()));
}

#[test]
fn released_and_shrunk_capacity_counts_for_the_plan_alone() {
    let scheduler = cloud(&[2]);
    let (old, big) = (wanted("a", 1, 0, size()), wanted("a", 1, 1, size()));
    for slot in [&old, &big] {
        let _ = scheduler.reservation_changed(&slot.key, Some(placed(slot, "h0")));
    }
    let new = vec![wanted("a", 1, 2, gib(6, 48))];
    assert!(place_all(&scheduler, &request_of(new.clone(), true)).1.is_some());
    let plan = CommitmentRequest {
        release: vec![old.key.clone()],
        shrink: vec![(big.key.clone(), gib(2, 16))],
        ..request_of(new.clone(), true)
    };
    assert_eq!(place_all(&scheduler, &plan).0, [Some("h0".into())]);
    assert_eq!(scheduler.free_capacity(&"h0".into()), Some(gib(-6, -48)), "both count until the release is seen");
    let other = wanted("b", 2, 0, gib(1, 1));
    assert!(matches!(now(scheduler.place(&other)), Ok(Placed::Nowhere(_))), "no other slot gets the capacity");
    assert_eq!(scheduler.reservation_changed(&old.key, None), []);
    let shrunk = Reservation { size: gib(2, 16), ..placed(&big, "h0") };
    assert_eq!(scheduler.reservation_changed(&big.key, Some(shrunk)), []);
    assert_eq!(scheduler.free_capacity(&"h0".into()), Some(Resources::ZERO));
}

#[test]
fn a_repeated_plan_gets_the_same_hosts() {
    let scheduler = cloud(&[2, 2]);
    let plan = request_of(commitment("a", 1, 3), true);
    let first = place_all(&scheduler, &plan);
    assert_eq!(place_all(&scheduler, &plan), first);
    assert_eq!(scheduler.assumed(), 3);
}

#[test]
fn a_kept_host_that_is_no_longer_good_is_given_up() {
    let scheduler = cloud(&[1, 1]);
    let slot = wanted("a", 1, 0, size());
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h0".into())));
    let closed = Host { zone: "elsewhere".into(), ..host("h0", size()) };
    let _ = scheduler.host_changed(&"h0".into(), Some(closed));
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h1".into())));
    assert_eq!(scheduler.assumed(), 1);
}

#[test]
fn a_former_host_is_preferred_if_it_passes() {
    let scheduler = cloud(&[2, 2]);
    let slot = SlotRequest { prefer: Some("h1".into()), ..wanted("a", 1, 0, size()) };
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h1".into())));
    let gone = SlotRequest { prefer: Some("gone".into()), ..wanted("a", 1, 1, size()) };
    assert!(matches!(now(scheduler.place(&gone)), Ok(Placed::Host(_))));
}

#[test]
fn a_slot_is_not_in_its_own_way() {
    let scheduler = cloud(&[1]);
    let slot = wanted("a", 1, 0, size());
    let _ = scheduler.reservation_changed(&slot.key, Some(placed(&slot, "h0")));
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h0".into())));
    assert_eq!(scheduler.free_capacity(&"h0".into()), Some(Resources::ZERO));
}

#[test]
fn a_failing_filter_or_an_unknown_pipeline_is_an_error() {
    let scheduler = cloud(&[1]);
    let no_cores = wanted("a", 1, 0, gib(0, 1));
    let error = now(scheduler.place(&no_cores)).unwrap_err();
    assert_eq!(error.to_string(), "filter_has_enough_capacity failed: flavor has 0 vcpus");
    let unknown = SlotRequest { pipeline: "kvm-foo".to_owned(), ..wanted("a", 1, 1, size()) };
    let request = request_of(vec![wanted("a", 1, 2, size()), unknown], false);
    assert_eq!(now(scheduler.place_all(&request)), Err(SchedulerError::Pipeline("kvm-foo".to_owned())));
    assert_eq!(scheduler.assumed(), 0, "a plan that fails holds nothing");
}

#[test]
fn a_probe_changes_nothing_and_must_say_so() {
    let scheduler = cloud(&[1, 3]);
    let mut request = request(4, 32 * 1024, &[]);
    assert!(matches!(now(scheduler.probe(&request, "")), Err(SchedulerError::Options(_))));
    request.options = crate::Options::read_only();
    assert_eq!(names(&now(scheduler.probe(&request, "")).unwrap()).len(), 2);
    assert_eq!(scheduler.assumed(), 0);
}

#[test]
fn a_commitment_is_not_refused_for_capacity_that_vms_were_promised() {
    let scheduler = cloud(&[1, 1]);
    let vm = |name: &str| Request { project: "other".into(), ..answers::vm(name) };
    let claimed = |seconds, name: &str| scheduler.answer(&answers::at(seconds, &vm(name))).unwrap().hosts.len();
    assert_eq!([claimed(0, "vm-1"), claimed(60, "vm-2"), claimed(60, "vm-3")], [2, 1, 0]);
    let (both, three) = (request_of(commitment("c", 1, 2), true), request_of(commitment("d", 2, 3), true));
    let error = now(scheduler.place_all(&both)).unwrap_err();
    let text = "waiting until 1970-01-01T00:11:01Z at most: the capacity is claimed for VMs that have not appeared yet: VM \
                \"vm-2\" of project \"other\" on h1 (32Gi memory, 4 cores), and 1 more";
    assert_eq!(error.to_string(), text);
    assert_eq!((scheduler.assumed(), scheduler.claimed()), (0, 2));
    assert!(place_all(&scheduler, &three).1.is_some(), "there is no capacity for three without the claims either");

    // The same for slots that exist.
    let existing = CommitmentRequest { existing: true, all_or_nothing: false, ..both.clone() };
    let keys: Vec<_> = existing.slots.iter().map(|slot| slot.key.clone()).collect();
    assert_eq!(scheduler.in_the_way(&[]), None);
    assert_eq!(scheduler.in_the_way(&keys).map(|why| why.to_string()).as_deref(), Some(text), "not tried yet");
    assert!(place_all(&scheduler, &existing).1.is_some());
    assert_eq!(scheduler.in_the_way(&keys).map(|why| why.to_string()).as_deref(), Some(text));
    let large = CommitmentRequest { existing: true, all_or_nothing: false, ..three.clone() };
    let of_three: Vec<_> = large.slots.iter().map(|slot| slot.key.clone()).collect();
    assert!(place_all(&scheduler, &large).1.is_some());
    assert_eq!(scheduler.in_the_way(&of_three), None, "three do not fit without the claims either");
    for key in keys.iter().chain(&of_three) {
        let _ = scheduler.withdraw(key);
    }

    // An entry in doubt besides them does not lead to a rejection either.
    let unknown = wanted("x", 1, 0, size());
    let _ = scheduler.expire(Duration::from_secs(600));
    assert!(matches!(now(scheduler.place(&unknown)), Ok(Placed::Host(_))));
    scheduler.in_doubt(&unknown.key);
    assert!(matches!(now(scheduler.place_all(&both)), Err(SchedulerError::Promised { more: 0, .. })));
    assert!(scheduler.host_changed(&"h0".into(), None).is_empty());
    assert!(place_all(&scheduler, &both).1.is_some(), "one host is too small for both");

    let _ = scheduler.host_changed(&"h0".into(), Some(host("h0", size())));
    let _ = scheduler.settled(&unknown.key);
    let _ = scheduler.expire(Duration::from_secs(660));
    assert_eq!(place_all(&scheduler, &both).1, None);
}
