//! Listeners over TLS, and those for callers who may read their paths, which always are.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;

use crate::answer;
use crate::authorization::{Authorizer, require};
use crate::error::HttpError;
use crate::server::Server;
use crate::tls::{Tls, TlsInForce};

impl Server {
    /// Serves over TLS only, with the certificate in force.
    pub fn over_tls(self, in_force: &TlsInForce) -> Result<Self, HttpError> {
        Ok(self.with_tls(Tls::of_files(in_force)?, Router::new().fallback(needs_https)))
    }

    /// The server and the router for callers that the authorizer knows, over TLS, with the certificate in force or, without one,
    /// one that the process signs. Without TLS everyone gets the routes of `plain`, if any, and is told about TLS elsewhere.
    pub fn for_authorized(
        self,
        router: Router,
        plain: Option<Router>,
        authorizer: Arc<dyn Authorizer>,
        in_force: Option<&TlsInForce>,
    ) -> Result<(Self, Router), HttpError> {
        let tls = match in_force {
            Some(in_force) => Tls::of_files(in_force)?,
            None => Tls::self_signed(vec!["berth".to_owned(), "localhost".to_owned()])?,
        };
        Ok((self.with_tls(tls, plain.unwrap_or_default().fallback(needs_tls)), require(router, authorizer)))
    }
}

async fn needs_https() -> Response {
    answer::text(StatusCode::BAD_REQUEST, "this is served over HTTPS; begin the URL with https://")
}

/// The response to a request without TLS for a path that is served over TLS only.
pub async fn needs_tls() -> Response {
    answer::text(StatusCode::BAD_REQUEST, "this is served over HTTPS, to callers with a token")
}
