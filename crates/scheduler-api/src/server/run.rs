//! One run on this process: the scheduler is asked, what came of it is told to whoever writes something about it, then
//! counted, logged and answered. A run takes less than a millisecond and waits for nothing but the scheduler's lock.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_scheduler::{Answer, Call, Candidates, Intent, Request, SchedulerError, Stopwatch as _};

use super::{Api, refusal::Refusal, surroundings::Watch};
use crate::wire::{self, Incoming, one_line};
use crate::{Backend, Outcome};

/// Characters of a caller's text in a line of the log.
const SHOWN: usize = 120;

pub(super) fn run<B: Backend>(api: &Api<B>, incoming: Incoming) -> Result<Response, Refusal> {
    let span = tracing::info_span!(
        "scheduling",
        greq = one_line(&incoming.global_request_id, SHOWN),
        req = one_line(&incoming.request_id, SHOWN),
        user = one_line(&incoming.user, SHOWN),
        project = one_line(&incoming.project, SHOWN),
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
    let result = result.and_then(|answer| match failed(&request, &answer) {
        Some(error) => Err(error),
        None => Ok(answer),
    });
    report(&request, &result);
    Ok(hosts(&*result?))
}

fn ask<B: Backend>(api: &Api<B>, request: &Request) -> Result<Answer, SchedulerError> {
    let guest = if request.options.read_only { None } else { api.backend.guest(request) };
    let watch = Watch::start();
    let answer = api.backend.scheduler().answer(&Call {
        request,
        now: (api.surroundings.now)(),
        chance: (api.surroundings.chance)(),
        guest: guest.as_ref(),
        stopwatch: Some(&watch),
    })?;
    if let Ok(pipeline) = request.pipeline_name() {
        api.metrics.ran(pipeline, &answer, watch.elapsed());
    }
    Ok(answer)
}

/// A filter that could not do its work is an error for callers of our own kind, and an empty list for Nova (U37).
fn failed(request: &Request, answer: &Answer) -> Option<SchedulerError> {
    let internal = matches!(
        request.intent(),
        Some(
            Intent::ReserveForCommittedResource
                | Intent::ReserveForFailover
                | Intent::ReuseFailoverReservation
                | Intent::CapacityProbe
        )
    );
    answer.decision.failed.clone().filter(|_| internal)
}

fn report(request: &Request, result: &Result<Arc<Answer>, SchedulerError>) {
    let status = match result {
        Ok(_) => StatusCode::OK,
        Err(error) => Refusal::from(error.clone()).status(),
    };
    let listed = match &request.candidates {
        Candidates::All => 0,
        Candidates::Listed(hosts) => hosts.len(),
    };
    tracing::info!(
        instance = one_line(request.instance.as_str(), SHOWN),
        intent = request.intent().map_or("Unknown", Intent::as_str),
        pipeline = one_line(request.pipeline_name().unwrap_or_default(), SHOWN),
        hosts.listed = listed,
        hosts.out = result.as_ref().map_or(0, |answer| answer.hosts.len()),
        status = status.as_u16(),
        "scheduling request decided",
    );
    if let Ok(answer) = result {
        let hosts: Vec<&str> = answer.hosts.iter().take(3).map(berth_core::HostName::as_str).collect();
        tracing::debug!(?hosts, removed = %answer.decision.removed, failed = ?answer.decision.failed, "its decision");
    }
}

fn hosts(answer: &Answer) -> Response {
    let mut response = Response::new(Body::from(wire::encode_answer(answer)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
