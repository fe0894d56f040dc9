//! Reviews by a scripted API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::testing::{Reply, Request, scripted};

const METRICS: &str = "/metrics";

/// An API server that knows the tokens `prometheus` and `visitor`, and lets the first one read metrics.
fn knowing(request: &Request) -> Reply {
    let spec = &request.body["spec"];
    match request.path.as_str() {
        "/apis/authentication.k8s.io/v1/tokenreviews" => {
            let name = spec["token"].as_str().unwrap();
            let known = ["prometheus", "visitor"].contains(&name);
            let user = json!({ "username": name, "uid": "u", "groups": ["g"], "extra": { "e": ["x"] } });
            let status =
                if known { json!({ "authenticated": true, "user": user }) } else { json!({ "error": "invalid" }) };
            reviewed(&status)
        }
        "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
            let who = json!([spec["uid"], spec["groups"], spec["extra"]]);
            assert_eq!(who, json!(["u", ["g"], { "e": ["x"] }]), "everything that is known about the user");
            let asked = &spec["nonResourceAttributes"];
            let allowed = spec["user"] == "prometheus" && *asked == json!({ "path": METRICS, "verb": "get" });
            reviewed(&json!({ "allowed": allowed }))
        }
        other => panic!("{other}"),
    }
}

fn reviewed(status: &Value) -> Reply {
    Reply::Json(201, json!({ "metadata": {}, "spec": { "token": "" }, "status": status }))
}

/// Reviews with the number of calls to the API server.
fn counted(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (AccessReviews, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let cluster = scripted(move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        script(request)
    });
    (AccessReviews::new(&cluster), calls)
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_allowed_what_the_api_server_allows_and_asked_about_once_in_ten_seconds() {
    let (reviews, calls) = counted(knowing);
    for _ in 0..3 {
        assert_eq!(reviews.review("prometheus", METRICS).await, AccessVerdict::Allowed);
        assert_eq!(reviews.review("prometheus", "/check").await, AccessVerdict::Forbidden);
        assert_eq!(reviews.review("visitor", METRICS).await, AccessVerdict::Forbidden);
        assert_eq!(reviews.review("guessed", METRICS).await, AccessVerdict::Unauthenticated);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 7);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(reviews.review("prometheus", METRICS).await, AccessVerdict::Allowed);
    assert_eq!(calls.load(Ordering::Relaxed), 9);
}

/// Makes a reply, and a part of what is said of it.
type Failure = (fn() -> Reply, &'static str);

#[tokio::test(start_paused = true)]
async fn without_an_answer_no_caller_is_allowed_and_the_next_request_asks_again() {
    let forbidden = || {
        let why = "subjectaccessreviews is forbidden: User \"b\" cannot create resource \"subjectaccessreviews\"";
        Reply::error(403, "Forbidden", why)
    };
    let cases: [Failure; 4] = [
        (|| Reply::Hang, "did not answer within 5 s"),
        (|| Reply::Refused, "does not answer: "),
        (|| Reply::error(500, "InternalError", "storage is away"), "answers 500: storage is away"),
        (forbidden, "grant it with a ClusterRole"),
    ];
    for (reply, why) in cases {
        for fails in ["tokenreviews", "subjectaccessreviews"] {
            let (reviews, calls) =
                counted(move |request| if request.path.ends_with(fails) { reply() } else { knowing(request) });
            for _ in 0..2 {
                let started = Instant::now();
                let verdict = reviews.review("prometheus", METRICS).await;
                assert!(started.elapsed() <= DEADLINE);
                assert!(matches!(&verdict, AccessVerdict::Unknown(text) if text.contains(why)), "{verdict:?}");
            }
            assert_eq!(calls.load(Ordering::Relaxed), if fails == "tokenreviews" { 2 } else { 4 });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_callers_wait_for_few_reviews_and_not_longer_than_one_does() {
    let (reviews, calls) = counted(|_| Reply::Hang);
    let reviews = Arc::new(reviews);
    let started = Instant::now();
    let callers = (0..100).map(|number| {
        let reviews = reviews.clone();
        tokio::spawn(async move { reviews.review(&format!("guess-{number}"), METRICS).await })
    });
    let callers = futures::future::join_all(callers);
    tokio::time::sleep(DEADLINE / 2).await;
    assert_eq!(calls.load(Ordering::Relaxed), AT_ONCE);
    for verdict in callers.await {
        assert!(matches!(verdict.unwrap(), AccessVerdict::Unknown(_)));
    }
    assert_eq!(started.elapsed(), DEADLINE);
}

#[tokio::test]
async fn what_cannot_be_a_token_or_a_path_of_ours_is_not_asked_about() {
    let (reviews, calls) = counted(knowing);
    assert_eq!(reviews.review("", METRICS).await, AccessVerdict::Unauthenticated);
    assert_eq!(reviews.review(&"x".repeat(LONGEST_TOKEN + 1), METRICS).await, AccessVerdict::Unauthenticated);
    let path = "/".repeat(LONGEST_PATH + 1);
    assert_eq!(reviews.review("prometheus", &path).await, AccessVerdict::Forbidden);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}
