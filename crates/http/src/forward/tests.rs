//! Forwarding to scripted leaders.

use berth_testkit::stub::{Reply, Stub};

use super::*;

const PATH: &str = "/scheduler/nova/external";

const LONG: Duration = Duration::from_secs(20);

fn forward() -> Forward {
    Forward::new("pod-1_5f0c", None).unwrap()
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

async fn to(leader: &str, left: Duration) -> (StatusCode, HeaderMap, String) {
    let sent = headers(&[
        ("x-request-id", "req-7"),
        ("content-type", "application/json"),
        ("authorization", "Bearer t"),
        ("x-auth-token", "gAAAA"),
        ("cookie", "c"),
    ]);
    let response = forward().forward(leader, Method::POST, PATH, Bytes::from_static(b"{\"a\":1}"), &sent, left).await;
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

async fn unheard(leader: &str, left: Duration) -> String {
    let (status, headers, body) = to(leader, left).await;
    assert_eq!((status, &headers[RETRY_AFTER], body.lines().count()), (StatusCode::SERVICE_UNAVAILABLE, &TRY_AGAIN, 1));
    body.trim_end().to_owned()
}

#[tokio::test]
async fn the_leader_gets_the_body_the_name_of_the_request_the_token_and_what_is_left() {
    let leader = Stub::start([Reply::http(200, "", "{}")]).await;
    to(&leader.base(), LONG).await;
    let [asked] = leader.asked().try_into().unwrap();
    assert_eq!((asked.line(), asked.body.as_slice()), ("POST /scheduler/nova/external", b"{\"a\":1}".as_slice()));
    for (name, value) in [
        ("x-berth-forwarded", Some("pod-1_5f0c")),
        ("x-berth-deadline-ms", Some("20000")),
        ("x-request-id", Some("req-7")),
        ("content-type", Some("application/json")),
        ("authorization", Some("Bearer t")),
        ("x-auth-token", Some("gAAAA")),
        ("cookie", None),
    ] {
        assert_eq!(asked.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn a_put_is_forwarded_as_a_put_with_its_body() {
    let leader = Stub::start([Reply::http(204, "", "")]).await;
    let (path, body) = ("/commitments/v1/projects/p1/quota", Bytes::from_static(b"{\"resources\":{}}"));
    let response = forward().forward(&leader.base(), Method::PUT, path, body, &HeaderMap::new(), LONG).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    let [asked] = leader.asked().try_into().unwrap();
    let line = "PUT /commitments/v1/projects/p1/quota";
    assert_eq!((asked.line(), asked.body.as_slice()), (line, b"{\"resources\":{}}".as_slice()));
}

#[tokio::test]
async fn every_answer_of_the_leader_is_passed_through() {
    let json = "content-type: application/json\r\n";
    let plain = "content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\nretry-after: 5\r\n";
    for (status, head, body, expected) in [
        (200, json, "{\"hosts\":[\"a\"]}\n", headers(&[("content-type", "application/json")])),
        (400, "", "failed to decode request body\n", HeaderMap::new()),
        (
            503,
            plain,
            "not now\n",
            headers(&[
                ("content-type", "text/plain; charset=utf-8"),
                ("x-content-type-options", "nosniff"),
                ("retry-after", "5"),
            ]),
        ),
        (307, "location: /elsewhere\r\n", "", HeaderMap::new()),
    ] {
        let leader = Stub::start([Reply::http(status, &format!("{head}set-cookie: no\r\n"), body)]).await;
        let answer = to(&leader.base(), LONG).await;
        assert_eq!(answer, (StatusCode::from_u16(status).unwrap(), expected, body.to_owned()));
        assert_eq!(leader.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_leader_that_cannot_be_reached_is_503() {
    let text = unheard(&Stub::closed_port().await, LONG).await;
    assert!(text.starts_with("the leader cannot be reached: ") && text.contains("refused"), "{text}");
    for invalid_amount in ["", "nonsense", "http://", "ftp://10.0.0.7:8080"] {
        let text = unheard(invalid_amount, LONG).await;
        assert!(text.starts_with("the leader cannot be reached: "), "{invalid_amount}: {text}");
    }
}

#[tokio::test]
async fn a_leader_that_does_not_answer_in_time_is_503_and_may_have_decided() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"hosts\"".to_owned();
    for reply in [Reply::silence(), Reply::Unfinished(begun)] {
        let leader = Stub::start([reply]).await;
        let text = unheard(&leader.base(), Duration::from_millis(200)).await;
        let expected = "the leader did not answer within 200 ms, so whether it has decided is unknown; try again";
        assert_eq!((text.as_str(), leader.asked().len()), (expected, 1));
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_503_and_nothing_is_sent_twice() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"hosts\"".to_owned();
    for reply in [Reply::Close, Reply::Bytes(cut), Reply::Bytes("nonsense\r\n".to_owned())] {
        let leader = Stub::start([reply]).await;
        let text = unheard(&leader.base(), LONG).await;
        assert!(text.starts_with("the answer of the leader did not arrive: "), "{text}");
        assert_eq!(leader.asked().len(), 1);
    }
}

/// Whether the request may be sent to the next leader.
async fn is_unanswered(leader: &str, left: Duration) -> bool {
    let response = forward().forward(leader, Method::POST, PATH, Bytes::new(), &HeaderMap::new(), left).await;
    response.extensions().get::<Unanswered>().is_some()
}

#[tokio::test]
async fn a_request_may_be_sent_again_if_no_leader_has_answered_it() {
    let not_decided = Reply::http(503, "x-berth-not-decided: 1\r\n", "not ready\n");
    for (reply, left, expected) in [
        (not_decided, LONG, true),
        (Reply::Close, LONG, true),
        (Reply::http(200, "", "{\"hosts\":[]}\n"), LONG, false),
        (Reply::http(503, "", "overloaded\n"), LONG, false),
        (Reply::silence(), Duration::from_millis(200), false),
    ] {
        let shown = format!("{reply:?}");
        let leader = Stub::start([reply]).await;
        assert_eq!(is_unanswered(&leader.base(), left).await, expected, "{shown}");
    }
    assert!(is_unanswered(&Stub::closed_port().await, LONG).await, "the leader has ended");
}

#[test]
fn an_identity_that_fits_no_header_is_a_one() {
    assert_eq!(Forward::new("a\nb", None).unwrap().me, "1");
}
