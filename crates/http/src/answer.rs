//! The form of answers: JSON with a newline, errors as one line of plain text, and answers for unknown paths and
//! methods.

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;

const PLAIN: &str = "text/plain; charset=utf-8";

/// One line of plain text: the form of every error of the LIQUID and scheduler APIs.
pub fn text(status: StatusCode, message: impl Into<String>) -> Response {
    let mut message = message.into();
    message.push('\n');
    answer(status, [(CONTENT_TYPE, PLAIN), (X_CONTENT_TYPE_OPTIONS, "nosniff")], message)
}

/// Compact JSON and a newline. A value that has no JSON is a bug and answered with 500.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(mut body) => {
            body.push('\n');
            answer(status, [(CONTENT_TYPE, "application/json")], body)
        }
        Err(error) => {
            tracing::error!(error = %error, "bug: answer cannot be encoded as JSON");
            text(StatusCode::INTERNAL_SERVER_ERROR, "failed to encode response")
        }
    }
}

/// Lets a router answer unknown paths with 404 and wrong methods with 405 and `Allow`, both as plain text. Call it
/// last: routes that are added later do not have it.
pub fn refusals<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed)
}

async fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "no such path")
}

async fn method_not_allowed() -> Response {
    text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed")
}

fn answer<const N: usize>(status: StatusCode, headers: [(HeaderName, &'static str); N], body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
