//! Which replica decides.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use tokio::time::Instant;

use super::setting::{UNANSWERED, body, read_only, setting, spec, with};
use crate::server::{ApiLimits, DEADLINE_MS, FORWARDED, PATH};

const LEADER: Option<&str> = Some("http://10.0.0.7:8080");

#[tokio::test]
async fn what_changes_something_goes_to_the_leader_unchanged() {
    let (setting, request) = (setting(), body("nope").to_string());
    setting.follow(LEADER);
    setting.post(&request).await.is(200, "{\"hosts\":[\"elsewhere\"]}\n");
    let forwarded = setting.forwarded.lock();
    let (leader, body, left) = &forwarded[0];
    assert_eq!((leader.as_str(), body.as_ref()), ("http://10.0.0.7:8080", request.as_bytes()));
    assert!(*left > Duration::from_secs(24) && *left <= Duration::from_secs(25), "{left:?}");
    assert!(setting.api.backend().outcomes.lock().is_empty());
}

#[tokio::test]
async fn what_changes_nothing_is_answered_by_every_replica() {
    let (setting, mut request) = (setting(), body("listed"));
    request["options"] = read_only();
    for leader in [None, LEADER] {
        setting.follow(leader);
        setting.post(&request).await.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
    }
    assert!(setting.forwarded.lock().is_empty());
}

#[tokio::test]
async fn what_is_no_request_is_not_forwarded() {
    let setting = setting();
    setting.follow(LEADER);
    assert_eq!(setting.post("{").await.status, 400);
    assert_eq!(setting.post("{}").await.status, 400);
    assert!(setting.forwarded.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_leader_a_request_waits_for_one_for_five_seconds() {
    let setting = setting();
    setting.follow(None);
    let started = Instant::now();
    let seen = setting.post(body("listed")).await;
    seen.is(503, "no replica leads at the moment; try again\n");
    assert_eq!((seen.header("retry-after"), started.elapsed().as_secs()), ("1", 5));
    let short = Request::post(PATH).header(DEADLINE_MS, "300").body(Body::from(body("listed").to_string())).unwrap();
    assert_eq!((setting.send(short).await.status, started.elapsed().as_secs()), (503, 5));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_goes_to_the_next_leader_or_is_decided_here() {
    for leader in [LEADER, None] {
        let setting = setting();
        setting.follow(None);
        let elected = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            match leader {
                Some(_) => setting.follow(leader),
                None => setting.lead(),
            }
        };
        let (started, request) = (Instant::now(), body("listed"));
        let (seen, ()) = tokio::join!(setting.post(request), elected);
        let hosts =
            if leader.is_some() { "{\"hosts\":[\"elsewhere\"]}\n" } else { "{\"hosts\":[\"a\",\"b\",\"c\"]}\n" };
        seen.is(200, hosts);
        assert!(started.elapsed() < Duration::from_millis(2200));
        assert!(setting.api.backend().leader_searches.load(Ordering::Relaxed) > 10, "the lease is read soon");
        assert_eq!(setting.forwarded.lock().len(), usize::from(leader.is_some()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_lead_any_more_is_asked_again_until_another_one_is_known() {
    let setting = with(ApiLimits::default(), Some((StatusCode::SERVICE_UNAVAILABLE, UNANSWERED)));
    setting.follow(LEADER);
    let elected = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        setting.lead();
    };
    let (seen, ()) = tokio::join!(setting.post(body("listed")), elected);
    seen.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
    assert!(setting.forwarded.lock().len() > 5);
    // Any other answer is final.
    let setting = with(ApiLimits::default(), Some((StatusCode::SERVICE_UNAVAILABLE, "overloaded\n")));
    setting.follow(LEADER);
    setting.post(body("listed")).await.is(503, "overloaded\n");
    assert_eq!(setting.forwarded.lock().len(), 1);
}

#[tokio::test]
async fn only_an_answer_with_a_claim_waits_until_the_claim_is_kept() {
    let (setting, mut question) = (setting(), body("listed"));
    question["options"] = read_only();
    let mut too_large = body("capacity");
    spec(&mut too_large)["flavor"]["nova_object.data"]["vcpus"] = serde_json::json!(99);
    for (request, kept) in [(question, 0), (too_large, 0), (body("listed"), 1)] {
        assert_eq!(setting.post(request).await.status, 200);
        assert_eq!(setting.api.backend().kept.load(Ordering::Relaxed), kept);
    }
}

#[tokio::test]
async fn a_forwarded_request_is_decided_here_or_not_at_all() {
    let setting = setting();
    let forwarded = || Request::post(PATH).header(FORWARDED, "1").body(Body::from(body("listed").to_string())).unwrap();
    assert_eq!(setting.send(forwarded()).await.status, 200);
    setting.follow(LEADER);
    let seen = setting.send(forwarded()).await;
    seen.is(503, "this replica has lost the leadership; try again\n");
    assert_eq!((seen.header("retry-after"), seen.header("x-berth-not-decided")), ("1", "1"));
    assert!(setting.forwarded.lock().is_empty());
}

#[tokio::test]
async fn the_leaders_refusal_is_passed_on_and_counted_as_such() {
    let setting = with(ApiLimits::default(), Some((StatusCode::NOT_FOUND, "nope\n")));
    setting.follow(LEADER);
    setting.post(body("nope")).await.is(404, "nope\n");
    let series = "cortex_scheduler_api_request_duration_seconds_count{error=\"answered by the leader\",method=\"POST\"";
    assert!(setting.counts(series));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_answer_costs_no_more_than_the_deadline() {
    let setting = with(ApiLimits::default(), None);
    setting.follow(LEADER);
    let started = tokio::time::Instant::now();
    setting.post(body("listed")).await.is(503, "no answer in time; try again\n");
    assert_eq!(started.elapsed().as_secs(), 25);
    let started = tokio::time::Instant::now();
    let short = Request::post(PATH).header(DEADLINE_MS, "300").body(Body::from(body("listed").to_string())).unwrap();
    assert_eq!(setting.send(short).await.status, 503);
    assert!(started.elapsed() < Duration::from_millis(400));
    assert!(setting.forwarded.lock()[1].2 <= Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_only_shortens_the_time() {
    let setting = with(ApiLimits::default(), None);
    setting.follow(LEADER);
    for reported in ["99999999", "-1", "soon", ""] {
        let request =
            Request::post(PATH).header(DEADLINE_MS, reported).body(Body::from(body("listed").to_string())).unwrap();
        let started = tokio::time::Instant::now();
        assert_eq!(setting.send(request).await.status, 503);
        assert_eq!(started.elapsed().as_secs(), 25, "{reported:?}");
    }
}
