//! Who is let in: each endpoint with each kind of caller, before anything else of the request counts.

use axum::http::HeaderValue;
use berth_http::LogReason;
use berth_http::forwarder::FORWARDED;
use berth_openstack::authentication::{Authentication, Caller, Unknown};
use tokio::time::Instant;

use super::*;

/// Knows a caller by its role, which is its token. `away` is not known at the moment, and `outdated` only for reads.
struct ByRole;

impl Authentication for ByRole {
    fn caller<'a>(&'a self, headers: &'a HeaderMap, _: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        let role = headers.get("x-auth-token").map(|token| token.to_str().unwrap());
        let caller = match role {
            None | Some("made-up") => Err(Unknown::Unauthorized),
            Some("away" | "outdated") => Err(Unknown::Unavailable("not now".to_owned())),
            Some(role) => Ok(with_role(role)),
        };
        async { caller }.boxed()
    }

    fn reader<'a>(&'a self, headers: &'a HeaderMap, until: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        match headers.get("x-auth-token").map(axum::http::HeaderValue::as_bytes) {
            Some(b"outdated") => async { Ok(with_role("service")) }.boxed(),
            _ => self.caller(headers, until),
        }
    }
}

fn with_role(role: &str) -> Caller {
    let user = "u-1".to_owned();
    Caller { user, project: Some("p-1".to_owned()), roles: vec![role.to_owned()], ..Caller::default() }
}

fn authenticated(change: impl FnOnce(&mut LiquidParts)) -> Setting {
    Setting::new(|parts| {
        parts.callers.authentication = Arc::new(ByRole);
        change(parts);
    })
}

const ENDPOINTS: [(Method, &str); 5] = [
    (Method::GET, INFO),
    (Method::POST, CAPACITY),
    (Method::POST, USAGE),
    (Method::PUT, QUOTA),
    (Method::POST, CHANGE),
];

/// A request whose body never arrives, so that only an answer before the body is one.
fn without_body(method: &Method, path: &str, token: Option<&str>) -> Request<Body> {
    let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let request = Request::builder().method(method).uri(path);
    match token {
        Some(token) => request.header("x-auth-token", token).body(body).unwrap(),
        None => request.body(body).unwrap(),
    }
}

/// The status of each endpoint; what a caller gets that is let in is 0.
async fn statuses(setting: &Setting, token: Option<&str>) -> Vec<u16> {
    let mut all = Vec::new();
    for (method, path) in ENDPOINTS {
        let answer =
            tokio::time::timeout(std::time::Duration::from_secs(1), setting.send(without_body(&method, path, token)));
        all.push(
            answer
                .await
                .ok()
                .map_or(0, |answer| if answer.status == StatusCode::OK { 0 } else { answer.status.as_u16() }),
        );
    }
    all
}

#[tokio::test(start_paused = true)]
async fn each_caller_is_let_in_or_refused_before_the_body_is_read() {
    let setting = authenticated(|_| {});
    for (token, expected) in [
        (None, [401; 5]),
        (Some("made-up"), [401; 5]),
        (Some("away"), [503; 5]),
        (Some("outdated"), [0, 0, 0, 503, 503]),
        (Some("reader"), [403; 5]),
        (Some("member"), [403; 5]),
        (Some("cloud_resource_viewer"), [0, 0, 0, 403, 403]),
        (Some("cloud_resource_admin"), [0; 5]),
        (Some("service"), [0; 5]),
        (Some("admin"), [0; 5]),
    ] {
        assert_eq!(statuses(&setting, token).await, expected, "{token:?}");
    }
    let refused = r#"cortex_committed_resource_info_api_requests_total{status_code="403"} 2"#;
    assert!(setting.counts(refused));
}

#[tokio::test]
async fn refusals_are_texts_of_liquid_and_say_when_to_try_again() {
    let setting = authenticated(|_| {});
    for (token, status, text, retry) in [
        (None, 401, "Unauthorized\n", ""),
        (Some("member"), 403, "Forbidden\n", ""),
        (Some("away"), 503, "not now\n", "5"),
    ] {
        let answer = setting.send(without_body(&Method::GET, INFO, token)).await;
        assert_eq!((answer.status.as_u16(), &*answer.body, answer.header("retry-after")), (status, text, retry));
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn the_log_names_the_caller_who_may_not_and_the_rule() {
    let setting = authenticated(|_| {});
    let response = setting.router.clone().oneshot(without_body(&Method::GET, INFO, Some("member"))).await.unwrap();
    let expected = r#"user "u-1" of project "p-1" may not liquid:get_info"#;
    assert_eq!(response.extensions().get::<LogReason>(), Some(&LogReason::Text(expected.to_owned())));
}

#[tokio::test]
async fn callers_are_checked_after_the_route_and_before_the_switch() {
    let setting = authenticated(|parts| parts.switches.quota = false);
    let answered = async |method, path: &str, token| setting.send(without_body(&method, path, token)).await;
    assert_eq!(answered(Method::DELETE, QUOTA, None).await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answered(Method::PUT, "/commitments/v1/projects/p-1/other", None).await.status, StatusCode::NOT_FOUND);
    assert_eq!(answered(Method::PUT, QUOTA, None).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(answered(Method::PUT, QUOTA, Some("member")).await.status, StatusCode::FORBIDDEN);
    assert_eq!(answered(Method::PUT, QUOTA, Some("admin")).await.body, "Quota API is disabled\n");
}

#[tokio::test(start_paused = true)]
async fn a_policy_file_may_compare_the_project_of_the_path() {
    let file = "'liquid:get_usage': 'project_id:%(project_id)s'\n'liquid:get_info': '!'\n";
    let setting = authenticated(|parts| parts.callers.policies = default_policies().with_file(file).unwrap());
    let other = "/commitments/v1/projects/p-2/report-usage";
    for (method, path, status) in [(Method::POST, USAGE, 408), (Method::POST, other, 403), (Method::GET, INFO, 403)] {
        let answer = setting.send(without_body(&method, path, Some("member"))).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn the_token_is_forwarded_with_a_change() {
    let setting = authenticated(|_| {});
    let request = Request::post(CHANGE).header("x-auth-token", "admin").body(Body::from("{}")).unwrap();
    let answer = setting.send(request).await;
    assert!(answer.body.contains("\"header\":true"), "{}", answer.body);
}

#[tokio::test]
async fn a_forged_header_of_forwarded_requests_does_not_replace_the_token() {
    let setting = authenticated(|_| {});
    for (method, path) in ENDPOINTS {
        for (token, status) in [(None, 401), (Some("made-up"), 401), (Some("member"), 403)] {
            let mut request = without_body(&method, path, token);
            request.headers_mut().insert(FORWARDED, HeaderValue::from_static("berth-0"));
            let answer = setting.send(request).await;
            assert_eq!(answer.status.as_u16(), status, "{path}, {token:?}: {}", answer.body);
        }
    }
}
