//! The way of one request: in which order it is checked, who decides on it, and how long that may take.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use berth_http::{LogReason, Peer};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout_at};

use super::api::Api;
use super::refusal::Refusal;
use super::run::Ran;
use super::{DEADLINE_MS, FORWARDED, Unanswered, body, run, showing};
use crate::wire::{self, Incoming};
use crate::{Backend, Role};

/// From this size on a body is parsed outside the runtime: 32 MiB take a tenth of a second, and the rest of this
/// process, including the renewal of its lease, must not wait for that.
const LARGE: usize = 1 << 20;

/// A request waits so long for a leader. On any error Nova places the VM past every promise, and a hand-over takes less
/// than this; it takes longer only after the death of a leader.
const FOR_A_LEADER: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn handle<B: Backend>(State(api): State<Arc<Api<B>>>, request: Request) -> Response {
    let started = Instant::now();
    let _inside = api.metrics.enter();
    let (head, body) = request.into_parts();
    let deadline = started + time_left(&head.headers, api.limits.answer);
    let answered = timeout_at(deadline, api.respond(&head, body, deadline)).await;
    let result = answered.unwrap_or(Err(Refusal::Deadline));
    api.finish(&head.method, started, result)
}

pub(super) async fn wrong_method<B: Backend>(State(api): State<Arc<Api<B>>>, method: Method) -> Response {
    api.finish(&method, Instant::now(), Err(Refusal::Method))
}

fn time_left(headers: &HeaderMap, most: Duration) -> Duration {
    let reported = headers.get(DEADLINE_MS).and_then(|value| value.to_str().ok()?.parse().ok());
    reported.map_or(most, |millis| Duration::from_millis(millis).min(most))
}

impl<B: Backend> Api<B> {
    fn finish(&self, method: &Method, started: Instant, result: Result<Response, Refusal>) -> Response {
        let (response, class) = match result {
            Ok(response) if response.status() == StatusCode::OK => (response, "Success"),
            Ok(response) => (response, "answered by the leader"),
            Err(refusal) => {
                let mut response = refusal.answer();
                response.extensions_mut().insert(log_reason(&refusal));
                (response, refusal.class())
            }
        };
        self.metrics.answered(method, response.status(), class, started.elapsed());
        response
    }

    async fn respond(&self, head: &Parts, body: Body, deadline: Instant) -> Result<Response, Refusal> {
        let headers = &head.headers;
        if let Some(tokens) = &self.tokens {
            if !showing::shows(tokens, headers) {
                return Err(Refusal::UnknownClient);
            }
            Peer::mark_authenticated_in(&head.extensions);
        }
        if let Some(reason) = self.backend.not_ready() {
            return Err(Refusal::NotReady(reason));
        }
        let declared = body::declared(headers);
        if declared.is_some_and(|bytes| bytes > self.limits.body) {
            return Err(Refusal::TooLarge);
        }
        let mut share = self.admission_limiter.body_share();
        let body = body::read(body, declared, &mut share, &self.limits).await?;
        let _permit = self.admission_limiter.enter().await?;
        let incoming = decode(&body, self.admission_limiter.acquire_decode().await?).await?;
        incoming.request.pipeline_name()?;
        let latest = deadline.min(Instant::now() + FOR_A_LEADER);
        loop {
            let result = match self.leader(&incoming, headers) {
                Ok(None) => return self.decide(incoming).await,
                Ok(Some(leader)) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    Ok(self.forwarder.forward(&leader, Method::POST, wire::PATH, body.clone(), headers, left).await)
                }
                Err(refusal) => Err(refusal),
            };
            if Instant::now() >= latest || !lacks_a_leader(&result) {
                return result;
            }
            self.backend.find_leader();
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn decide(&self, incoming: Incoming) -> Result<Response, Refusal> {
        let Ran { response, has_claimed } = run::run(self, incoming)?;
        if has_claimed {
            self.backend.keep_claim().await;
        }
        Ok(response)
    }

    /// The leader that must decide; `None` if it is this process.
    fn leader(&self, incoming: &Incoming, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
        match self.backend.role() {
            Role::Leader => Ok(None),
            Role::Follower { .. } if incoming.request.options.read_only => Ok(None),
            Role::Follower { .. } if headers.contains_key(FORWARDED) => Err(Refusal::Forwarded),
            Role::Follower { leader } => leader.map(Some).ok_or(Refusal::NoLeader),
        }
    }
}

/// The listener logs refusals, except those of runs, which were logged with their properties.
fn log_reason(refusal: &Refusal) -> LogReason {
    if refusal.is_of_a_run() { LogReason::Logged } else { LogReason::Text(refusal.line()) }
}

/// Nobody has decided, and the next leader will.
fn lacks_a_leader(result: &Result<Response, Refusal>) -> bool {
    match result {
        Ok(response) => response.extensions().get::<Unanswered>().is_some(),
        Err(refusal) => *refusal == Refusal::NoLeader,
    }
}

/// Decodes a body while the permit is held.
async fn decode(body: &Bytes, permit: OwnedSemaphorePermit) -> Result<Incoming, Refusal> {
    if body.len() < LARGE {
        return Ok(wire::decode(body)?);
    }
    let body = body.clone();
    let decode = move || {
        // A request that is given up is decoded to its end.
        let _permit = permit;
        wire::decode(&body)
    };
    match tokio::task::spawn_blocking(decode).await {
        Ok(decoded) => Ok(decoded?),
        // A panic is a bug, and answered like one in any handler; otherwise the runtime ends.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Refusal::NotReady("this process ends".to_owned())),
        },
    }
}
