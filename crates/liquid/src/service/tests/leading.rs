//! Requests of replicas that do not lead.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use berth_crds::commitment_change::ChangePhase;
use berth_http::Role;
use berth_http::forwarder::{DEADLINE_MS, FORWARDED};
use tokio::time::{Instant, sleep};

use super::setting::*;
use crate::server::AnsweredChange;

const LEADER: &str = "http://10.0.0.7:8080";

fn follow(setting: &Setting, leader: Option<&str>) {
    *setting.stubs.role.lock() = Role::Follower { leader: leader.map(str::to_owned) };
}

#[tokio::test(start_paused = true)]
async fn another_replica_forwards_with_path_request_id_and_the_time_that_is_left() {
    let setting = setting();
    follow(&setting, Some(LEADER));
    setting.ask(&sale()).await.is(200, "from the leader");
    setting.ask(&as_dry_run(sale())).await.is(200, "from the leader");
    let forwarded = setting.stubs.forwarded.lock();
    let (url, headers, left) = &forwarded[0];
    assert_eq!(url, "http://10.0.0.7:8080/commitments/v1/change-commitments");
    assert_eq!((headers["x-request-id"].to_str().unwrap(), left.as_secs()), ("9f31c0de-77aa", 35));
    assert!(setting.changes().is_empty() && setting.stubs.dry_runs.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_replica_counts_what_the_leader_has_decided() {
    let setting = setting();
    follow(&setting, Some(LEADER));
    for (body, is_rejected) in [("{}\n", false), ("{\"rejectionReason\":\"no capacity\"}\n", true)] {
        *setting.stubs.leader_answer.lock() = Some((StatusCode::OK, false, body));
        for (request, is_dry_run) in [(sale(), false), (as_dry_run(sale()), true)] {
            let seen = setting.ask(&request).await;
            seen.is(200, body.trim_end());
            assert_eq!(seen.answered, Some(AnsweredChange { is_dry_run, is_rejected }));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_leader_a_request_waits_for_ten_seconds() {
    let setting = setting();
    follow(&setting, None);
    let started = Instant::now();
    let seen = setting.ask(&sale()).await;
    seen.is(503, "no replica leads at the moment; try again");
    assert_eq!((seen.retry_after(), started.elapsed().as_secs()), (Some("2"), 10));
    assert!(setting.stubs.searches.load(Ordering::Relaxed) > 10);
    let mut headers = HeaderMap::new();
    headers.insert(DEADLINE_MS, HeaderValue::from_static("300"));
    let started = Instant::now();
    assert_eq!(setting.send(sale().to_string(), headers).await.status, 503);
    assert!(started.elapsed() <= Duration::from_millis(301));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_is_executed_here_when_this_replica_begins_to_lead() {
    let setting = setting();
    follow(&setting, Some(LEADER));
    *setting.stubs.leader_answer.lock() = Some((StatusCode::SERVICE_UNAVAILABLE, true, ""));
    let asked = setting.begin(&sale());
    sleep(Duration::from_secs(1)).await;
    assert!(setting.stubs.forwarded.lock().len() > 5);
    *setting.stubs.role.lock() = Role::Leader;
    let mut tries = 0;
    while setting.changes().is_empty() && tries < 10 {
        tries += 1;
        sleep(Duration::from_millis(100)).await;
    }
    let change = setting.created(1).await;
    setting.show(&change, ChangePhase::Accepted);
    asked.await.unwrap().is(200, "{}");
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_request_is_not_forwarded_again() {
    let setting = setting();
    follow(&setting, Some(LEADER));
    let mut headers = HeaderMap::new();
    headers.insert(FORWARDED, HeaderValue::from_static("1"));
    let seen = setting.send(sale().to_string(), headers).await;
    seen.is(503, "this replica has lost the leadership; try again");
    assert_eq!((seen.retry_after(), seen.headers["x-berth-not-decided"].to_str().unwrap()), (Some("2"), "1"));
    assert!(setting.stubs.forwarded.lock().is_empty());
}
