//! A double of Keystone on loopback: passwords, tokens, the catalog, domains and projects, with faults.

mod projects;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use projects::Projects;

/// The user that may log in, of the domain `Default`.
pub const USER: &str = "berth";

/// A Keystone that ends when it is dropped.
pub struct Keystone {
    address: SocketAddr,
    state: Arc<Mutex<Known>>,
    serving: JoinHandle<()>,
}

struct Known {
    address: SocketAddr,
    password: String,
    /// The ID and the secret of an application credential.
    application_credential: Option<(String, String)>,
    tokens: BTreeSet<String>,
    domains: BTreeMap<String, String>,
    /// Other services of the catalog: their types and URLs.
    services: BTreeMap<String, String>,
    projects: Projects,
    fault: Option<KeystoneFault>,
    /// Requests that were answered, or that a fault took.
    requests: Vec<String>,
    logins: usize,
}

/// What happens to all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeystoneFault {
    Status(u16),
    /// The answer does not come.
    Silence,
    /// An answer with status 200 or 201 that is no JSON.
    Garbage,
}

type Shared = Arc<Mutex<Known>>;

impl Keystone {
    /// Listens on a free port.
    pub async fn start(password: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(Known {
            address,
            password: password.to_owned(),
            application_credential: None,
            tokens: BTreeSet::new(),
            domains: BTreeMap::new(),
            services: BTreeMap::new(),
            projects: Projects::default(),
            fault: None,
            requests: Vec::new(),
            logins: 0,
        }));
        let router = Router::new()
            .route("/", get(list_versions))
            .route("/v3/auth/tokens", post(log_in))
            .route("/v3/domains/{id}", get(show_domain))
            .route("/v3/projects", get(list_projects))
            .with_state(state.clone());
        let serving = tokio::spawn(async move {
            // Ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, state, serving })
    }

    /// The address without a version.
    pub fn root_url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The address of version 3.
    pub fn url(&self) -> String {
        format!("http://{}/v3", self.address)
    }

    pub fn add_domain(&self, id: &str, name: &str) {
        self.state.lock().domains.insert(id.to_owned(), name.to_owned());
    }

    /// From now on the catalog has the public endpoint of this service as well.
    pub fn add_service(&self, service: &str, url: &str) {
        self.state.lock().services.insert(service.to_owned(), url.to_owned());
    }

    pub fn set_projects(&self, projects: Projects) {
        self.state.lock().projects = projects;
    }

    /// From now on only this password is accepted.
    pub fn set_password(&self, password: &str) {
        password.clone_into(&mut self.state.lock().password);
    }

    pub fn set_application_credential(&self, id: &str, secret: &str) {
        self.state.lock().application_credential = Some((id.to_owned(), secret.to_owned()));
    }

    /// All tokens have expired.
    pub fn expire_tokens(&self) {
        self.state.lock().tokens.clear();
    }

    /// All requests meet this fault until the next call.
    pub fn set_fault(&self, fault: Option<KeystoneFault>) {
        self.state.lock().fault = fault;
    }

    /// How often somebody has logged in.
    pub fn logins(&self) -> usize {
        self.state.lock().logins
    }

    /// Method and path of all requests.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }
}

impl Drop for Keystone {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Records a request. The response of a fault, if there is one.
async fn record(state: &Shared, request: String) -> Option<Response> {
    let fault = {
        let mut known = state.lock();
        known.requests.push(request);
        known.fault?
    };
    match fault {
        KeystoneFault::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some((status, "keystone is\nbroken").into_response())
        }
        KeystoneFault::Silence => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            None
        }
        KeystoneFault::Garbage => {
            Some((StatusCode::CREATED, [("x-subject-token", "garbage")], "<html>").into_response())
        }
    }
}

async fn list_versions(State(state): State<Shared>) -> Response {
    if let Some(response) = record(&state, "GET /".to_owned()).await {
        return response;
    }
    let own = format!("http://{}/v3/", state.lock().address);
    let version = json!({ "id": "v3.14", "status": "stable", "links": [{ "rel": "self", "href": own }] });
    (StatusCode::MULTIPLE_CHOICES, Json(json!({ "versions": { "values": [version] } }))).into_response()
}

async fn log_in(State(state): State<Shared>, body: Bytes) -> Response {
    if let Some(response) = record(&state, "POST /v3/auth/tokens".to_owned()).await {
        return response;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut known = state.lock();
    if !known.accepts(&asked["auth"]["identity"]) {
        return refused();
    }
    known.logins += 1;
    let token = format!("token-{}", known.logins);
    known.tokens.insert(token.clone());
    let identity = format!("http://{}/v3", known.address);
    let endpoints = ["public", "internal", "admin"].map(|interface| json!({ "interface": interface, "url": identity }));
    let mut catalog = vec![json!({ "type": "identity", "name": "keystone", "endpoints": endpoints })];
    catalog.extend(known.services.iter().map(|(service, url)| {
        json!({ "type": service, "name": service, "endpoints": [{ "interface": "public", "url": url }] })
    }));
    let answer = json!({ "token": { "expires_at": "2099-01-01T12:00:00.000000Z", "catalog": catalog } });
    (StatusCode::CREATED, [("x-subject-token", token)], Json(answer)).into_response()
}

async fn show_domain(State(state): State<Shared>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if let Some(response) = record(&state, format!("GET /v3/domains/{id}")).await {
        return response;
    }
    let known = state.lock();
    if !known.has_token(&headers) {
        return refused();
    }
    match known.domains.get(&id) {
        Some(name) => Json(json!({ "domain": { "id": id, "name": name, "enabled": true } })).into_response(),
        None => (StatusCode::NOT_FOUND, "Could not find domain").into_response(),
    }
}

async fn list_projects(State(state): State<Shared>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let asked = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    if let Some(response) = record(&state, format!("GET /v3/projects{asked}")).await {
        return response;
    }
    let known = state.lock();
    if known.has_token(&headers) { known.projects.answer(known.address, query.as_deref()) } else { refused() }
}

impl Known {
    fn has_token(&self, headers: &HeaderMap) -> bool {
        let token = headers.get("x-auth-token").and_then(|token| token.to_str().ok());
        token.is_some_and(|token| self.tokens.contains(token))
    }

    fn accepts(&self, identity: &Value) -> bool {
        let user = &identity["password"]["user"];
        let by_password = user["name"] == USER && user["password"] == self.password.as_str();
        let given = &identity["application_credential"];
        let credential = self.application_credential.as_ref();
        by_password
            || credential.is_some_and(|(id, secret)| given["id"] == id.as_str() && given["secret"] == secret.as_str())
    }
}

fn refused() -> Response {
    (StatusCode::UNAUTHORIZED, "The request you have made requires authentication.").into_response()
}
