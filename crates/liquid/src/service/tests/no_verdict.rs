//! What keeps a request from being decided: a reason for callers that take one, an error for others.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_cluster::testing::{doubtful, failing};
use berth_core::ClusterName;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommittedResource, labels, names, testing};
use berth_telemetry::clock::{ClockSkew, ComparedClock};
use berth_telemetry::config::Pause;
use serde_json::json;
use tokio::time::Instant;

use super::setting::*;
use crate::service::Settings;

/// All three kinds of requests get no verdict, for this reason.
async fn nothing_is_decided(setting: &Setting, why: &str) {
    let grown = |before, status| {
        body((1, before), &json!([{ "uuid": UUID, "oldStatus": "confirmed", "newStatus": status, "amount": 2 }]))
    };
    let (confirming, other) = (grown(2, "confirmed"), grown(1, "confirmed"));
    let seen = setting.ask(&confirming).await;
    assert!(seen.json()["retryAt"].is_string() && seen.text.contains(why), "{}", seen.text);
    let seen = setting.ask(&as_dry_run(confirming)).await;
    assert!(seen.json()["retryAt"].is_string() && seen.text.contains(why), "{}", seen.text);
    let seen = setting.ask(&other).await;
    assert_eq!((seen.status, seen.retry_after()), (503, Some("5")), "{}", seen.text);
    assert!(seen.text.contains(why), "{}", seen.text);
}

fn stored() -> CommittedResource {
    testing::commitment(UUID, "480Gi")
}

fn key() -> ObjectKey {
    ObjectKey::new(ClusterName::home(), names::commitment(UUID))
}

#[tokio::test(start_paused = true)]
async fn a_paused_commitment_is_not_changed() {
    let setting = setting();
    let mut paused = stored();
    paused.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
    setting.store_commitment(&paused);
    nothing_is_decided(&setting, "it is paused by an operator").await;
    assert!(setting.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sold_in_a_paused_zone() {
    let pause = Pause { zones: [testing::ZONE.to_owned()].into(), ..Pause::default() };
    let clock = berth_telemetry::clock::TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap());
    let setting = with(Settings::default(), pause, Arc::new(clock));
    assert!(setting.ask(&sale()).await.reason().contains("it is paused by an operator"));
    nothing_is_decided(&setting, "it is paused by an operator").await;
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_is_being_deleted_is_not_changed() {
    let setting = setting();
    let mut object = stored();
    object.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
    setting.store_commitment(&object);
    setting.server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    setting.world.deliver().unwrap();
    nothing_is_decided(&setting, "it is being deleted").await;
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_a_failed_change_holds_is_not_changed_and_others_are() {
    let setting = setting();
    setting.store_commitment(&stored());
    let change = testing::commitment_change("one", &[UUID]);
    setting.server.create(&change).unwrap();
    setting.world.deliver().unwrap();
    setting.show(&change, ChangePhase::Failed);
    nothing_is_decided(&setting, "another change of it is not finished").await;
    let other = body((0, 2), &json!([{ "uuid": OTHER, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]));
    let asked = setting.begin(&other);
    let mut second = setting.created(2).await;
    if second.metadata.name == change.metadata.name {
        second = setting.created(1).await;
    }
    setting.show(&second, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_commitment_at_the_disruption_limit_is_not_changed() {
    let setting = setting();
    setting.store_commitment(&stored());
    limit_disruption(&setting, "HostMissing");
    nothing_is_decided(&setting, "too many slots of its zone are being moved").await;
}

fn limit_disruption(setting: &Setting, reason: &str) {
    let condition = json!([{ "type": "DisruptionLimited", "status": "True", "reason": reason, "message": "",
                             "lastTransitionTime": "2026-03-01T12:00:00Z" }]);
    let patch = json!({ "status": { "conditions": condition } });
    setting.server.edit_status::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
    setting.world.deliver().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_limes_names_is_changed_although_its_list_lacks_it() {
    let setting = setting();
    setting.store_commitment(&stored());
    limit_disruption(&setting, "UnknownToLimes");
    let grown = json!([{ "uuid": UUID, "oldStatus": "confirmed", "newStatus": "confirmed", "amount": 2 }]);
    let asked = setting.begin(&body((1, 1), &grown));
    let change = setting.created(1).await;
    setting.show(&change, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_decided_on_a_partial_read_or_in_doubt() {
    let setting = setting();
    setting.store_commitment(&stored());
    let (reservations, home) = (&setting.world.stores.reservations, ClusterName::home());
    failing(reservations, &home, Some("no route"));
    nothing_is_decided(&setting, "cannot be read at the moment").await;
    failing(reservations, &home, None);
    doubtful(&setting.world.stores.commitments, &key());
    nothing_is_decided(&setting, "its state cannot be read").await;
}

#[tokio::test(start_paused = true)]
async fn every_request_is_an_error_while_the_api_server_is_away() {
    let setting = setting();
    failing(&setting.world.stores.changes, &ClusterName::home(), Some("no route"));
    for request in [sale(), announcement(), as_dry_run(sale())] {
        setting.ask(&request).await.is(503, "the API server cannot be reached at the moment; try again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_depends_on_a_time_waits_for_a_trusted_clock() {
    let clock = ComparedClock(ClockSkew::default());
    let setting = with(Settings::default(), Pause::default(), Arc::new(clock));
    let mut object = stored();
    object.spec.end_time = Some(berth_crds::Time("2999-03-01T12:00:00Z".parse().unwrap()));
    setting.store_commitment(&object);
    nothing_is_decided(&setting, "the time is not known well enough").await;
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_and_a_wait_that_is_over_get_no_verdict() {
    let clock = berth_telemetry::clock::TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap());
    let settings = Settings { queue_length: 1, watch_timeout: Duration::from_secs(60), ..Settings::default() };
    let setting = with(settings, Pause::default(), Arc::new(clock));
    let first = setting.begin(&sale());
    setting.created(1).await;
    let second = setting.begin(&sale());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let started = Instant::now();
    let seen = setting.ask(&announcement()).await;
    seen.is(503, "other changes of this availability zone are under way, please retry later");
    assert_eq!((seen.retry_after(), started.elapsed()), (Some("5"), Duration::ZERO));
    let seen = second.await.unwrap();
    assert!(seen.json()["rejectionReason"].as_str().unwrap().starts_with("other changes"));
    assert!(started.elapsed() >= Duration::from_secs(9));
    first.abort();
}
