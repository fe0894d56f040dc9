//! The server side of `GET /v1/explain`: who may ask, and whether this process knows the answer.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use berth_cluster::ObjectKey;
use berth_core::text::escape_line;
use berth_http::{Authorizer, answer, authorization};

use crate::Role;
use crate::explain::{Explainer, Subject};

/// Characters of a line.
const SHOWN: usize = 300;

/// The state of the routes.
struct Explaining<E> {
    explainer: E,
    authorizer: Arc<dyn Authorizer>,
}

/// The routes. Callers must be local, or be allowed to get the path. The token of the scheduler API does not count here: who
/// may ask for hosts need not see what others have.
pub fn explain_router<E: Explainer>(explainer: E, authorizer: Arc<dyn Authorizer>) -> Router {
    Router::new()
        .route("/v1/explain/commitments/{cluster}/{name}", get(explain_commitment::<E>))
        .route("/v1/explain/slots/{cluster}/{name}", get(explain_slot::<E>))
        .route("/v1/explain/hosts/{name}", get(explain_host::<E>))
        .with_state(Arc::new(Explaining { explainer, authorizer }))
}

type Shared<E> = State<Arc<Explaining<E>>>;
type ClusterAndName = Path<(String, String)>;

async fn explain_commitment<E: Explainer>(
    State(shared): Shared<E>,
    Path((cluster, name)): ClusterAndName,
    request: Request,
) -> Response {
    shared.answer(request, &Subject::Commitment(ObjectKey::new(cluster.as_str().into(), name))).await
}

async fn explain_slot<E: Explainer>(
    State(shared): Shared<E>,
    Path((cluster, name)): ClusterAndName,
    request: Request,
) -> Response {
    shared.answer(request, &Subject::Slot(ObjectKey::new(cluster.as_str().into(), name))).await
}

async fn explain_host<E: Explainer>(State(shared): Shared<E>, Path(name): Path<String>, request: Request) -> Response {
    shared.answer(request, &Subject::Host(name.as_str().into())).await
}

impl<E: Explainer> Explaining<E> {
    async fn answer(&self, request: Request, subject: &Subject) -> Response {
        if !is_local(&request) {
            let checked = authorization::check(&*self.authorizer, &request);
            if let Err(refusal) = checked.await {
                return *refusal;
            }
        }
        if let Role::Follower { leader } = self.explainer.role() {
            let text = leader
                .map_or("this process does not lead, or does not decide yet; try again".to_owned(), |leader| {
                    format!("this process does not lead; the leader answers at {leader}")
                });
            return unavailable(text);
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

fn unavailable(text: String) -> Response {
    let mut response = answer::text(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
