//! Requests of a replica that does not lead, and what the leader has decided about them.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Method;
use axum::response::Response;
use serde::Deserialize;

use super::answer::Answer;
use super::{ChangeService, PATH, texts};
use crate::leader::{LeaderRequest, forward};
use crate::server::{AnsweredChange, ChangeCall};

/// What the leader needs at most besides the wait in the queue and the change itself.
const SPARE: Duration = Duration::from_secs(15);

impl ChangeService {
    /// The answer of another replica; `None` if this process leads. A request that is sent a second time finds what the
    /// first one has done.
    pub(super) async fn forward(&self, call: &ChangeCall) -> Option<Response> {
        let settings = &self.context.settings;
        let request = LeaderRequest {
            method: Method::POST,
            path: PATH,
            body: &call.body,
            headers: &call.headers,
            request_id: &call.request_id,
            most: settings.queue_wait.saturating_add(settings.watch_timeout).saturating_add(SPARE),
        };
        let response = forward(&*self.context.leading, &*self.context.forwarder, &request).await?;
        Some(note_verdict(response, &call.body).await)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ForwardedRequest {
    dry_run: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaderAnswer {
    rejection_reason: String,
}

/// Adds what the leader has decided, so that both replicas count the same. The forwarder bounds the answer.
async fn note_verdict(response: Response, request: &[u8]) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return Answer::unavailable(texts::UNREADABLE_ANSWER, 2).into_response();
    };
    let request: ForwardedRequest = serde_json::from_slice(request).unwrap_or_default();
    let answer: LeaderAnswer = serde_json::from_slice(&body).unwrap_or_default();
    let (is_dry_run, is_rejected) = (request.dry_run.unwrap_or_default(), !answer.rejection_reason.is_empty());
    parts.extensions.insert(AnsweredChange { is_dry_run, is_rejected });
    Response::from_parts(parts, Body::from(body))
}
