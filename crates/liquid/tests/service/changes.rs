//! Changes of commitments with the controllers of commitments and slots, on a host that is full.

use berth_crds::commitment_change::ChangePhase;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_sold_commitment_is_accepted_with_its_slots() {
    let clock = clock();
    let server = server(&clock, 4);
    let process = Process::start(&server, &clock);
    let _caller = process.begin(&[(NEW, Some(spec(NEW, 4)))], true);
    server.take_log();
    process.settle().await;
    assert_finished(&server, ChangePhase::Accepted);
    assert_eq!((reason(&server, NEW).as_str(), placed(&server, NEW).len()), ("Accepted", 4));
    let writes = server.take_log();
    assert!(writes.len() < 14, "with the creation of the change at most 14: {writes:#?}");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_does_not_fit_leaves_nothing() {
    let (server, process) = full(2).await;
    let before = picture(&server, OLD);
    let _caller = process.begin(&[(NEW, Some(spec(NEW, 1)))], true);
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    let message = change(&server).status.unwrap().message.unwrap();
    assert_eq!(
        message,
        "1 commitment(s) failed to apply:\n- commitment uuid-new: insufficient capacity: 0/1 reservation slots could be placed"
    );
    assert!(!exists(&server, NEW) && slots_of(&server, NEW).is_empty());
    assert_eq!(picture(&server, OLD), before);
}

#[tokio::test(start_paused = true)]
async fn a_split_keeps_the_slots_of_its_vms() {
    let (server, process) = full(4).await;
    start_vms(&server, OLD, &process.clock);
    process.settle().await;
    let before: Vec<_> = slots_of(&server, OLD).into_iter().map(|slot| slot.metadata.name.unwrap()).collect();
    server.take_log();
    let parts = [(NEW, Some(spec(NEW, 3))), (REST, Some(spec(REST, 1))), (OLD, Some(superseded(OLD)))];
    let _caller = process.begin(&parts, false);
    process.settle().await;
    assert_finished(&server, ChangePhase::Accepted);
    let writes = server.take_log();
    assert_eq!(writes.iter().filter(|write| write.contains("reservations/")).count(), 4, "one per slot: {writes:#?}");
    process.settle_for_good().await;
    let mut after = placed(&server, NEW);
    after.extend(placed(&server, REST));
    after.sort();
    assert_eq!(after, before);
    assert!(slots_of(&server, OLD).is_empty());
    assert_eq!((reason(&server, NEW).as_str(), reason(&server, REST).as_str()), ("Accepted", "Accepted"));
}

/// Half of the slot is needed for the new commitment; the other half waits for the end of the change.
#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_slot_is_there_when_the_change_is_undone() {
    let (server, process) = full(1).await;
    let_another_wait(&server, &process, 240).await;
    let before = picture(&server, OLD);
    let half = |uuid| berth_crds::CommittedResourceSpec { amount: "240Gi".into(), ..in_other_group(spec(uuid, 1)) };
    let items = [(NEW, Some(half(NEW))), (REST, Some(in_other_group(spec(REST, 1)))), (OLD, Some(superseded(OLD)))];
    let _caller = process.begin(&items, true);
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    assert_eq!(picture(&server, OLD), before);
    assert_eq!(placed(&server, WAITING).len(), 0);
}

/// One of two conversions fits and the other does not, so that slots were handed over before the change is undone.
#[tokio::test(start_paused = true)]
async fn a_change_that_is_undone_after_its_slots_were_handed_over_gives_them_back() {
    let (server, process) = full(4).await;
    let_another_wait(&server, &process, 480).await;
    let before = picture(&server, OLD);
    let items = [(NEW, Some(in_other_group(spec(NEW, 2)))), (REST, Some(spec(REST, 3))), (OLD, Some(superseded(OLD)))];
    let _caller = process.begin(&items, true);
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    assert_eq!(picture(&server, OLD), before);
    assert!(!exists(&server, NEW) && !exists(&server, REST));
    assert_eq!(placed(&server, WAITING).len(), 0);
}

/// Whatever the process has written when it ends, and in whatever order the next one reconciles, all or nothing is left.
#[tokio::test(start_paused = true)]
async fn a_process_that_ends_after_any_write_leaves_all_or_nothing() {
    let (mut accepted, mut undone) = (0, 0);
    for (writes, seed) in (0..30).flat_map(|writes| (0..4).map(move |seed| (writes, seed))) {
        match end_after(writes, seed).await {
            ChangePhase::Accepted => accepted += 1,
            _ => undone += 1,
        }
    }
    assert!(accepted > 5 && undone > 10, "{accepted} accepted, {undone} undone");
}

async fn end_after(writes: usize, seed: u64) -> ChangePhase {
    let (server, process) = full(4).await;
    let_another_wait(&server, &process, 240).await;
    watch_over_booking(&server, 5);
    let before = picture(&server, OLD);
    let half = berth_crds::CommittedResourceSpec { amount: "720Gi".into(), ..in_other_group(spec(NEW, 1)) };
    let items = [(NEW, Some(half)), (REST, Some(spec(REST, 2))), (OLD, Some(superseded(OLD)))];
    let caller = process.begin(&items, true);
    server.stop_after(writes);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(5), process.settle()).await;
    let checker = process.checker.clone();
    drop((caller, process));
    server.answer_again();
    let next = Process::start_after(&checker, &server, &clock(), seed);
    next.enqueue_all();
    next.settle_for_good().await;
    let phase = change(&server).phase();
    if phase == ChangePhase::Accepted {
        assert_finished(&server, ChangePhase::Accepted);
        assert_eq!((placed(&server, NEW).len(), placed(&server, REST).len()), (2, 2), "{writes} writes, seed {seed}");
    } else {
        assert_finished(&server, ChangePhase::RolledBack);
        assert_eq!(picture(&server, OLD), before, "{writes} writes, seed {seed}");
        assert!(!exists(&server, NEW) && !exists(&server, REST));
        assert_eq!(placed(&server, WAITING).len(), 0, "{writes} writes, seed {seed}");
    }
    phase
}
