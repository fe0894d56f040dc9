//! Who may ask what only the leader knows, and which process answers.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::http::header::AUTHORIZATION;
use berth_cluster::ObjectKey;
use berth_http::{AccessAnswer, Authorizer, answer};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::setting::Seen;
use crate::Role;
use crate::explain::{Explainer, LeaderAnswer, Subject};
use crate::server::explain_router;

const LOCAL: &str = "127.0.0.1:1";
const REMOTE: &str = "10.0.0.9:1";
const PATH: &str = "/v1/explain/commitments/home/c-1";

/// Knows one object of each kind.
struct Knows(Role);

impl Explainer for Knows {
    fn role(&self) -> Role {
        self.0.clone()
    }

    fn explain(&self, subject: &Subject) -> Option<LeaderAnswer> {
        let key = |name: &str| ObjectKey::new("home".into(), name);
        let known = [Subject::Commitment(key("c-1")), Subject::Slot(key("c-1-0")), Subject::Host("node1".into())];
        known.contains(subject).then(|| LeaderAnswer { leader: subject.to_string(), ..LeaderAnswer::default() })
    }
}

/// Lets the bearer of `reader` ask about everything, and that of `narrow` about one host.
struct Readers;

impl Authorizer for Readers {
    fn authorize(&self, token: String, path: String) -> BoxFuture<'static, AccessAnswer> {
        let answer = match token.as_str() {
            "reader" => AccessAnswer::Allowed,
            "narrow" if path == "/v1/explain/hosts/node1" => AccessAnswer::Allowed,
            "narrow" => AccessAnswer::Forbidden,
            "unlucky" => AccessAnswer::Unknown("the API server does not answer".to_owned()),
            _ => AccessAnswer::Unauthenticated,
        };
        Box::pin(async move { answer })
    }
}

fn served(role: Role) -> Router {
    answer::refusals(explain_router(Knows(role), Arc::new(Readers)))
}

async fn send(router: &Router, peer: &str, request: Request<Body>) -> Seen {
    let mut request = request;
    request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let text = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
    Seen { status: head.status.as_u16(), headers: head.headers, text }
}

async fn get(router: &Router, peer: &str, path: &str) -> Seen {
    send(router, peer, Request::get(path).body(Body::empty()).unwrap()).await
}

async fn shows(router: &Router, peer: &str, shown: &str) -> Seen {
    let request = Request::get(PATH).header(AUTHORIZATION, shown).body(Body::empty()).unwrap();
    send(router, peer, request).await
}

fn refused(seen: &Seen) {
    seen.is(401, "show a token that the API server knows: Authorization: Bearer ...\n");
    assert_eq!(seen.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn each_kind_of_object_has_its_path() {
    let router = served(Role::Leader);
    for (path, leader) in [
        (PATH, "commitment home/c-1"),
        ("/v1/explain/slots/home/c-1-0", "slot home/c-1-0"),
        ("/v1/explain/hosts/node1", "host node1"),
    ] {
        let seen = get(&router, LOCAL, path).await;
        assert_eq!((seen.status, seen.header("content-type")), (200, "application/json"));
        let answer: Value = serde_json::from_str(&seen.text).unwrap();
        assert_eq!(
            (&answer["leader"], &answer["claims"], &answer["reconciliation"]),
            (&json!(leader), &json!([]), &json!(null))
        );
    }
    for (path, text) in [
        ("/v1/explain/commitments/eu-1/c-1", "no commitment eu-1/c-1 is known\n"),
        ("/v1/explain/slots/home/c-1", "no slot home/c-1 is known\n"),
        ("/v1/explain/hosts/a%0Ab", "no host a\\nb is known\n"),
        ("/v1/explain/projects/p", "no such path\n"),
    ] {
        get(&router, LOCAL, path).await.is(404, text);
    }
}

#[tokio::test]
async fn local_callers_are_answered_and_others_only_if_the_api_server_allows_it() {
    let router = served(Role::Leader);
    for peer in [LOCAL, "127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert_eq!(get(&router, peer, PATH).await.status, 200, "{peer}");
    }
    for peer in [REMOTE, "[2001:db8::1]:1", "[::ffff:10.0.0.9]:1"] {
        refused(&get(&router, peer, PATH).await);
        refused(&shows(&router, peer, "Bearer other").await);
        refused(&shows(&router, peer, "Basic YmVydGg6cmVhZGVy").await);
        assert_eq!(shows(&router, peer, "Bearer reader").await.status, 200, "{peer}");
        for (token, status) in [("narrow", 403), ("unlucky", 503)] {
            let seen = shows(&router, peer, &format!("Bearer {token}")).await;
            assert!(seen.status == status && !seen.text.contains("leader"), "{peer}: {}", seen.text);
        }
    }
    refused(&get(&router, REMOTE, "/v1/explain/hosts/unknown").await);
    let request = Request::get("/v1/explain/hosts/node1").header(AUTHORIZATION, "Bearer narrow");
    assert_eq!(send(&router, REMOTE, request.body(Body::empty()).unwrap()).await.status, 200);
}

#[tokio::test]
async fn a_process_that_does_not_lead_says_who_does() {
    let leader = Some("http://10.0.0.7:8080".to_owned());
    for (leader, text) in [
        (leader, "this process does not lead; the leader answers at http://10.0.0.7:8080\n"),
        (None, "this process does not lead, or does not decide yet; try again\n"),
    ] {
        let router = served(Role::Follower { leader });
        let seen = get(&router, LOCAL, PATH).await;
        seen.is(503, text);
        assert_eq!(seen.header("retry-after"), "1");
        refused(&get(&router, REMOTE, PATH).await);
    }
}

#[tokio::test]
async fn only_get_is_allowed() {
    let router = served(Role::Leader);
    let seen = send(&router, LOCAL, Request::post(PATH).body(Body::empty()).unwrap()).await;
    seen.is(405, "method not allowed\n");
    assert_eq!(seen.header("allow"), "GET,HEAD");
}
