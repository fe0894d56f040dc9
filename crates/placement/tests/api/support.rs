//! The router over a ledger in memory, and a short notation for requests.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use berth_openstack::authentication::NoAuth2;
use berth_openstack::policy::Policies;
use berth_placement::{Api, policy};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::in_memory::InMemory;

#[derive(Clone)]
pub struct Server {
    pub ledger: Arc<InMemory>,
    pub router: Router,
}

/// The answer of a server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Server {
    /// With the old defaults of policies, as in most of Placement's own tests.
    pub fn new() -> Self {
        Self::with(|api| api, policy::defaults(false))
    }

    pub fn with(change: impl FnOnce(Api) -> Api, policies: Policies) -> Self {
        let ledger = Arc::new(InMemory::default());
        let api = change(Api::new(ledger.clone(), Arc::new(NoAuth2), policies));
        Self { ledger, router: api.router() }
    }

    /// Sends a request of the admin: `GET /path` or `1.28 GET /path`, with a body if it is not empty. The default
    /// version is 1.39.
    pub async fn ask(&self, line: &str, body: &str) -> Answer {
        self.ask_with(line, body, &[]).await
    }

    pub async fn ask_with(&self, line: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let words: Vec<&str> = line.split(' ').collect();
        let (version, method, path) = match words[..] {
            [method, path] => ("1.39", method, path),
            [version, method, path] => (version, method, path),
            _ => panic!("{line}"),
        };
        let mut request = Request::builder().method(method).uri(path).header("host", "placement.example");
        if !headers.iter().any(|(name, _)| *name == "x-auth-token") {
            request = request.header("x-auth-token", "admin");
        }
        request = request.header("openstack-api-version", format!("placement {version}"));
        if !body.is_empty() {
            request = request.header("content-length", body.len());
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
        }
        // An empty value removes a header.
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    /// Like `ask`, for a request that must succeed.
    pub async fn done(&self, line: &str, body: &str) -> Answer {
        let answer = self.ask(line, body).await;
        assert!((200..300).contains(&answer.status), "{line} {body}: {answer:?}");
        answer
    }

    /// A provider with these inventories, written at once, so that it is at generation 1.
    pub async fn provider(&self, name: &str, parent: Option<&str>, inventories: &str) {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", uuid(parent)));
        let body = format!(r#"{{"name": "{name}", "uuid": "{}", "parent_provider_uuid": {parent}}}"#, uuid(name));
        self.done("POST /resource_providers", &body).await;
        if !inventories.is_empty() {
            let body = format!(r#"{{"resource_provider_generation": 0, "inventories": {inventories}}}"#);
            self.done(&format!("PUT /resource_providers/{}/inventories", uuid(name)), &body).await;
        }
    }

    pub async fn generation(&self, name: &str) -> i64 {
        let answer = self.done(&format!("GET /resource_providers/{}", uuid(name)), "").await;
        answer.json()["generation"].as_i64().unwrap()
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The detail of an error.
    pub fn detail(&self) -> String {
        self.json()["errors"][0]["detail"].as_str().unwrap().to_owned()
    }

    /// Checks status, code and a part of the detail.
    pub fn is(&self, status: u16, code: &str, part: &str) {
        let json = self.json();
        let error = &json["errors"][0];
        assert_eq!((self.status, error["status"].as_u64()), (status, Some(status.into())), "{self:?}");
        assert_eq!(error["code"].as_str(), Some(code).filter(|code| !code.is_empty()), "{self:?}");
        assert!(self.detail().contains(part), "{part:?} is not in {self:?}");
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The default code of errors.
pub const UNDEFINED: &str = "placement.undefined_code";
pub const CONCURRENT: &str = "placement.concurrent_update";

pub fn uuid(name: &str) -> String {
    let mut digits = name.bytes().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
    digits.truncate(32);
    format!(
        "{}-{}-{}-{}-{}",
        pad(&digits, 0, 8),
        pad(&digits, 8, 4),
        pad(&digits, 12, 4),
        pad(&digits, 16, 4),
        pad(&digits, 20, 12)
    )
}

fn pad(digits: &str, from: usize, length: usize) -> String {
    let part: String = digits.chars().skip(from).take(length).collect();
    format!("{part:0<length$}")
}
