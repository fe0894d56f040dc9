//! Handles the requests of one process: the order of checks, and who answers.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_core::ProjectId;
use berth_core::liquid::capacity::CapacityRequest;
use berth_core::liquid::usage::UsageRequest;
use berth_http::RequestId;
use berth_http::request_id::X_REQUEST_ID;
use tokio::time::Instant;

use super::body::{BodyLimits, BodyReader};
use super::callers::LiquidCallers;
use super::endpoint::{Endpoint, Switches};
use super::handler::{ChangeCall, ChangeHandler, QuotaCall, QuotaHandler};
use super::metrics::LiquidMetrics;
use super::project;
use super::refusal::Refusal;
use crate::capacity::CapacityReports;
use crate::info::{InfoSource, Publication, PublishedInfo};
use crate::usage::{UsageError, UsageReports};

/// Whether callers are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiquidAccess {
    /// Clients are served as their callers are known.
    Open,
    /// Clients on other machines reach the listener, and nothing can tell which of them is Limes.
    Closed,
}

/// The dependencies of the API.
pub struct LiquidParts {
    pub source: InfoSource,
    pub published: PublishedInfo,
    pub changes: Arc<dyn ChangeHandler>,
    pub quota: Arc<dyn QuotaHandler>,
    pub usage: UsageReports,
    pub capacity: CapacityReports,
    pub switches: Switches,
    pub access: LiquidAccess,
    pub callers: LiquidCallers,
    pub limits: BodyLimits,
    pub metrics: LiquidMetrics,
}

/// The API of one process.
pub struct LiquidApi {
    source: InfoSource,
    published: PublishedInfo,
    changes: Arc<dyn ChangeHandler>,
    quota: Arc<dyn QuotaHandler>,
    usage: UsageReports,
    capacity: CapacityReports,
    switches: Switches,
    access: LiquidAccess,
    callers: LiquidCallers,
    bodies: BodyReader,
    metrics: LiquidMetrics,
}

impl LiquidApi {
    pub fn new(parts: LiquidParts) -> Self {
        let LiquidParts {
            source,
            published,
            changes,
            quota,
            usage,
            capacity,
            switches,
            access,
            callers,
            limits,
            metrics,
        } = parts;
        let bodies = BodyReader::new(limits);
        Self { source, published, changes, quota, usage, capacity, switches, access, callers, bodies, metrics }
    }

    pub(super) fn body_limit(&self) -> usize {
        self.bodies.limits.body
    }

    pub(super) async fn handle(&self, endpoint: Endpoint, request: Request) -> Response {
        let started = Instant::now();
        let given = request.extensions().get::<RequestId>().cloned();
        let id = given.unwrap_or_else(|| RequestId::of(request.headers()));
        let answered = self.respond(endpoint, &id, request).await;
        let mut response = answered.unwrap_or_else(|refusal| refusal.answer());
        if let Ok(value) = HeaderValue::from_str(id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
        self.metrics.answered(endpoint, &response, started.elapsed());
        response
    }

    async fn respond(&self, endpoint: Endpoint, id: &RequestId, request: Request) -> Result<Response, Refusal> {
        let allowed = endpoint.method();
        if *request.method() != allowed {
            return Err(Refusal::Method(allowed));
        }
        if self.access == LiquidAccess::Closed {
            return Err(Refusal::NoAuthentication);
        }
        let (parts, body) = request.into_parts();
        self.callers.authorize(endpoint, &parts).await?;
        let request = Request::from_parts(parts, body);
        if let Some(api) = endpoint.disabled_api(self.switches) {
            return Err(Refusal::Disabled(api));
        }
        match endpoint {
            Endpoint::Info => self.info(),
            Endpoint::Change => self.change(id, request).await,
            Endpoint::Capacity => self.capacity(request).await,
            Endpoint::Usage => self.usage(request).await,
            Endpoint::Quota => self.set_quota(id, request).await,
        }
    }

    fn info(&self) -> Result<Response, Refusal> {
        Ok(json(format!("{}\n", self.published()?.json)))
    }

    fn published(&self) -> Result<Arc<Publication>, Refusal> {
        self.published.get().ok_or_else(|| Refusal::NothingPublished(self.source.reason_unpublished()))
    }

    async fn usage(&self, request: Request) -> Result<Response, Refusal> {
        let project = checked_project(&request)?;
        let (body, _share) = self.bodies.read(request).await?;
        let asked = UsageRequest::decode(&body).map_err(|error| Refusal::InvalidBody(error.to_string()))?;
        let published = self.published()?;
        let report = self.usage.report(&published.info, &project, &asked);
        report.map(json).map_err(|error: UsageError| Refusal::NoReport("usage", error.to_string()))
    }

    async fn capacity(&self, request: Request) -> Result<Response, Refusal> {
        let (body, _share) = self.bodies.read(request).await?;
        let asked = CapacityRequest::decode(&body).map_err(|error| Refusal::InvalidBody(error.to_string()))?;
        let published = self.published()?;
        let report = self.capacity.report(&published.info, &asked);
        let report = report.map_err(|error| Refusal::NoCapacity(error.to_string()))?;
        self.metrics.show_capacity(&report, &published.info);
        Ok(json(report.json))
    }

    async fn set_quota(&self, id: &RequestId, request: Request) -> Result<Response, Refusal> {
        let project = checked_project(&request)?;
        let headers = request.headers().clone();
        let (body, _share) = self.bodies.read(request).await?;
        Ok(self.quota.set_quota(QuotaCall { project, body, headers, request_id: id.to_string() }).await)
    }

    async fn change(&self, id: &RequestId, request: Request) -> Result<Response, Refusal> {
        let headers = request.headers().clone();
        let (body, _share) = self.bodies.read(request).await?;
        Ok(self.changes.change(ChangeCall { body, headers, request_id: id.to_string() }).await)
    }
}

/// The project that the path names.
fn checked_project(request: &Request) -> Result<ProjectId, Refusal> {
    let path = request.uri().path();
    project::check(path)?;
    Ok(project::id(path).unwrap_or_default().into())
}

/// A result in JSON.
fn json(body: String) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
