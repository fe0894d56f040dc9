//! The pipeline around every request: request id, CORS, authentication, microversion, content headers, routing, the
//! handler, and the headers of the answer. The order decides which error is reported.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::any;
use berth_http::Peer;
use berth_openstack::authentication::{Caller, RETRY_AFTER, Unknown};
use berth_openstack::policy::Target;
use berth_placement_model::Version;
use futures::FutureExt as _;
use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
use crate::api::Api;
use crate::handlers::call::Call;
use crate::protocol::api_error::{ApiError, ErrorContext};
use crate::protocol::names::{self, RequestId};
use crate::protocol::{accept, body, content, microversion, target};
use crate::route::{self, Destination, Endpoint, Media, PATHS, Route};
use crate::{handlers, unread};

impl Api {
    /// The API as a router. The API routes by itself; the paths are listed here for metrics only.
    pub fn router(self) -> Router {
        let named = PATHS.iter().fold(Router::new(), |router, (_, path)| router.route(path, any(serve)));
        named.fallback(serve).with_state(Arc::new(self))
    }
}

async fn serve(State(api): State<Arc<Api>>, request: Request) -> Response {
    let id = RequestId::random();
    let (parts, body) = request.into_parts();
    tracing::debug!(request_id = %id, request_id_of_client = names::given(&parts.headers), "placement request");
    if let Some(preflight) = api.cors.as_ref().and_then(|cors| cors.preflight(&parts.method, &parts.headers)) {
        return named(preflight, &id);
    }
    let mut body = Some(body);
    let (version, mut response) = answered(&api, &parts, &mut body, &id).await;
    if !body::is_over(&api, &parts.headers, body, response.status()).await {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(version) = version {
        add_version_headers(&mut response, version);
    }
    if let Some(cors) = &api.cors {
        cors.add_headers(&parts.headers, &mut response);
    }
    named(response, &id)
}

/// The answer, and the version that it was made for once that is known.
async fn answered(
    api: &Arc<Api>,
    parts: &Parts,
    body: &mut Option<Body>,
    id: &RequestId,
) -> (Option<Version>, Response) {
    let until = Instant::now() + api.bounds.deadline;
    let mut version = None;
    // Clients and pages of other sites must be able to read also that something is broken.
    let done = AssertUnwindSafe(handle_within_deadline(api, parts, body, until, &mut version)).catch_unwind();
    let done = timeout_at(until + api.bounds.grace, done).await;
    let late = || ApiError::unavailable(format!("no answer within {} s", api.bounds.deadline.as_secs()));
    let done = done.map_err(|_| late()).and_then(|done| done.unwrap_or_else(|_| Err(internal_error(id))));
    let refused = |error: ApiError| {
        error.answer(&ErrorContext { id, headers: &parts.headers, method: parts.method.as_str(), version })
    };
    let response = match done {
        Ok(answer) => answer.response(version.unwrap_or(Version::OLDEST), api.clock.now()),
        Err(error) => refused(error),
    };
    let (head, body) = response.into_parts();
    // A refusal may quote much of the request.
    let response = match unread::hold_whole(api, until, body).await {
        Ok(body) => Response::from_parts(head, body),
        Err(error) => refused(error),
    };
    (version, response)
}

/// The response for a handler that panicked; the panic itself has written the cause to the log.
fn internal_error(id: &RequestId) -> ApiError {
    tracing::error!(request_id = %id, "a defect: a placement request was not answered by its handler");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "a defect of the server; its log has this request id")
}

async fn handle_within_deadline(
    api: &Arc<Api>,
    parts: &Parts,
    body: &mut Option<Body>,
    until: Instant,
    known: &mut Option<Version>,
) -> Result<Answer, ApiError> {
    let caller = caller(api, parts, until).await?;
    let version = microversion::version(&parts.headers)?;
    *known = Some(version);
    content::check(&parts.headers)?;
    let long = parts.uri.path().len() + parts.uri.query().map_or(0, str::len) > api.bounds.target;
    if long {
        return Err(ApiError::new(StatusCode::URI_TOO_LONG, "use fewer or shorter parameters"));
    }
    let Destination { endpoint, key, name } = route::find(&parts.method, parts.uri.path())?;
    check_before_body(endpoint, version, parts)?;
    let query = query(endpoint, parts)?;
    allowed(api, endpoint, &caller, &query)?;
    let body = match body.take_if(|_| has_body(endpoint, version)) {
        Some(body) => Some(body::read(api, &parts.headers, body, until).await?),
        None => None,
    };
    let _turn = api.acquire_permit(until).await?;
    let call = Call { key, name, query, version, body, until };
    handlers::handle(api, endpoint.action, &call).await
}

