//! The token of clients, and when it is checked.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::AUTHORIZATION;
use berth_telemetry::config::Tokens;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::setting::{Seen, Setting, body, setting};
use crate::server::{DEADLINE_MS, FORWARDED, PATH, router};

fn protected() -> Setting {
    setting().protected_by(watch::channel(Tokens::parse("s3cret").unwrap()).1)
}

async fn shows(setting: &Setting, shown: &str, body: impl ToString) -> Seen {
    let request = Request::post(PATH).header(AUTHORIZATION, shown).body(Body::from(body.to_string()));
    setting.send(request.unwrap()).await
}

fn refused(seen: &Seen) {
    seen.is(401, "missing or wrong bearer token\n");
    assert_eq!(seen.header("www-authenticate"), "Bearer, Basic realm=\"berth\"");
    assert_eq!(seen.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn only_the_token_opens() {
    let setting = protected();
    refused(&setting.post(body("listed")).await);
    for wrong in ["", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3cret2", "Bearer  s3cret", "Basic s3cret", "s3cret"]
    {
        refused(&shows(&setting, wrong, body("listed")).await);
    }
    for right in ["Bearer s3cret", "bearer s3cret"] {
        shows(&setting, right, body("listed")).await.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
    }
    assert_eq!(setting.api.backend().outcomes.lock().len(), 2);
    let series = "cortex_scheduler_api_request_duration_seconds_count{error=\"missing or wrong bearer token\"";
    assert!(setting.counts(series));
}

/// Path and method are checked first, then the token, then everything else.
#[tokio::test]
async fn unknown_clients_learn_nothing_but_where_the_endpoint_is() {
    let setting = protected();
    setting.send(Request::get(PATH).body(Body::empty()).unwrap()).await.is(405, "invalid request method\n");
    assert_eq!(setting.send(Request::post("/").body(Body::empty()).unwrap()).await.status, 404);
    refused(&setting.post("nonsense").await);
    assert_eq!(shows(&setting, "Bearer s3cret", "nonsense").await.status, 400);
    *setting.api.backend().not_ready.lock() = Some("not yet".to_owned());
    refused(&setting.post(body("listed")).await);
    assert_eq!(shows(&setting, "Bearer s3cret", body("listed")).await.status, 503);
}

#[tokio::test]
async fn without_a_token_no_client_has_to_send_one() {
    assert_eq!(shows(&setting(), "Bearer other", body("listed")).await.status, 200);
}

#[tokio::test]
async fn unknown_clients_are_not_forwarded() {
    let setting = protected();
    setting.follow(Some("http://leader"));
    refused(&setting.post(body("listed")).await);
    assert!(setting.forwarded.lock().is_empty());
    assert_eq!(shows(&setting, "Bearer s3cret", body("listed")).await.status, 200);
    assert_eq!(setting.forwarded.lock().len(), 1);
}

#[tokio::test]
async fn a_forged_header_of_forwarded_requests_does_not_replace_the_token() {
    let setting = protected();
    let forged = || {
        let request = Request::post(PATH).header(FORWARDED, "berth-0").header(DEADLINE_MS, "4000000000");
        request.body(Body::from(body("listed").to_string())).unwrap()
    };
    refused(&setting.send(forged()).await);
    setting.follow(Some("http://leader"));
    refused(&setting.send(forged()).await);
    assert!(setting.forwarded.lock().is_empty());
}

/// The bytes that `requests.post("http://berth:s3cret@HOST/...", json=...)` of Python sends: that is all Nova's client does.
fn as_nova_sends(credentials: &str, host: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {PATH} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: python-requests/2.34.2\r\nAccept-Encoding: gzip, deflate\r\n\
         Accept: */*\r\nConnection: close\r\nContent-Length: {length}\r\nContent-Type: application/json\r\n\
         Authorization: {credentials}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn the_token_is_accepted_in_the_url_that_nova_is_given() {
    let setting = protected();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = router(setting.api.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    // `berth:s3cret`, and `berth:wrong!`.
    for (credentials, status) in [("Basic YmVydGg6czNjcmV0", "200"), ("Basic YmVydGg6d3Jvbmch", "401")] {
        let request = as_nova_sends(credentials, &address.to_string(), &body("listed").to_string());
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
        assert_eq!(answer.ends_with("{\"hosts\":[\"a\",\"b\",\"c\"]}\n"), status == "200", "{answer}");
    }
}

#[tokio::test]
async fn only_the_token_is_a_password() {
    let setting = protected();
    // `s3cret`, `s3cret:`, `:`, `berth:s3cre`, `berth:s3cret:`, and what is no base64.
    for wrong in ["czNjcmV0", "czNjcmV0Og==", "Og==", "YmVydGg6czNjcmU=", "YmVydGg6czNjcmV0Og==", "berth:s3cret", ""] {
        refused(&shows(&setting, &format!("Basic {wrong}"), body("listed")).await);
    }
    // `:s3cret` and `anyone:s3cret`: the user name does not matter.
    for right in ["Basic OnMzY3JldA==", "basic YW55b25lOnMzY3JldA=="] {
        assert_eq!(shows(&setting, right, body("listed")).await.status, 200);
    }
}

#[tokio::test]
async fn both_tokens_open_during_a_rotation() {
    let (sender, tokens) = watch::channel(Tokens::parse("old").unwrap());
    let setting = setting().protected_by(tokens);
    let opens = async |token: &str| shows(&setting, &format!("Bearer {token}"), body("listed")).await.status == 200;
    assert!(opens("old").await && !opens("new").await);
    sender.send_replace(Tokens::parse("old\nnew").unwrap());
    assert!(opens("old").await && opens("new").await);
    sender.send_replace(Tokens::parse("new").unwrap());
    assert!(!opens("old").await && opens("new").await);
}
