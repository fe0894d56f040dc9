//! The server side of the LIQUID API: routes, the order of checks, request ids and metrics. What a change of commitments
//! does is behind [`ChangeHandler`], and what quota does behind [`QuotaHandler`].

mod api;
mod body;
mod callers;
mod endpoint;
mod handler;
mod metrics;
mod policies;
mod project;
mod refusal;
mod reported;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::Response;
use axum::routing::any;

pub use api::{LiquidAccess, LiquidApi, LiquidParts};
pub use body::BodyLimits;
pub use callers::LiquidCallers;
use endpoint::Endpoint;
pub use endpoint::Switches;
pub use handler::{AnsweredChange, ChangeCall, ChangeHandler, QuotaCall, QuotaHandler};
pub use metrics::LiquidMetrics;
pub use policies::default_policies;
use refusal::Refusal;

/// The five routes. Bodies are bounded here, whatever the listener allows.
pub fn router(api: Arc<LiquidApi>) -> Router {
    let limit = DefaultBodyLimit::max(api.body_limit());
    // Every method reaches the handlers: a router would answer HEAD like GET.
    Router::new()
        .route("/commitments/v1/info", any(info))
        .route("/commitments/v1/report-capacity", any(report_capacity))
        .route("/commitments/v1/change-commitments", any(change_commitments))
        .route("/commitments/v1/projects/{*rest}", any(of_project))
        .layer(limit)
        .with_state(api)
}

type Shared = State<Arc<LiquidApi>>;

async fn info(State(api): Shared, request: Request) -> Response {
    api.handle(Endpoint::Info, request).await
}

async fn report_capacity(State(api): Shared, request: Request) -> Response {
    api.handle(Endpoint::Capacity, request).await
}

async fn change_commitments(State(api): Shared, request: Request) -> Response {
    api.handle(Endpoint::Change, request).await
}

/// The end of the path says which endpoint is meant.
async fn of_project(State(api): Shared, request: Request) -> Response {
    match project::endpoint(request.uri().path()) {
        Some(endpoint) => api.handle(endpoint, request).await,
        None => Refusal::UnknownPath.answer(),
    }
}
