//! Calls the API under test, each time with a deadline.

use std::time::Duration;

use berth_core::text::escape_line;
use berth_http::client;
use berth_http::request_id::X_REQUEST_ID;
use reqwest::{Client, RequestBuilder};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::{ChangeAnswer, ServiceInfo, UsageReport};
use super::login::Login;

const READ_WITHIN: Duration = Duration::from_secs(30);
/// Bytes of an answer: a service info of thousands of flavor groups.
const MOST: usize = 16 << 20;
/// Characters of a text in a failure.
const SHOWN: usize = 1000;

pub(super) struct ApiClient {
    http: Client,
    base: String,
    change_within: Duration,
    login: Login,
}

/// A decoded answer and the id of its request.
pub(super) struct Answer<T> {
    pub(super) decoded: T,
    pub(super) request_id: String,
}

impl ApiClient {
    pub(super) fn new(base_url: &str, change_within: Duration, login: Login) -> Result<Self, String> {
        let settings = || Client::builder().no_proxy();
        let http = client::build(settings).map_err(client::line)?;
        Ok(Self { http, base: base_url.trim_end_matches('/').to_owned(), change_within, login })
    }

    pub(super) async fn info(&self) -> Result<Answer<ServiceInfo>, String> {
        let url = format!("{}/commitments/v1/info", self.base);
        self.call("GET info", self.http.get(url).timeout(READ_WITHIN)).await
    }

    pub(super) async fn change(&self, request: &Value) -> Result<Answer<ChangeAnswer>, String> {
        let url = format!("{}/commitments/v1/change-commitments", self.base);
        let request = self.http.post(url).header("Content-Type", "application/json").body(request.to_string());
        self.call("change-commitments", request.timeout(self.change_within)).await
    }

    /// What a project uses in a zone.
    pub(super) async fn usage(&self, project: &str, zone: &str) -> Result<Answer<UsageReport>, String> {
        let url = format!("{}/commitments/v1/projects/{project}/report-usage", self.base);
        let body = json!({ "allAZs": [zone] }).to_string();
        let request = self.http.post(url).header("Content-Type", "application/json").body(body);
        self.call("report-usage", request.timeout(READ_WITHIN)).await
    }

    async fn call<T: DeserializeOwned>(&self, what: &str, request: RequestBuilder) -> Result<Answer<T>, String> {
        let request = match self.login.token().await? {
            Some(token) => request.header("X-Auth-Token", token.expose_secret()),
            None => request,
        };
        call(what, request).await
    }
}

async fn call<T: DeserializeOwned>(what: &str, request: RequestBuilder) -> Result<Answer<T>, String> {
    let no_answer = |error| format!("{what}: no answer: {}", client::line(error));
    let mut response = request.header("Accept", "application/json").send().await.map_err(no_answer)?;
    let status = response.status().as_u16();
    let id = response.headers().get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
    let request_id = id.unwrap_or("none").to_owned();
    let mut body = Vec::new();
    if !client::first_bytes(&mut response, MOST, &mut body).await.map_err(no_answer)? {
        return Err(format!("{what}: the answer has more than {MOST} bytes (X-Request-ID {request_id})"));
    }
    if status != 200 {
        let text = escape_line(String::from_utf8_lossy(&body).trim_end(), SHOWN);
        return Err(format!("{what}: status {status} (X-Request-ID {request_id}): {text}"));
    }
    let undecodable = |error| format!("{what}: the answer cannot be used (X-Request-ID {request_id}): {error}");
    let decoded = serde_json::from_slice(&body).map_err(undecodable)?;
    Ok(Answer { decoded, request_id })
}
