//! The server side of `POST /scheduler/nova/external`: who is heard, who answers, and with which status. Which host is
//! best is decided by the scheduler, what a body means by [`crate::wire`].

mod api;
mod body;
mod forwarder;
mod gate;
mod handle;
mod limits;
mod refusal;
mod run;
mod showing;
mod surroundings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;

use crate::Backend;

pub use crate::wire::PATH;
pub use api::Api;
pub use forwarder::{DEADLINE_MS, FORWARDED, Forwarder};
pub use limits::ApiLimits;
pub use surroundings::Surroundings;

/// Exactly one path, exactly one method. Bodies are bounded here, whatever the listener allows.
pub fn router<B: Backend>(api: Arc<Api<B>>) -> Router {
    let method = post(handle::handle::<B>).fallback(handle::wrong_method::<B>);
    Router::new().route(PATH, method).with_state(api)
}
