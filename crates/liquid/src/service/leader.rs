//! Requests of a replica that does not lead: they are forwarded to the leader, or wait for one.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use berth_http::Role;
use berth_http::forwarder::{DEADLINE_MS, FORWARDED, Unanswered};
use berth_http::request_id::X_REQUEST_ID;
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout_at};

use super::answer::Answer;
use super::{ChangeService, PATH, texts};
use crate::server::{AnsweredChange, ChangeCall};

/// A request waits so long for a leader.
const FOR_A_LEADER: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// What the leader needs at most besides the wait in the queue and the change itself.
const SPARE: Duration = Duration::from_secs(15);

impl ChangeService {
    /// The answer of another replica; `None` if this process leads. A request that is sent a second time finds what the
    /// first one has done.
    pub(super) async fn forward(&self, call: &ChangeCall) -> Option<Response> {
        let settings = &self.context.settings;
        let most = settings.queue_wait.saturating_add(settings.watch_timeout).saturating_add(SPARE);
        let started = Instant::now();
        let deadline = started + time_left(&call.headers, most);
        let latest = deadline.min(started + FOR_A_LEADER);
        loop {
            let response = match self.context.leading.role() {
                Role::Leader => return None,
                Role::Follower { .. } if call.headers.contains_key(FORWARDED) => {
                    return Some(Answer::not_leading(texts::LOST_LEADERSHIP).into_response());
                }
                Role::Follower { leader: Some(leader) } => Some(self.send(&leader, call, deadline).await),
                Role::Follower { leader: None } => None,
            };
            match response {
                Some(response) if response.extensions().get::<Unanswered>().is_none() || Instant::now() >= latest => {
                    return Some(response);
                }
                None if Instant::now() >= latest => {
                    return Some(Answer::not_leading(texts::NO_LEADER).into_response());
                }
                _ => {}
            }
            self.context.leading.find_leader();
            // Elapsed is noticed in the next round.
            let _ = timeout_at(latest, sleep(RETRY_INTERVAL)).await;
        }
    }

    async fn send(&self, leader: &str, call: &ChangeCall, deadline: Instant) -> Response {
        let mut headers = call.headers.clone();
        if let Ok(id) = HeaderValue::from_str(&call.request_id) {
            headers.insert(X_REQUEST_ID, id);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let response = self.context.forwarder.forward(leader, PATH, call.body.clone(), &headers, left).await;
        note_verdict(response, &call.body).await
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

/// The time until the answer, which another replica can only shorten.
fn time_left(headers: &HeaderMap, most: Duration) -> Duration {
    let reported = headers.get(DEADLINE_MS).and_then(|value| value.to_str().ok()?.parse().ok());
    reported.map_or(most, |millis| Duration::from_millis(millis).min(most))
}
