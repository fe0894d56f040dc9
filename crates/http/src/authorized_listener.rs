//! A listener for those who may read its paths: over TLS, with a certificate of its own.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;

use crate::answer;
use crate::authorization::{Authorizer, require};
use crate::error::HttpError;
use crate::server::Server;
use crate::tls::Tls;

impl Server {
    /// The server and the router for callers that the authorizer knows, over TLS. Without TLS everyone gets the routes of
    /// `plain`, if any, and is told about TLS elsewhere.
    pub fn for_authorized(
        self,
        router: Router,
        plain: Option<Router>,
        authorizer: Arc<dyn Authorizer>,
    ) -> Result<(Self, Router), HttpError> {
        let tls = Tls::self_signed(vec!["berth".to_owned(), "localhost".to_owned()])?;
        Ok((self.with_tls(tls, plain.unwrap_or_default().fallback(needs_tls)), require(router, authorizer)))
    }
}

/// The response to a request without TLS for a path that is served over TLS only.
pub async fn needs_tls() -> Response {
    answer::text(StatusCode::BAD_REQUEST, "this is served over HTTPS, to callers with a token")
}
