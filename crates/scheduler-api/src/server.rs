//! The server side of `POST /scheduler/nova/external`: authentication, forwarding and status codes. The scheduler
//! decides which host is best, and [`crate::wire`] interprets bodies. Beside it are the questions of `berth explain`.

mod admission_limiter;
mod api;
mod body;
mod explain;
mod handle;
mod limits;
mod refusal;
mod run;
mod showing;
#[cfg(test)]
mod tests;
mod time_and_random;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;

use crate::Backend;

pub use crate::wire::PATH;
pub use api::Api;
pub use berth_http::forwarder::{DEADLINE_MS, FORWARDED, Forwarder, NOT_DECIDED, Unanswered};
pub use explain::explain_router;
pub use limits::ApiLimits;
pub use showing::TokensInForce;
pub use time_and_random::TimeAndRandom;

/// Exactly one path, exactly one method. Bodies are bounded here, whatever the listener allows.
pub fn router<B: Backend>(api: Arc<Api<B>>) -> Router {
    let method = post(handle::handle::<B>).fallback(handle::wrong_method::<B>);
    Router::new().route(PATH, method).with_state(api)
}
