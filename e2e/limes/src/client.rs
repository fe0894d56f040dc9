//! Calls a LIQUID service as Limes does. Limes itself sets no deadline; proxies between it and a service do.

use std::time::{Duration, Instant};

use berth_http::client;
use reqwest::{Client, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answers::{ChangeAnswer, ServiceInfo, UsageReport};
use crate::error::Error;
use crate::requests::ChangeRequest;

const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const REQUEST_ID: &str = "x-request-id";

/// A client of one service.
pub struct LiquidClient {
    http: Client,
    /// With a slash at the end.
    base: String,
}

/// An answer with status 200.
pub struct Answer<T> {
    pub decoded: T,
    pub text: String,
    pub took: Duration,
}

impl LiquidClient {
    pub fn new(base: &str) -> Result<Self, Error> {
        let settings = || Client::builder().timeout(ANSWER_WITHIN);
        let http = client::build(settings).map_err(Error::Client)?;
        Ok(Self { http, base: format!("{}/", base.trim_end_matches('/')) })
    }

    pub async fn info(&self, request_id: &str) -> Result<Answer<ServiceInfo>, Error> {
        let path = "v1/info";
        self.call(path, request_id, self.http.get(format!("{}{path}", self.base))).await
    }

    pub async fn change(&self, request_id: &str, change: &ChangeRequest) -> Result<Answer<ChangeAnswer>, Error> {
        self.post("v1/change-commitments", request_id, change).await
    }

    pub async fn usage(&self, request_id: &str, project: &str, zones: &[&str]) -> Result<Answer<UsageReport>, Error> {
        let path = format!("v1/projects/{project}/report-usage");
        self.post(&path, request_id, &json!({ "allAZs": zones })).await
    }

    /// Pushes quota; returns the time until the answer, which has no content.
    pub async fn set_quota(&self, request_id: &str, project: &str, quota: &Value) -> Result<Duration, Error> {
        let path = format!("v1/projects/{project}/quota");
        let request = self.http.put(format!("{}{path}", self.base));
        let request = request.header("Content-Type", "application/json").body(quota.to_string());
        let answered = Self::send(&path, request_id, request).await?;
        if answered.status != 204 {
            return Err(answered.refused(path));
        }
        Ok(answered.took)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        request_id: &str,
        body: &impl Serialize,
    ) -> Result<Answer<T>, Error> {
        let body = serde_json::to_string(body)
            .map_err(|error| Error::NoAnswer { path: path.to_owned(), why: error.to_string() })?;
        let request = self.http.post(format!("{}{path}", self.base));
        self.call(path, request_id, request.header("Content-Type", "application/json").body(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        request_id: &str,
        request: RequestBuilder,
    ) -> Result<Answer<T>, Error> {
        let answered = Self::send(path, request_id, request).await?;
        if answered.status != 200 {
            return Err(answered.refused(path.to_owned()));
        }
        let Answered { request_id: answered_id, content, text, took, .. } = answered;
        let decoded = usable(&text, (&answered_id, request_id), &content);
        let decoded = decoded.map_err(|why| Error::Unusable { path: path.to_owned(), why, body: text.clone() })?;
        Ok(Answer { decoded, text, took })
    }

    async fn send(path: &str, request_id: &str, request: RequestBuilder) -> Result<Answered, Error> {
        let began = Instant::now();
        let no_answer = |error| Error::NoAnswer { path: path.to_owned(), why: client::line(error) };
        let request = request.header("Accept", "application/json").header(REQUEST_ID, request_id);
        let response = request.send().await.map_err(no_answer)?;
        let status = response.status().as_u16();
        let header = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (request_id, content) = (header(REQUEST_ID), header("content-type"));
        let text = response.text().await.map_err(no_answer)?.trim_end().to_owned();
        Ok(Answered { status, request_id, content, text, took: began.elapsed() })
    }
}

/// An answer that was not looked at yet.
struct Answered {
    status: u16,
    request_id: String,
    content: String,
    text: String,
    took: Duration,
}

impl Answered {
    fn refused(self, path: String) -> Error {
        Error::Status { path, status: self.status, request_id: self.request_id, body: self.text }
    }
}

fn usable<T: DeserializeOwned>(text: &str, (answered, sent): (&str, &str), content: &str) -> Result<T, String> {
    if answered != sent {
        return Err(format!("its X-Request-ID is {answered:?} instead of {sent:?}"));
    }
    if content != "application/json" {
        return Err(format!("its Content-Type is {content:?}"));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_need_the_request_id_the_content_type_and_known_members() {
        let read = |text, answered, content| usable::<ChangeAnswer>(text, (answered, "r-1"), content);
        assert_eq!(read("{}", "r-1", "application/json"), Ok(ChangeAnswer::default()));
        assert!(read("{}", "r-2", "application/json").unwrap_err().contains("X-Request-ID"));
        assert!(read("{}", "r-1", "text/plain").unwrap_err().contains("Content-Type"));
        assert!(read(r#"{"a":1}"#, "r-1", "application/json").unwrap_err().contains("unknown field"));
    }
}
