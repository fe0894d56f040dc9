//! One run on this process: the scheduler decides, observers get the outcome, and then the run is counted, logged and
//! answered. A run takes less than a millisecond and waits only for the scheduler's lock.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_core::text::escape_line;
use berth_scheduler::{Answer, Call, Candidates, Intent, QuotaResource, Request, SchedulerError, Stopwatch as _};

use super::api::Api;
use super::refusal::Refusal;
use super::time_and_random::Watch;
use crate::wire::{self, Incoming};
use crate::{Backend, Outcome};

/// Characters of a caller's text in a line of the log.
const SHOWN: usize = 120;

/// The outcome of a run.
pub(super) struct Ran {
    pub(super) response: Response,
    /// A claim holds the first host of the response.
    pub(super) has_claimed: bool,
}

pub(super) fn run<B: Backend>(api: &Api<B>, incoming: Incoming) -> Result<Ran, Refusal> {
    let span = tracing::info_span!(
        "scheduling",
        greq = escape_line(&incoming.global_request_id, SHOWN),
        req = escape_line(&incoming.request_id, SHOWN),
        user = escape_line(&incoming.user, SHOWN),
        project = escape_line(&incoming.project, SHOWN),
    );
    let _inside = span.entered();
    let request = Arc::new(incoming.request);
    let result = ask(api, &request).map(Arc::new);
    api.backend.decided(Outcome {
        request: request.clone(),
        request_id: incoming.request_id,
        global_request_id: incoming.global_request_id,
        result: result.clone(),
    });
    report(&request, &result);
    let answer = result?;
    let has_claimed = !request.options.read_only && !answer.hosts.is_empty();
    Ok(Ran { response: hosts(&request, &answer), has_claimed })
}

fn ask<B: Backend>(api: &Api<B>, request: &Request) -> Result<Answer, SchedulerError> {
    let guest = api.backend.guest(request);
    let watch = Watch::start();
    let answer = api.backend.scheduler().answer(&Call {
        request,
        now: (api.surroundings.now)(),
        time: api.surroundings.clock.now(),
        trusted_time: api.surroundings.clock.trusted_now().ok(),
        chance: (api.surroundings.chance)(),
        guest: guest.as_ref().ok().and_then(Option::as_ref),
        explain: request.options.explain || api.backend.remembers(request),
        stopwatch: Some(&watch),
    })?;
    if let Ok(pipeline) = request.pipeline_name() {
        api.metrics.ran(pipeline, &answer, watch.elapsed());
    }
    if let Some(refused) = answer.refused {
        api.metrics.claim_refused(refused);
    }
    api.metrics.quota_decided(request, &answer);
    api.metrics.covered(request, &guest, &answer);
    Ok(answer)
}

fn report(request: &Request, result: &Result<Arc<Answer>, SchedulerError>) {
    let refusal = result.as_ref().err().map(|error| Refusal::from(error.clone()));
    let status = refusal.as_ref().map_or(StatusCode::OK, Refusal::status);
    let listed = match &request.candidates {
        Candidates::All => 0,
        Candidates::Listed(hosts) => hosts.len(),
    };
    tracing::info!(
        instance = escape_line(request.instance.as_str(), SHOWN),
        intent = request.intent().map_or("Unknown", Intent::as_str),
        pipeline = escape_line(request.pipeline_name().unwrap_or_default(), SHOWN),
        hosts_listed = listed,
        hosts_out = result.as_ref().map_or(0, |answer| answer.hosts.len()),
        status = status.as_u16(),
        claim_refused = result.as_ref().ok().and_then(|answer| answer.refused).map(|refused| refused.to_string()),
        quota_exceeded = result.as_ref().ok().and_then(|answer| exceeded(answer)).map(QuotaResource::as_str),
        error = refusal.map(|refusal| refusal.line()),
        "scheduling request decided",
    );
    if let Ok(answer) = result {
        let hosts: Vec<&str> = answer.hosts.iter().take(3).map(berth_core::HostName::as_str).collect();
        let quota = answer.decision.quota.as_ref();
        tracing::debug!(
            ?hosts,
            removed = %answer.decision.removed,
            failed = ?answer.decision.failed,
            quota = quota.and_then(|verdict| serde_json::to_string(verdict).ok()),
            "decision",
        );
    }
}

/// The resource for lack of which a request got no host.
fn exceeded(answer: &Answer) -> Option<QuotaResource> {
    answer.decision.quota.as_ref().filter(|verdict| verdict.removes_hosts())?.resource
}

fn hosts(request: &Request, answer: &Answer) -> Response {
    let body = wire::encode_answer(answer, request.options.explain);
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
