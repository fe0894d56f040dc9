//! The limits of the endpoint: sizes, slow clients, too many clients, disconnected clients.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use super::setting::{Setting, body, with};
use crate::server::{ApiLimits, PATH, router};

fn small(limits: ApiLimits) -> Setting {
    with(limits, None)
}

/// A body that begins and never ends.
fn endless(begin: &'static str) -> Request<Body> {
    let parts = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(begin.as_bytes()))]).chain(stream::pending());
    Request::post(PATH).body(Body::from_stream(parts)).unwrap()
}

fn parts(count: usize, size: usize) -> Request<Body> {
    let part = Bytes::from(vec![b' '; size]);
    let parts = stream::iter((0..count).map(move |_| Ok::<_, std::io::Error>(part.clone())));
    Request::post(PATH).body(Body::from_stream(parts)).unwrap()
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_whether_or_not_it_reports_it() {
    let setting = small(ApiLimits::default().with_body(1000));
    let declared = Request::post(PATH).header("content-length", "1001").body(Body::empty()).unwrap();
    setting.send(declared).await.is(413, "request body too large\n");
    setting.send(parts(11, 100)).await.is(413, "request body too large\n");
    assert_eq!(setting.send(parts(10, 100)).await.status, 400);
    assert_eq!(setting.post(" ".repeat(1000)).await.status, 400);
}

/// The listener serves other APIs as well, whose bodies are smaller.
#[tokio::test]
async fn the_limit_of_the_listener_does_not_hold_here() {
    let setting = small(ApiLimits::default());
    let body = format!("{{\"ignored\":\"{}\",\"pipeline\":\"listed\"}}", "x".repeat(20 << 20));
    let around = berth_http::Server::new("api").around(router(setting.api.clone()));
    let answer = around.oneshot(Request::post(PATH).body(Body::from(body)).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_the_callers_fault() {
    let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    let request = Request::post(PATH).body(Body::from_stream(broken)).unwrap();
    small(ApiLimits::default()).send(request).await.is(400, "failed to read request body\n");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let started = Instant::now();
    let seen = small(ApiLimits::default()).send(endless("{")).await;
    seen.is(408, "failed to read request body: it took too long to arrive\n");
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_at_the_same_time_wait_and_are_sent_away() {
    for limits in [ApiLimits { requests: 0, ..ApiLimits::default() }, ApiLimits { decodes: 0, ..ApiLimits::default() }]
    {
        let (setting, started) = (small(limits), Instant::now());
        let refused = setting.post(body("listed")).await;
        refused.is(503, "too many requests at the same time; try again\n");
        assert_eq!((refused.header("retry-after"), started.elapsed().as_secs()), ("1", 2));
        assert!(setting.counts("cortex_scheduler_api_request_duration_seconds_count{error=\"overloaded\""));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_whose_bodies_do_not_arrive_take_no_place_of_others() {
    let setting = small(ApiLimits { requests: 1, ..ApiLimits::default() });
    let other = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let started = Instant::now();
        (setting.post(body("listed")).await.status, started.elapsed())
    };
    let slow = futures::future::join_all((0..50).map(|_| setting.send(endless("{"))));
    let (slow, (status, took)) = tokio::join!(slow, other);
    assert!(slow.iter().all(|seen| seen.status == 408));
    assert_eq!((status, took.as_secs()), (200, 0));
}

#[tokio::test(start_paused = true)]
async fn a_large_body_is_admitted_only_when_there_is_memory_for_all_of_it() {
    let setting = small(ApiLimits { bodies: 3 << 20, ..ApiLimits::default().with_body(3 << 20) });
    let begin: &'static str = " ".repeat(1 << 20).leak();
    let second = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let part = Bytes::from(vec![b' '; 3 << 19]);
        let declared =
            |length: usize| Request::post(PATH).header("content-length", length).body(Body::from(part.clone()));
        (setting.send(declared(3 << 19).unwrap()).await.status, setting.send(declared(3 << 20).unwrap()).await.status)
    };
    let (_, statuses) = tokio::join!(setting.send(endless(begin)), second);
    assert_eq!(statuses, (400, 503), "1.5 MiB of the free 2 MiB, and 3 MiB");
}

/// Each large body could hold a MiB of the memory for all of them, and wait for the rest.
#[tokio::test(start_paused = true)]
async fn large_bodies_do_not_keep_small_ones_waiting() {
    let setting = small(ApiLimits::default());
    let begin: &'static str = " ".repeat(1 << 20).leak();
    for declared in [true, false] {
        let large = |_| {
            let mut request = endless(begin);
            if declared {
                request.headers_mut().insert("content-length", (8 << 20).into());
            }
            setting.send(request)
        };
        let small = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let started = Instant::now();
            (setting.post(body("listed")).await.status, started.elapsed())
        };
        let large = futures::future::join_all((0..60).map(large));
        let (large, (status, took)) = tokio::join!(large, small);
        assert_eq!((status, took.as_secs()), (200, 0), "{declared}");
        let slow = large.iter().filter(|seen| seen.status == 408).count();
        assert_eq!(slow, if declared { 2 } else { 60 }, "the others are refused when they may not begin");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_bound_together() {
    let setting = small(ApiLimits { bodies: 2500, ..ApiLimits::default().with_body(2000) });
    let begin: &'static str = " ".repeat(2000).leak();
    let second = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        (setting.post("{}").await, setting.post(" ".repeat(600)).await)
    };
    let (first, (fits, second)) = tokio::join!(setting.send(endless(begin)), second);
    assert_eq!((first.status, fits.status, second.status), (408, 400, 503));
    assert_eq!(setting.post(" ".repeat(2000)).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_has_gone_leaves_its_place() {
    let setting = small(ApiLimits { requests: 1, ..ApiLimits::default() });
    assert!(timeout(Duration::from_secs(1), setting.send(endless("{"))).await.is_err());
    assert!(setting.counts("berth_scheduler_api_requests_in_flight 0"));
    let started = Instant::now();
    assert_eq!(setting.post(body("listed")).await.status, 200);
    assert!(started.elapsed() < Duration::from_millis(10));
}
