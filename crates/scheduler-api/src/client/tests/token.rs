//! The token for the scheduler.

use berth_telemetry::config::{Token, decode};
use serde_json::json;

use super::*;

fn token() -> Token {
    let values = json!({"committedResourceReservationController": {"schedulerToken": "s3cret"}});
    decode(values.as_object().unwrap(), true).unwrap().configuration.reservation_controller.scheduler_token.unwrap()
}

#[tokio::test]
async fn the_token_is_shown_and_never_printed() {
    let stub = Stub::start([Reply::http(200, "", "{}")]).await;
    let external = external(&stub, view(&["a"])).with_token(Some(&token())).unwrap();
    external.probe(&question(), "").await.unwrap();
    assert_eq!(stub.asked()[0].header("authorization"), Some("Bearer s3cret"));
    assert!(!format!("{external:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_scheduler_that_does_not_take_the_token_is_reported_of() {
    let refusal = Reply::http(401, "www-authenticate: Bearer\r\n", "missing or wrong bearer token\n");
    let (found, stub) = probe(LONG, [refusal]).await;
    assert_eq!(found, Err("external scheduler returned status 401: missing or wrong bearer token".to_owned()));
    assert_eq!(stub.asked()[0].header("authorization"), None);
}