async fn caller(api: &Api, parts: &Parts, until: Instant) -> Result<Caller, ApiError> {
    if matches!(parts.uri.path(), "" | "/") {
        return Ok(Caller::default());
    }
    let caller = api.authentication.caller(&parts.headers, until).await.map_err(|unknown| match unknown {
        Unknown::Unauthorized => ApiError::new(StatusCode::UNAUTHORIZED, ""),
        Unknown::Unavailable(cause) => ApiError::unavailable(cause).with_retry_after(RETRY_AFTER),
    })?;
    if api.authentication.proves_callers() {
        Peer::mark_authenticated_in(&parts.extensions);
    }
    Ok(caller)
}

/// The version gate and the media types. Aggregates check media types first.
fn check_before_body(endpoint: &Endpoint, version: Version, parts: &Parts) -> Result<(), ApiError> {
    if endpoint.route == Route::Aggregates {
        media(endpoint, version, parts)?;
    }
    if !version.has(endpoint.since) {
        // DELETE of all inventories is an old path with a new method.
        let old_path = endpoint.route == Route::Inventories;
        let status = if old_path { StatusCode::METHOD_NOT_ALLOWED } else { StatusCode::NOT_FOUND };
        return Err(ApiError::new(status, ""));
    }
    media(endpoint, version, parts)
}

fn media(endpoint: &Endpoint, version: Version, parts: &Parts) -> Result<(), ApiError> {
    if has_body(endpoint, version) {
        return content::require_json(&parts.headers);
    }
    if endpoint.media == Media::Answer && !accept::takes_json(&parts.headers) {
        return Err(ApiError::new(StatusCode::NOT_ACCEPTABLE, "Only application/json is provided"));
    }
    Ok(())
}

fn has_body(endpoint: &Endpoint, version: Version) -> bool {
    match endpoint.media {
        Media::Body => true,
        Media::BodyBefore(minor) => !version.has(minor),
        Media::Any | Media::Answer => false,
    }
}

fn query(endpoint: &Endpoint, parts: &Parts) -> Result<Vec<(String, String)>, ApiError> {
    let asks = matches!(endpoint.route, Route::Providers | Route::Traits | Route::Usages | Route::Candidates);
    if asks { target::parameters(parts.uri.query().unwrap_or_default()) } else { Ok(Vec::new()) }
}

/// The policy; GET `/usages` is about the project of the query, everything else about the caller's own.
fn allowed(api: &Api, endpoint: &Endpoint, caller: &Caller, query: &[(String, String)]) -> Result<(), ApiError> {
    let Some(rule) = endpoint.rule else { return Ok(()) };
    let target = if endpoint.route == Route::Usages {
        let project = query.iter().rev().find(|(name, _)| name == "project_id").map(|(_, value)| value.as_str());
        Target { project, user: None }
    } else {
        Target { project: caller.project.as_deref(), user: Some(&caller.user) }
    };
    let checked = api.policies.authorize(rule, caller, &target);
    checked.map_err(|no| ApiError::new(StatusCode::FORBIDDEN, no.to_string()))
}

/// Headers of every answer for which there is a version.
fn add_version_headers(response: &mut Response, version: Version) {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("openstack-api-version"));
    if let Some(value) = microversion::to_header(version) {
        headers.insert(microversion::OPENSTACK_API_VERSION, value);
    }
}

fn named(mut response: Response, id: &RequestId) -> Response {
    if let Some(value) = id.to_header() {
        response.headers_mut().insert(names::X_OPENSTACK_REQUEST_ID, value);
    }
    response
}
