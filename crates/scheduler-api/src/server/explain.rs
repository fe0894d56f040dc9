//! The server side of `GET /v1/explain`: who may ask, and whether this process knows the answer.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use berth_cluster::ObjectKey;
use berth_core::text::escape_line;
use berth_http::{Peer, answer};

use super::showing::{self, SCHEMES, TokensInForce};
use crate::Role;
use crate::explain::{Explainer, Subject};

const UNKNOWN_CLIENT: &str = "only local callers are answered, as through kubectl port-forward, and those that show the token of the scheduler API";

/// Characters of a line.
const SHOWN: usize = 300;

/// The state of the routes.
struct Explaining<E> {
    explainer: E,
    tokens: Option<TokensInForce>,
}

/// The routes. Callers must be local or show a token; without tokens only local ones are answered.
pub fn explain_router<E: Explainer>(explainer: E, tokens: Option<TokensInForce>) -> Router {
    Router::new()
        .route("/v1/explain/commitments/{cluster}/{name}", get(explain_commitment::<E>))
        .route("/v1/explain/slots/{cluster}/{name}", get(explain_slot::<E>))
        .route("/v1/explain/hosts/{name}", get(explain_host::<E>))
        .with_state(Arc::new(Explaining { explainer, tokens }))
}

type Shared<E> = State<Arc<Explaining<E>>>;
type ClusterAndName = Path<(String, String)>;

async fn explain_commitment<E: Explainer>(
    State(shared): Shared<E>,
    Path((cluster, name)): ClusterAndName,
    request: Request,
) -> Response {
    shared.answer(&request, &Subject::Commitment(ObjectKey::new(cluster.as_str().into(), name)))
}

async fn explain_slot<E: Explainer>(
    State(shared): Shared<E>,
    Path((cluster, name)): ClusterAndName,
    request: Request,
) -> Response {
    shared.answer(&request, &Subject::Slot(ObjectKey::new(cluster.as_str().into(), name)))
}

async fn explain_host<E: Explainer>(State(shared): Shared<E>, Path(name): Path<String>, request: Request) -> Response {
    shared.answer(&request, &Subject::Host(name.as_str().into()))
}

impl<E: Explainer> Explaining<E> {
    fn answer(&self, request: &Request, subject: &Subject) -> Response {
        let shows_the_token = self.tokens.as_ref().is_some_and(|tokens| showing::shows(tokens, request.headers()));
        if shows_the_token {
            Peer::mark_authenticated_in(request.extensions());
        }
        if !is_local(request) && !shows_the_token {
            return refuse(StatusCode::UNAUTHORIZED, UNKNOWN_CLIENT, (WWW_AUTHENTICATE, SCHEMES));
        }
        if let Role::Follower { leader } = self.explainer.role() {
            let text = leader
                .map_or("this process does not lead, or does not decide yet; try again".to_owned(), |leader| {
                    format!("this process does not lead; the leader answers at {leader}")
                });
            return refuse(StatusCode::SERVICE_UNAVAILABLE, text, (RETRY_AFTER, "1"));
        }
        match self.explainer.explain(subject) {
            Some(known) => answer::json(StatusCode::OK, &known),
            None => answer::text(StatusCode::NOT_FOUND, escape_line(&format!("no {subject} is known"), SHOWN)),
        }
    }
}

/// Whether the other end of the connection is on this machine or in this pod.
fn is_local(request: &Request) -> bool {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback())
}

fn refuse(status: StatusCode, text: impl Into<String>, (header, value): (HeaderName, &'static str)) -> Response {
    let mut response = answer::text(status, text);
    response.headers_mut().insert(header, HeaderValue::from_static(value));
    response
}
