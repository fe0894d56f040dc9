//! Dry runs, and the dry run before a change.

use std::time::Duration;

use berth_crds::testing;
use serde_json::json;
use tokio::time::sleep;

use super::setting::*;
use crate::service::DryRunVerdict;

const SHORT: &str = "insufficient capacity: 8/9 reservation slots could be placed";

fn rejected() -> DryRunVerdict {
    DryRunVerdict::Rejected(vec![(UUID.into(), SHORT.to_owned())])
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_that_fits_is_accepted_without_an_object() {
    let setting = setting();
    setting.ask(&as_dry_run(sale())).await.is(200, "{}");
    let asked = setting.stubs.dry_runs.lock();
    let proposed = &asked[0][0];
    assert_eq!((proposed.uuid.as_str(), proposed.object.is_none()), (UUID, true));
    assert!(proposed.after.as_ref().unwrap().allow_rejection);
    assert!(setting.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rejected_dry_run_names_its_probes() {
    let setting = setting();
    *setting.stubs.verdict.lock() = rejected();
    let reason = setting.ask(&as_dry_run(sale())).await.reason();
    assert_eq!(reason, format!("dry run: 1 probe(s) rejected:\n- dryrun-9f31c0de-0: {SHORT}"));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_does_not_wait_in_the_queue() {
    let setting = setting();
    let _asked = setting.begin(&sale());
    setting.created(1).await;
    let other = body((0, 2), &json!([{ "uuid": OTHER, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]));
    setting.ask(&as_dry_run(other)).await.is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_resource_that_grows_is_the_reason_of_a_dry_run() {
    let setting = setting();
    let mut request = as_dry_run(sale());
    let changes = request["byProject"][testing::PROJECT]["byResource"][RAM].take();
    request["byProject"][testing::PROJECT]["byResource"] = json!({ "hw_version_gp_v1_instances": changes });
    let expected = "{\"rejectionReason\":\"dry run: invalid resource name: hw_version_gp_v1_instances (only _ram and _cores \
                    resources are supported for commitments)\"}";
    setting.ask(&request).await.is(200, expected);
}

#[tokio::test(start_paused = true)]
async fn without_flavor_groups_a_dry_run_gets_a_reason_and_others_an_error() {
    let setting = setting();
    setting.server.delete::<berth_crds::Knowledge>("flavor-groups").unwrap();
    setting.world.deliver().unwrap();
    let seen = setting.ask(&as_dry_run(sale())).await;
    assert_eq!(seen.reason(), "dry run: caches not ready, please retry later");
    setting.ask(&sale()).await.is(503, "caches not ready, please retry later");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_does_not_fit_is_rejected_without_an_object_and_with_an_event() {
    let setting = setting();
    setting.store_commitment(&testing::commitment(UUID, "480Gi"));
    *setting.stubs.verdict.lock() = rejected();
    let grown =
        body((1, 2), &json!([{ "uuid": UUID, "oldStatus": "confirmed", "newStatus": "confirmed", "amount": 2 }]));
    let reason = setting.ask(&grown).await.reason();
    assert_eq!(reason, format!("1 commitment(s) failed to apply:\n- commitment {UUID}: {SHORT}"));
    sleep(Duration::from_millis(10)).await;
    assert!(setting.changes().is_empty());
    let calls = setting.server.calls();
    assert!(calls.iter().any(|call| call.contains("events")), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_needs_no_confirmation_is_not_tried_first() {
    let setting = setting();
    *setting.stubs.verdict.lock() = rejected();
    let asked = setting.begin(&announcement());
    let change = setting.created(1).await;
    assert!(!change.spec.requires_confirmation && !change.spec.items[0].after.as_ref().unwrap().allow_rejection);
    asked.abort();
    assert!(setting.stubs.dry_runs.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_scheduler_waits_for_is_not_shown_to_callers() {
    let setting = setting();
    *setting.stubs.verdict.lock() = DryRunVerdict::Undecided(UUID.into(), "host secret-1 cannot be read".to_owned());
    for request in [sale(), as_dry_run(sale())] {
        let reason = setting.ask(&request).await.reason();
        assert!(reason.contains("its capacity is not fully known") && !reason.contains("secret"), "{reason}");
    }
    assert!(setting.changes().is_empty());
}
