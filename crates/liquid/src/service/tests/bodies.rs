//! Bodies: what is refused, and that nothing in them makes the service fail.

use std::time::Duration;

use axum::http::HeaderMap;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::testing;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::setting::*;
use crate::service::Settings;

#[tokio::test(start_paused = true)]
async fn checks_are_made_in_their_order() {
    let setting = setting();
    setting
        .send("{", HeaderMap::new())
        .await
        .is(400, "Invalid request body: EOF while parsing an object at line 1 column 1");
    setting.ask(&json!({})).await.is(400, "availability zone is required");
    assert_eq!(setting.ask(&json!({ "az": "any" })).await.status, 400);
    let mut stale = sale();
    stale["infoVersion"] = 1_772_439_000.into();
    let text = "Version mismatch: request version 1772439000, current version 1772439300. Please refresh and retry.";
    setting.ask(&stale).await.is(409, text);
    *setting.stubs.version.lock() = None;
    setting.ask(&sale()).await.is(503, "caches not ready, please retry later");
    assert!(setting.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failed_check_is_a_reason_or_an_error_and_a_malformed_request_always_an_error() {
    let setting = setting();
    let of = |uuid: &str, status: &str, after| {
        body((0, after), &json!([{ "uuid": uuid, "oldStatus": null, "newStatus": status, "amount": 1 }]))
    };
    let text = "commitment a_b: unexpected commitment format";
    assert_eq!(setting.ask(&of("a_b", "confirmed", 1)).await.json(), json!({ "rejectionReason": text }));
    setting.ask(&of("a_b", "pending", 0)).await.is(400, text);
    let huge =
        |status: &str, after| body((0, after), &json!([{ "uuid": UUID, "newStatus": status, "amount": u64::MAX }]));
    let text = format!("amount of commitment {UUID} is out of range");
    for request in [huge("confirmed", 1), huge("pending", 0), as_dry_run(huge("confirmed", 1))] {
        setting.ask(&request).await.is(400, &text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_commitment_of_another_zone_or_another_case_is_refused() {
    let setting = setting();
    let mut stored = testing::commitment(UUID, "480Gi");
    stored.spec.availability_zone = "eu-test-1b".to_owned();
    setting.store_commitment(&stored);
    setting.ask(&sale()).await.is(400, &format!("commitment {UUID} is in availability zone eu-test-1b"));
    let mut request = sale();
    let upper = UUID.to_uppercase();
    request["byProject"][testing::PROJECT]["byResource"][RAM]["commitments"][0]["uuid"] = upper.clone().into();
    setting.ask(&request).await.is(400, &format!("commitment {upper} differs from an existing one only in case"));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_commitments_is_accepted() {
    let setting = setting();
    let request = json!({ "az": testing::ZONE, "infoVersion": VERSION, "byProject": {} });
    setting.ask(&request).await.is(200, "{}");
    let mut other_zone = request;
    other_zone["az"] = "no-such-zone".into();
    setting.ask(&other_zone).await.is(200, "{}");
    let line = "cortex_committed_resource_change_api_commitment_changes_total{az=\"other\",dry_run=\"false\",result=\"accepted\"} 0";
    assert!(setting.counts(line));
}

#[tokio::test(start_paused = true)]
async fn more_items_than_a_change_can_have_are_refused() {
    let setting = setting();
    let item = |number: usize| json!({ "uuid": format!("{number:08}"), "newStatus": "pending", "amount": 1 });
    let request = body((0, 0), &(0..10_000).map(item).collect::<Vec<_>>().into());
    setting.ask(&request).await.is(400, "request is too large to be applied in one step");
}

#[tokio::test(start_paused = true)]
async fn amounts_are_in_published_units_and_a_new_info_refuses_requests_that_wait() {
    let setting = setting();
    *setting.stubs.ram_unit_gib.lock() = 240;
    let first = setting.begin(&sale());
    let change = setting.created(1).await;
    assert_eq!(change.spec.items[0].after.as_ref().unwrap().amount.as_str(), "480Gi");
    let second = setting.begin(&announcement());
    tokio::time::sleep(Duration::from_millis(1)).await;
    *setting.stubs.version.lock() = Some(VERSION + 1);
    setting.show(&change, ChangePhase::Accepted);
    assert_eq!((first.await.unwrap().status, second.await.unwrap().status), (200, 409));
}

/// Values that are near those of a request.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(vec![
            "confirmed",
            "pending",
            "superseded",
            "expired",
            UUID,
            OTHER,
            RAM,
            testing::ZONE,
            ""
        ])
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("2027-03-03T00:00:00Z")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

/// Requests in which some members have any values.
fn requests() -> impl Strategy<Value = Value> {
    let member = prop::sample::select(vec![
        "uuid",
        "oldStatus",
        "newStatus",
        "amount",
        "confirmBy",
        "expiresAt",
        "oldExpiresAt",
    ]);
    let changed = prop::collection::vec((member, values()), 0..3);
    let top = prop::option::of((prop::sample::select(vec!["az", "dryRun", "infoVersion", "byProject"]), values()));
    let base = prop::sample::select(vec![sale(), announcement(), deletion()]);
    (base, any::<bool>(), changed, top).prop_map(|(mut request, dry_run, changed, top)| {
        request["dryRun"] = dry_run.into();
        for (member, value) in changed {
            request["byProject"][testing::PROJECT]["byResource"][RAM]["commitments"][0][member] = value;
        }
        if let Some((member, value)) = top {
            request[member] = value;
        }
        request
    })
}

/// No controller executes changes, so each that begins is given up.
fn answer_to(body: String) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = berth_telemetry::clock::TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap());
        let settings = Settings { watch_timeout: Duration::from_millis(10), ..Settings::default() };
        let setting = with(settings, berth_telemetry::config::Pause::default(), std::sync::Arc::new(clock));
        setting.store_commitment(&testing::commitment(OTHER, "480Gi"));
        setting.send(body, HeaderMap::new()).await
    })
}

fn is_documented(seen: &Seen) -> bool {
    let given_up = seen.status == 503 && seen.text.starts_with("the change was not completed in time");
    matches!(seen.status, 200 | 400 | 409) || given_up
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_request_has_a_documented_answer(request in requests()) {
        let seen = answer_to(request.to_string());
        prop_assert!(is_documented(&seen), "{seen:?}");
    }

    #[test]
    fn any_json_has_a_documented_answer(value in values()) {
        prop_assert!(is_documented(&answer_to(value.to_string())));
    }
}
