//! Requests that only the leader may decide, on their way to it.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use tokio::time::timeout;
use tracing::warn;

use crate::error::HttpError;
use crate::forwarder::{DEADLINE_MS, FORWARDED, Forwarder, NOT_DECIDED, Unanswered};
use crate::request_id::X_REQUEST_ID;
use crate::tls::TlsInForce;
use crate::{answer, client};

/// A leader that takes longer to accept a connection counts as gone.
const CONNECT: Duration = Duration::from_secs(1);
/// Bytes of an answer: many times what ten thousand explained hosts take.
const MOST: usize = 64 << 20;
/// Seconds. A new leader is there within 15, and mostly much sooner.
const TRY_AGAIN: HeaderValue = HeaderValue::from_static("2");
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// The headers of the client that are forwarded. The leader checks the token as well.
const SENT: [HeaderName; 4] = [AUTHORIZATION, X_AUTH_TOKEN, CONTENT_TYPE, X_REQUEST_ID];
const ANSWERED: [HeaderName; 4] = [CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS, RETRY_AFTER, WWW_AUTHENTICATE];

/// Forwards requests to the leader, over connections that stay open.
#[derive(Clone, Debug)]
pub struct Forward {
    client: Client,
    me: HeaderValue,
}

/// Why there is no answer of the leader.
#[derive(Debug, thiserror::Error)]
enum ForwardError {
    #[error("the leader cannot be reached: {0}; try again")]
    Away(String),
    #[error("the leader did not answer within {} ms, so whether it has decided is unknown; try again", .0.as_millis())]
    Slow(Duration),
    #[error("the answer of the leader did not arrive: {0}; whether it has decided is unknown; try again")]
    Cut(String),
}

impl Forward {
    /// One for the whole process. `me` is the identity of this process in the election, `tls` the certificate that it shares with
    /// the other replicas, if they serve over TLS.
    pub fn new(me: &str, tls: Option<&TlsInForce>) -> Result<Self, HttpError> {
        let tls = tls.map(TlsInForce::client_of_peers).transpose();
        let tls = tls.map_err(|source| HttpError::Client { source: source.into() })?;
        let settings = || {
            let settings = Client::builder().connect_timeout(CONNECT).redirect(Policy::none()).no_proxy();
            if let Some(tls) = &tls { settings.tls_backend_preconfigured(tls.clone()) } else { settings }
        };
        let client = client::build(settings).map_err(|source| HttpError::Client { source: source.into() })?;
        Ok(Self { client, me: HeaderValue::from_str(me).unwrap_or(HeaderValue::from_static("1")) })
    }

    fn request(&self, target: (Method, &str), body: Bytes, headers: &HeaderMap, left: Duration) -> RequestBuilder {
        let (method, url) = target;
        let request = self.client.request(method, url);
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let request = request.header(FORWARDED, &self.me).header(DEADLINE_MS, left);
        request.headers(chosen(headers, SENT)).body(body)
    }
}

impl Forwarder for Forward {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        method: Method,
        path: &'a str,
        body: Bytes,
        headers: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        let url = format!("{leader}{path}");
        let request = self.request((method, &url), body, headers, left);
        async move {
            // Elapsed, or cut: the leader may have decided, and then its assume entry holds the host until it runs out.
            let answer = timeout(left, exchange(request)).await.unwrap_or(Err(ForwardError::Slow(left)));
            answer.unwrap_or_else(|unheard| {
                warn!(url, error = %unheard, "request not forwarded");
                answer_unreachable(&unheard)
            })
        }
        .boxed()
    }
}

fn chosen<const N: usize>(headers: &HeaderMap, names: [HeaderName; N]) -> HeaderMap {
    names.into_iter().filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}

async fn exchange(request: RequestBuilder) -> Result<Response, ForwardError> {
    let mut answer = request.send().await.map_err(|error| {
        let sent = !error.is_connect() && !error.is_builder();
        if sent { ForwardError::Cut(client::line(error)) } else { ForwardError::Away(client::line(error)) }
    })?;
    let mut body = Vec::new();
    match client::first_bytes(&mut answer, MOST, &mut body).await {
        Ok(true) => {}
        Ok(false) => return Err(ForwardError::Cut(format!("it is longer than {MOST} bytes"))),
        Err(error) => return Err(ForwardError::Cut(client::line(error))),
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = chosen(answer.headers(), ANSWERED);
    if answer.headers().contains_key(NOT_DECIDED) {
        response.extensions_mut().insert(Unanswered);
    }
    Ok(response)
}

fn answer_unreachable(unheard: &ForwardError) -> Response {
    let mut response = answer::text(StatusCode::SERVICE_UNAVAILABLE, unheard.to_string());
    response.headers_mut().insert(RETRY_AFTER, TRY_AGAIN);
    if !matches!(unheard, ForwardError::Slow(_)) {
        response.extensions_mut().insert(Unanswered);
    }
    response
}

#[cfg(test)]
mod tests;
