//! What the phases of a change are answered with.

use std::time::Duration;

use berth_crds::commitment_change::{ChangePhase, RollBackCause};
use berth_crds::{CommittedResource, labels, names, testing};
use berth_testkit::{Fault, Verb, path_of, seeds};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::setting::*;

const TIMEOUT: &str =
    "timeout reached while processing commitment changes: timeout after 10s waiting for 1 CommittedResource CRD(s)";

#[tokio::test(start_paused = true)]
async fn an_accepted_change_is_answered_with_an_empty_object() {
    let setting = setting();
    let asked = setting.begin(&sale());
    let change = setting.created(1).await;
    assert_eq!(change.metadata.finalizers, Some(vec![labels::FINISH_CHANGE.to_owned()]));
    assert_eq!(change.metadata.labels.as_ref().unwrap()[labels::AZ], testing::ZONE);
    assert_eq!(change.spec.request_id, "committed-resource-9f31c0de-77aa");
    assert_eq!(change.spec.deadline.0.to_string(), "2026-03-01T12:00:10Z");
    assert!(change.spec.requires_confirmation);
    let after = change.spec.items[0].after.as_ref().unwrap();
    assert_eq!(
        (after.amount.as_str(), after.allow_rejection, after.domain_id.as_str()),
        ("960Gi", true, testing::DOMAIN)
    );
    setting.show(&change, ChangePhase::Applying);
    setting.show(&change, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
    let line = format!(
        "cortex_committed_resource_change_api_commitment_changes_total{{az=\"{}\",dry_run=\"false\",result=\"accepted\"}} 1",
        testing::ZONE
    );
    assert!(setting.counts(&line), "{}", setting.metrics.render());
}

#[tokio::test(start_paused = true)]
async fn the_object_has_what_is_needed_to_undo_the_change() {
    let setting = setting();
    let mut stored = testing::commitment(UUID, "480Gi");
    stored.metadata.annotations = Some([("note".to_owned(), "kept".to_owned())].into());
    stored.status.get_or_insert_default().accepted_spec = Some(stored.spec.clone());
    setting.store_commitment(&stored);
    let mut slot = testing::slot(UUID, 0);
    slot.spec.target_host = Some("host-1".to_owned());
    setting.server.create(&slot).unwrap();
    setting.world.deliver().unwrap();
    let request =
        body((1, 2), &json!([{ "uuid": UUID, "oldStatus": "confirmed", "newStatus": "confirmed", "amount": 2 }]));
    let asked = setting.begin(&request);
    let change = setting.created(1).await;
    let item = &change.spec.items[0];
    let before = item.before.as_ref().unwrap();
    let object: CommittedResource = setting.server.get(&names::commitment(UUID)).unwrap();
    assert_eq!((&before.spec, before.accepted_spec.as_ref()), (&object.spec, Some(&object.spec)));
    assert_eq!(Some(before.generation), object.metadata.generation);
    assert_eq!((Some(&before.uid), before.annotations["note"].as_str()), (object.metadata.uid.as_ref(), "kept"));
    assert_eq!(
        (item.slots[0].name.as_str(), item.slots[0].target_host.as_deref()),
        (&*seeds::slot_name(UUID, 0), Some("host-1"))
    );
    asked.abort();
}

#[tokio::test(start_paused = true)]
async fn slots_that_take_too_much_space_are_compressed() {
    let setting = setting();
    setting.store_commitment(&testing::commitment(UUID, "480Gi"));
    for number in 0..10_000 {
        setting.server.create(&testing::slot(UUID, number)).unwrap();
    }
    setting.world.deliver().unwrap();
    let asked = setting.begin(&deletion());
    let change = setting.created(1).await;
    assert!(change.spec.slots_gzip.is_some() && change.spec.items[0].slots.is_empty());
    assert_eq!(change.slots_before(0).len(), 10_000);
    asked.abort();
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_even_compressed_is_refused_before_any_write() {
    let setting = setting();
    let mut stored = testing::commitment(UUID, "480Gi");
    // Only slots are compressed.
    let note = "x".repeat(1_100_000);
    stored.metadata.annotations = Some([("note".to_owned(), note)].into());
    setting.store_commitment(&stored);
    setting.ask(&deletion()).await.is(400, "request is too large to be applied in one step");
    assert!(setting.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_answered_when_the_change_is_undone_or_after_five_seconds() {
    let text = "1 commitment(s) failed to apply:\n- commitment x: insufficient capacity: 1/2 reservation slots could be placed";
    for is_undone in [true, false] {
        let setting = setting();
        let asked = setting.begin(&sale());
        let change = setting.created(1).await;
        setting.show_undone(&change, false, RollBackCause::Rejected, text);
        let started = Instant::now();
        sleep(Duration::from_secs(2)).await;
        assert!(!asked.is_finished());
        if is_undone {
            setting.show_undone(&change, true, RollBackCause::Rejected, text);
        }
        let seen = asked.await.unwrap();
        assert_eq!(seen.json()["rejectionReason"], text);
        assert_eq!(started.elapsed().as_secs(), if is_undone { 2 } else { 5 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_a_reason_for_a_caller_that_waits_for_confirmation_and_an_error_for_others() {
    for (request, is_confirming) in [(sale(), true), (announcement(), false)] {
        let setting = setting();
        let asked = setting.begin(&request);
        let change = setting.created(1).await;
        setting.show(&change, ChangePhase::Applying);
        sleep(Duration::from_secs(10)).await;
        setting.show_undone(
            &change,
            false,
            RollBackCause::Timeout,
            "timeout: 1 commitment(s) were not decided in time",
        );
        setting.show_undone(&change, true, RollBackCause::Timeout, "timeout: 1 commitment(s) were not decided in time");
        let seen = asked.await.unwrap();
        if is_confirming {
            assert_eq!(seen.json()["rejectionReason"], TIMEOUT);
        } else {
            seen.is(503, "the change was not completed in time and is undone; try again");
        }
        assert!(setting.counts("cortex_committed_resource_change_api_timeouts_total{dry_run=\"false\"} 1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_executed_is_given_up_after_its_deadline() {
    let setting = setting();
    let started = Instant::now();
    let asked = setting.begin(&sale());
    let change = setting.created(1).await;
    assert_eq!(asked.await.unwrap().status, 503);
    assert_eq!(started.elapsed().as_secs(), 15);
    assert!(setting.abandoned(&change));
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_the_request_is_evaluated_again_as_a_new_change_with_the_same_deadline() {
    let setting = setting();
    let asked = setting.begin(&sale());
    let first = setting.created(1).await;
    sleep(Duration::from_secs(3)).await;
    setting.show_undone(&first, true, RollBackCause::Conflict, "Conflict: a commitment was changed by another writer");
    let second = setting.created(2).await;
    assert_ne!(first.metadata.name, second.metadata.name);
    assert_eq!(first.spec.deadline, second.spec.deadline);
    assert_eq!(setting.stubs.dry_runs.lock().len(), 2);
    setting.show(&second, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_second_conflict_gets_no_verdict() {
    for (request, is_confirming) in [(sale(), true), (announcement(), false)] {
        let setting = setting();
        let asked = setting.begin(&request);
        for number in 1..=2 {
            let change = setting.created(number).await;
            setting.show_undone(
                &change,
                true,
                RollBackCause::Conflict,
                "Conflict: a commitment was changed by another writer",
            );
        }
        let seen = asked.await.unwrap();
        assert!(seen.text.contains("was changed by another client"), "{}", seen.text);
        assert_eq!(seen.status, if is_confirming { 200 } else { 503 });
        assert_eq!(setting.changes().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_abandons_its_change_and_gives_its_turn_to_the_next() {
    let setting = setting();
    let asked = setting.begin(&sale());
    let change = setting.created(1).await;
    assert!(!setting.abandoned(&change));
    asked.abort();
    sleep(Duration::from_millis(1)).await;
    assert!(setting.abandoned(&change));
    let other = body((0, 2), &json!([{ "uuid": OTHER, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]));
    let next = setting.begin(&other);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(setting.changes().len(), 1, "the abandoned change is still executed");
    setting.show_undone(&change, true, RollBackCause::Abandoned, "the caller has gone away");
    let second = setting.created(2).await;
    setting.show(&second, ChangePhase::Accepted);
    next.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_while_its_change_is_created_does_not_let_the_next_one_begin() {
    let setting = setting();
    let slow = Fault::Slow { before: Duration::from_secs(1), after: Duration::ZERO };
    setting.server.fail(Verb::Create, &path_of::<berth_crds::CommitmentChange>(""), 0, slow);
    let asked = setting.begin(&sale());
    sleep(Duration::from_millis(500)).await;
    asked.abort();
    let other = body((0, 2), &json!([{ "uuid": OTHER, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]));
    let next = setting.begin(&other);
    sleep(Duration::from_secs(1)).await;
    let change = setting.created(1).await;
    assert!(setting.abandoned(&change));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(setting.changes().len(), 1, "the next request waits for the end of the change");
    setting.show_undone(&change, true, RollBackCause::Abandoned, "the caller has gone away");
    let second = setting.created(2).await;
    setting.show(&second, ChangePhase::Accepted);
    next.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn an_accepted_deletion_is_answered_when_nothing_is_left_to_do_or_after_a_second() {
    for is_finished in [true, false] {
        let setting = setting();
        let mut stored = testing::commitment(UUID, "480Gi");
        stored.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
        setting.store_commitment(&stored);
        let asked = setting.begin(&deletion());
        let change = setting.created(1).await;
        assert!(change.spec.items[0].after.is_none() && !change.spec.requires_confirmation);
        setting.show_accepted(&change);
        let started = Instant::now();
        sleep(Duration::from_millis(400)).await;
        assert!(!asked.is_finished());
        setting.server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
        setting.world.deliver().unwrap();
        sleep(Duration::from_millis(400)).await;
        assert!(!asked.is_finished(), "the next request would find an open change");
        if is_finished {
            setting.show(&change, ChangePhase::Accepted);
        }
        asked.await.unwrap().is(200, "{}");
        assert_eq!(started.elapsed() >= Duration::from_secs(1), !is_finished);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_after_the_acceptance_does_not_hold_up_the_zone() {
    let setting = setting();
    setting.store_commitment(&testing::commitment(UUID, "480Gi"));
    let asked = setting.begin(&deletion());
    let change = setting.created(1).await;
    setting.show_accepted(&change);
    asked.abort();
    let other = body((0, 2), &json!([{ "uuid": OTHER, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]));
    let next = setting.begin(&other);
    let second = setting.created(2).await;
    setting.show(&second, ChangePhase::Accepted);
    next.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_deleted_gets_no_verdict() {
    let setting = setting();
    let asked = setting.begin(&announcement());
    let change = setting.created(1).await;
    setting.show_undone(&change, true, RollBackCause::Deleted, "the change was deleted");
    asked.await.unwrap().is(503, "the change was stopped by an operator, please retry later");
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_says_is_not_shown_to_callers() {
    let setting = setting();
    let asked = setting.begin(&sale());
    let change = setting.created(1).await;
    setting.show_undone(
        &change,
        true,
        RollBackCause::Refused,
        "cannot create x: the API server refuses it (422): secret",
    );
    asked.await.unwrap().is(500, "internal error, request id 9f31c0de-77aa");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_cannot_be_created_is_503_while_the_api_server_is_away() {
    for fault in [Fault::Unavailable, Fault::CutBefore, Fault::LoseAnswer] {
        let setting = setting();
        setting.server.fail(Verb::Create, &path_of::<berth_crds::CommitmentChange>(""), 0, fault);
        setting.ask(&sale()).await.is(503, "the API server cannot be reached at the moment; try again");
        let is_unknown = fault == Fault::LoseAnswer;
        assert_eq!(setting.changes().len(), usize::from(is_unknown), "{fault:?}");
        if let Some(change) = setting.changes().first() {
            assert!(setting.abandoned(change), "it is undone");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_that_was_applied_is_accepted_without_a_change() {
    let setting = setting();
    let mut stored = testing::commitment(UUID, "960Gi");
    stored.spec.allow_rejection = true;
    stored.spec.start_time = Some(berth_crds::Time("2026-03-01T11:00:00Z".parse().unwrap()));
    stored.status.get_or_insert_default().accepted_spec = Some(stored.spec.clone());
    setting.store_commitment(&stored);
    setting.ask(&sale()).await.is(200, "{}");
    assert!(setting.changes().is_empty() && setting.stubs.dry_runs.lock().is_empty());
    // A deletion of what does not exist is nothing to do either.
    let gone = body((1, 0), &json!([{ "uuid": OTHER, "oldStatus": "confirmed", "newStatus": null, "amount": 1 }]));
    setting.ask(&gone).await.is(200, "{}");
    assert!(setting.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_not_agreed_to_is_asked_again() {
    let setting = setting();
    let mut stored = testing::commitment(UUID, "960Gi");
    stored.spec.allow_rejection = true;
    stored.spec.start_time = Some(berth_crds::Time("2026-03-01T11:00:00Z".parse().unwrap()));
    setting.store_commitment(&stored);
    let asked = setting.begin(&sale());
    let change = setting.created(1).await;
    setting.show(&change, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_move_to_another_project_is_one_item() {
    let setting = setting();
    setting.store_commitment(&testing::commitment(UUID, "480Gi"));
    let mut request = deletion();
    let target = json!({ "byResource": { RAM: {
        "totalConfirmedBefore": 0, "totalConfirmedAfter": 1,
        "commitments": [{ "uuid": UUID, "oldStatus": null, "newStatus": "confirmed", "amount": 1 }],
    } } });
    request["byProject"]["a1d0c0ffee5e4d0f8a6b2c3d4e5f6072"] = target;
    let asked = setting.begin(&request);
    let change = setting.created(1).await;
    assert_eq!(change.spec.items.len(), 1);
    assert_eq!(change.spec.items[0].after.as_ref().unwrap().project_id, "a1d0c0ffee5e4d0f8a6b2c3d4e5f6072");
    asked.abort();
}
