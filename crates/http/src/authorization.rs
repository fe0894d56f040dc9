//! Answers only those callers who may read the path, as another program says that knows the bearers of tokens.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures::future::BoxFuture;

use crate::connections::Peer;
use crate::{LogReason, answer};

/// Whether the bearer of a token may read a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessAnswer {
    Allowed,
    /// The caller is known and may not.
    Forbidden,
    /// The token is nobody's.
    Unauthenticated,
    /// Nobody knows at the moment, for this reason.
    Unknown(String),
}

/// Knows who may read what. It takes a bounded time.
pub trait Authorizer: Send + Sync + 'static {
    fn authorize(&self, token: String, path: String) -> BoxFuture<'static, AccessAnswer>;
}

/// Requires that callers may read the path, for all routes of the router.
pub fn require(router: Router, authorizer: Arc<dyn Authorizer>) -> Router {
    router.route_layer(from_fn_with_state(authorizer, guard))
}

async fn guard(State(authorizer): State<Arc<dyn Authorizer>>, request: Request, next: Next) -> Response {
    let checked = check(&*authorizer, &request);
    match checked.await {
        Ok(()) => next.run(request).await,
        Err(refusal) => *refusal,
    }
}

/// Whether the caller of a request may read its path; if not, the response.
pub fn check(
    authorizer: &dyn Authorizer,
    request: &Request,
) -> impl Future<Output = Result<(), Box<Response>>> + Send + use<> {
    let path = request.uri().path().to_owned();
    let asked = bearer(request.headers()).map(|token| authorizer.authorize(token.to_owned(), path));
    let peer = request.extensions().get::<Peer>().cloned();
    async move {
        let answer = match asked {
            Some(asked) => asked.await,
            None => AccessAnswer::Unauthenticated,
        };
        if let (AccessAnswer::Allowed, Some(peer)) = (&answer, peer) {
            peer.mark_authenticated();
        }
        refusal(answer).map_or(Ok(()), Err)
    }
}

/// The response to a caller who is not allowed.
fn refusal(answer: AccessAnswer) -> Option<Box<Response>> {
    let response = match answer {
        AccessAnswer::Allowed => return None,
        AccessAnswer::Unauthenticated => {
            const TEXT: &str = "show a token that the API server knows: Authorization: Bearer ...";
            refuse(StatusCode::UNAUTHORIZED, TEXT, Some((WWW_AUTHENTICATE, "Bearer")))
        }
        AccessAnswer::Forbidden => {
            const TEXT: &str = "the bearer of this token may not get this path; grant it with a ClusterRole that has it in \
                                nonResourceURLs";
            refuse(StatusCode::FORBIDDEN, TEXT, None)
        }
        AccessAnswer::Unknown(why) => {
            const TEXT: &str =
                "the API server cannot be asked whether the bearer of this token may get this path; try again";
            let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, TEXT, Some((RETRY_AFTER, "5")));
            response.extensions_mut().insert(LogReason::Text(why));
            response
        }
    };
    Some(Box::new(response))
}

/// The token of the only header `Authorization`, if it is a bearer's. The scheme may be written in any case.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let (only, None) = (shown.next()?, shown.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn refuse(status: StatusCode, text: &str, header: Option<(HeaderName, &'static str)>) -> Response {
    let mut response = answer::text(status, text);
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use parking_lot::Mutex;
    use tower::ServiceExt as _;

    use super::*;

    /// Answers always the same, and notes what it was asked.
    struct Scripted(AccessAnswer, Mutex<Vec<(String, String)>>);

    impl Authorizer for Scripted {
        fn authorize(&self, token: String, path: String) -> BoxFuture<'static, AccessAnswer> {
            self.1.lock().push((token, path));
            let answer = self.0.clone();
            Box::pin(async move { answer })
        }
    }

    /// The response to a request with these headers, and what was asked.
    async fn seen(answer: AccessAnswer, path: &str, shown: &[&str]) -> (Response, Vec<(String, String)>) {
        let authorizer = Arc::new(Scripted(answer, Mutex::default()));
        let router = Router::new().route("/metrics", get(async || "secret"));
        let router = answer::refusals(require(router, authorizer.clone()));
        let request = shown.iter().fold(Request::get(path), |request, one| request.header(AUTHORIZATION, *one));
        let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let asked = authorizer.1.lock().clone();
        (response, asked)
    }

    #[tokio::test]
    async fn each_answer_has_its_status_and_only_one_of_them_opens() {
        let unknown = AccessAnswer::Unknown("away".to_owned());
        for (answer, status) in [
            (AccessAnswer::Allowed, 200),
            (AccessAnswer::Unauthenticated, 401),
            (AccessAnswer::Forbidden, 403),
            (unknown, 503),
        ] {
            let (response, asked) = seen(answer.clone(), "/metrics", &["bEARER t-1"]).await;
            assert_eq!(response.status(), status, "{answer:?}");
            assert_eq!(asked, [("t-1".to_owned(), "/metrics".to_owned())]);
            let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
            assert_eq!(body.as_ref() == b"secret", answer == AccessAnswer::Allowed);
        }
        let (response, _) = seen(AccessAnswer::Unauthenticated, "/metrics", &["Bearer t"]).await;
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }

    #[tokio::test]
    async fn without_one_bearer_token_no_question_is_asked_and_nothing_is_shown() {
        for shown in [&[][..], &["Basic dTpw"], &["Bearer"], &["Bearer "], &["t"], &["Bearer a", "Bearer b"]] {
            let (response, asked) = seen(AccessAnswer::Allowed, "/metrics", shown).await;
            assert_eq!((response.status().as_u16(), asked.len()), (401, 0), "{shown:?}");
        }
        let (response, asked) = seen(AccessAnswer::Allowed, "/other", &["Bearer t"]).await;
        assert_eq!((response.status().as_u16(), asked.len()), (404, 0));
    }
}
