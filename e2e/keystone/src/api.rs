//! Calls of Keystone's API, independent of `berth-openstack`, which the tests compare with it.

use std::time::Duration;

use berth_http::client;
use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};

use crate::Error;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const TOKEN: &str = "x-auth-token";
const SUBJECT: &str = "x-subject-token";

/// A client of one Keystone.
#[derive(Debug, Clone)]
pub struct Api {
    http: Client,
    /// Without a slash at the end.
    url: String,
}

/// Who logs in, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    pub user: &'a str,
    pub user_domain: &'a str,
    pub password: &'a str,
    pub scope: Scope<'a>,
}

/// What a token is valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    None,
    System,
    Domain(&'a str),
    Project { name: &'a str, domain: &'a str },
}

/// An answer, whatever its status is.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// The header with the token of a login.
    pub token: Option<String>,
    /// Null if it is no JSON.
    pub body: Value,
}

impl Api {
    /// The URL is that of the version, `.../v3`.
    pub fn new(url: &str) -> Result<Self, Error> {
        // Tests share a client, and a kept connection would end with the runtime of the test that has opened it.
        let settings =
            || Client::builder().timeout(ANSWER_WITHIN).pool_max_idle_per_host(0).redirect(redirect::Policy::none());
        let http = client::build(settings).map_err(|error| Error::Client(client::line(error)))?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned() })
    }

    /// A new token.
    pub async fn log_in(&self, login: &Login<'_>) -> Result<String, Error> {
        let path = "/auth/tokens";
        let answer = self.send(&Method::POST, path, &[], Some(&login.body())).await?;
        let answer = answer.check(&Method::POST, path)?;
        answer.token.clone().ok_or_else(|| answer.lacks(path, SUBJECT))
    }

    /// Calls a path below the version with a token; any other status than a successful one is an error.
    pub async fn call(&self, method: &Method, path: &str, token: &str, body: Option<&Value>) -> Result<Value, Error> {
        let answer = self.send(method, path, &[(TOKEN, token)], body).await?;
        Ok(answer.check(method, path)?.body)
    }

    /// Creates an object; returns its ID.
    pub(crate) async fn create(&self, path: &str, token: &str, body: &Value) -> Result<String, Error> {
        let kind = body.as_object().and_then(|members| members.keys().next()).cloned().unwrap_or_default();
        let created = self.call(&Method::POST, path, token, Some(body)).await?;
        text(path, &created, &format!("/{kind}/id"))
    }

    /// Ends a token.
    pub async fn revoke(&self, token: &str) -> Result<(), Error> {
        let path = "/auth/tokens";
        let answer = self.send(&Method::DELETE, path, &[(TOKEN, token), (SUBJECT, token)], None).await?;
        answer.check(&Method::DELETE, path).map(drop)
    }

    /// Sends a request with these headers.
    pub async fn send(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let failed = |error| Error::Unanswered { request: format!("{method} {path}"), cause: client::line(error) };
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let token = response.headers().get(SUBJECT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = response.text().await.map_err(failed)?;
        Ok(Answer { status, token, body: serde_json::from_str(&body).unwrap_or_default() })
    }
}

impl Login<'_> {
    /// The body of the request.
    pub fn body(&self) -> Value {
        let user = json!({ "name": self.user, "password": self.password, "domain": { "name": self.user_domain } });
        let identity = json!({ "methods": ["password"], "password": { "user": user } });
        match self.scope.value() {
            Some(scope) => json!({ "auth": { "identity": identity, "scope": scope } }),
            None => json!({ "auth": { "identity": identity } }),
        }
    }
}

impl Scope<'_> {
    fn value(self) -> Option<Value> {
        match self {
            Self::None => None,
            Self::System => Some(json!({ "system": { "all": true } })),
            Self::Domain(name) => Some(json!({ "domain": { "name": name } })),
            Self::Project { name, domain } => {
                Some(json!({ "project": { "name": name, "domain": { "name": domain } } }))
            }
        }
    }
}

impl Answer {
    fn check(self, method: &Method, path: &str) -> Result<Self, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let (request, body) = (format!("{method} {path}"), self.body.to_string());
        Err(Error::Status { request, status: self.status, body })
    }

    fn lacks(&self, path: &str, member: &str) -> Error {
        lacking(path, &self.body, member)
    }
}

/// The text at a place of an answer.
pub(crate) fn text(path: &str, body: &Value, place: &str) -> Result<String, Error> {
    let text = body.pointer(place).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| lacking(path, body, place))
}

fn lacking(path: &str, body: &Value, member: &str) -> Error {
    Error::Member { request: path.to_owned(), member: member.to_owned(), body: body.to_string() }
}
