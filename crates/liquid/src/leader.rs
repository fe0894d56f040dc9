//! Requests that only the leader executes: another replica forwards them, or waits for a leader.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use berth_http::forwarder::{DEADLINE_MS, FORWARDED, Unanswered};
use berth_http::request_id::X_REQUEST_ID;
use berth_http::{Forwarder, Role};
use tokio::time::{Instant, sleep, timeout_at};

use crate::refused::Refused;

/// A request waits so long for a leader.
const FOR_A_LEADER: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Who leads. Only the leader changes commitments and quota.
pub trait Leading: Send + Sync + 'static {
    fn role(&self) -> Role;

    /// A request found no leader: finds out soon which replica leads.
    fn find_leader(&self);
}

/// A request for the leader.
pub(crate) struct LeaderRequest<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: &'a Bytes,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) request_id: &'a str,
    /// The longest time until the answer.
    pub(crate) most: Duration,
}

/// The answer of another replica; `None` if this process leads. A request that no leader has answered is sent again.
pub(crate) async fn forward(
    leading: &dyn Leading,
    forwarder: &dyn Forwarder,
    request: &LeaderRequest<'_>,
) -> Option<Response> {
    let started = Instant::now();
    let deadline = started + time_left(request.headers, request.most);
    let latest = deadline.min(started + FOR_A_LEADER);
    loop {
        let response = match leading.role() {
            Role::Leader => return None,
            Role::Follower { .. } if request.headers.contains_key(FORWARDED) => {
                return Some(Refused::lost_leadership().into_response());
            }
            Role::Follower { leader: Some(leader) } => Some(send(forwarder, &leader, request, deadline).await),
            Role::Follower { leader: None } => None,
        };
        match response {
            Some(response) if response.extensions().get::<Unanswered>().is_none() || Instant::now() >= latest => {
                return Some(response);
            }
            None if Instant::now() >= latest => return Some(Refused::no_leader().into_response()),
            _ => {}
        }
        leading.find_leader();
        // Elapsed is noticed in the next round.
        let _ = timeout_at(latest, sleep(RETRY_INTERVAL)).await;
    }
}

async fn send(forwarder: &dyn Forwarder, leader: &str, request: &LeaderRequest<'_>, deadline: Instant) -> Response {
    let mut headers = request.headers.clone();
    if let Ok(id) = HeaderValue::from_str(request.request_id) {
        headers.insert(X_REQUEST_ID, id);
    }
    let left = deadline.saturating_duration_since(Instant::now());
    forwarder.forward(leader, request.method.clone(), request.path, request.body.clone(), &headers, left).await
}

/// The time until the answer, which another replica can only shorten.
fn time_left(headers: &HeaderMap, most: Duration) -> Duration {
    let reported = headers.get(DEADLINE_MS).and_then(|value| value.to_str().ok()?.parse().ok());
    reported.map_or(most, |millis| Duration::from_millis(millis).min(most))
}
