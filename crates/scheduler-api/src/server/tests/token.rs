//! The token of clients, and when it is checked.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::AUTHORIZATION;
use berth_telemetry::config::decode;
use serde_json::json;

use super::setting::{Seen, Setting, body, setting};
use crate::server::PATH;

fn protected() -> Setting {
    let values = json!({"scheduler": {"token": "s3cret"}});
    let token = decode(values.as_object().unwrap(), true).unwrap().configuration.scheduler.token;
    setting().protected_by(token.unwrap())
}

async fn shows(setting: &Setting, shown: &str, body: impl ToString) -> Seen {
    let request = Request::post(PATH).header(AUTHORIZATION, shown).body(Body::from(body.to_string()));
    setting.send(request.unwrap()).await
}

fn refused(seen: &Seen) {
    seen.is(401, "missing or wrong bearer token\n");
    assert_eq!(seen.header("www-authenticate"), "Bearer");
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
