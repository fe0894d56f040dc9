//! A double of Keystone on loopback: passwords, tokens and their validation, the catalog and domains, with faults.

mod projects;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
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
/// The project for which it may log in, of the same domain.
const PROJECT: &str = "service";
const DOMAIN: &str = "Default";
const SUBJECT: HeaderName = HeaderName::from_static("x-subject-token");

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
    /// Those that a login has led to.
    tokens: BTreeSet<String>,
    /// Those of others, as they are described.
    issued: BTreeMap<String, Value>,
    /// The roles of the user that logs in.
    roles: Vec<String>,
    may_validate: bool,
    domains: BTreeMap<String, String>,
    /// Other services of the catalog: their types and URLs.
    services: BTreeMap<String, String>,
    projects: Projects,
    fault: Option<KeystoneFault>,
    /// Requests that were answered, or that a fault took.
    requests: Vec<String>,
    logins: usize,
    validations: usize,
}

/// What happens to all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeystoneFault {
    Status(u16),
    /// The answer does not come.
    Silence,
    /// An answer with status 200 or 201 that is no JSON.
    Garbage,
    /// The answer comes later.
    Slow(Duration),
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
            issued: BTreeMap::new(),
            roles: vec!["service".to_owned()],
            may_validate: true,
            domains: BTreeMap::new(),
            services: BTreeMap::new(),
            projects: Projects::default(),
            fault: None,
            requests: Vec::new(),
            logins: 0,
            validations: 0,
        }));
        let router = Router::new()
            .route("/", get(list_versions))
            .route("/v3/auth/tokens", post(log_in).get(show_token))
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

    /// A token of a user for a project. It is valid for long.
    pub fn issue_token(&self, token: &str, user: &str, project: &str, roles: &[&str]) {
        let mut described = describe_token(user, roles);
        described["project"] =
            json!({ "id": project, "name": project, "domain": { "id": "default", "name": "Default" } });
        self.state.lock().issued.insert(token.to_owned(), described);
    }

    /// A token of a user for the whole system.
    pub fn issue_system_token(&self, token: &str, user: &str, roles: &[&str]) {
        let mut described = describe_token(user, roles);
        described["system"] = json!({ "all": true });
        self.state.lock().issued.insert(token.to_owned(), described);
    }

    /// The end of a token that was issued.
    pub fn set_end(&self, token: &str, expires_at: &str) {
        if let Some(described) = self.state.lock().issued.get_mut(token) {
            described["expires_at"] = expires_at.into();
        }
    }

    pub fn revoke_token(&self, token: &str) {
        self.state.lock().issued.remove(token);
    }

    /// Whether the user that logs in may validate the tokens of others.
    pub fn let_validate(&self, may: bool) {
        self.state.lock().may_validate = may;
    }

    /// The roles of the user that logs in.
    pub fn set_roles(&self, roles: &[&str]) {
        self.state.lock().roles = roles.iter().map(|role| (*role).to_owned()).collect();
    }

    /// How often a token was validated or found unknown.
    pub fn validations(&self) -> usize {
        self.state.lock().validations
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
        KeystoneFault::Slow(time) => {
            tokio::time::sleep(time).await;
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
    if let Some(unknown) = known.unknown_credential(&asked["auth"]) {
        return fail(StatusCode::NOT_FOUND, &format!("Could not find Application Credential: {unknown}."));
    }
    if !known.accepts(&asked["auth"]) {
        return known.refuse();
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
    let mut answer = json!({ "token": { "expires_at": "2099-01-01T12:00:00.000000Z" } });
    let has_scope = asked["auth"]["identity"]["password"].is_null() || !asked["auth"]["scope"].is_null();
    if has_scope {
        answer["token"]["catalog"] = catalog.into();
    }
    (StatusCode::CREATED, [("x-subject-token", token)], Json(answer)).into_response()
}

async fn show_token(State(state): State<Shared>, headers: HeaderMap) -> Response {
    if let Some(response) = record(&state, "GET /v3/auth/tokens".to_owned()).await {
        return response;
    }
    let mut known = state.lock();
    let header = |name| headers.get(name).and_then(|token| token.to_str().ok()).unwrap_or_default();
    let subject = header("x-subject-token");
    if !known.tokens.contains(header("x-auth-token")) {
        return known.refuse();
    }
    if !known.may_validate {
        let message = "You are not authorized to perform the requested action: identity:validate_token.";
        return fail(StatusCode::FORBIDDEN, message);
    }
    known.validations += 1;
    // As Keystone does: with the token.
    let unknown = || fail(StatusCode::NOT_FOUND, &format!("Could not find token: {subject}."));
    let Some(token) = known.describe(subject) else { return unknown() };
    let mut response = Json(json!({ "token": token })).into_response();
    let shown = headers.get(&SUBJECT).map(|value| (SUBJECT, value.clone()));
    response.headers_mut().extend(shown);
    response
}

fn describe_token(user: &str, roles: &[&str]) -> Value {
    let roles: Vec<_> = roles.iter().map(|role| json!({ "id": role, "name": role })).collect();
    json!({
        "methods": ["password"], "expires_at": "2099-01-01T12:00:00.000000Z", "issued_at": "2026-01-01T12:00:00.000000Z",
        "user": { "id": user, "name": user, "domain": { "id": "default", "name": "Default" } }, "roles": roles,
    })
}

async fn show_domain(State(state): State<Shared>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if let Some(response) = record(&state, format!("GET /v3/domains/{id}")).await {
        return response;
    }
    let known = state.lock();
    if !known.has_token(&headers) {
        return known.refuse();
    }
    match known.domains.get(&id) {
        Some(name) => Json(json!({ "domain": { "id": id, "name": name, "enabled": true } })).into_response(),
        None => fail(StatusCode::NOT_FOUND, &format!("Could not find domain: {id}.")),
    }
}

async fn list_projects(State(state): State<Shared>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let asked = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    if let Some(response) = record(&state, format!("GET /v3/projects{asked}")).await {
        return response;
    }
    let known = state.lock();
    if known.has_token(&headers) { known.projects.answer(known.address, query.as_deref()) } else { known.refuse() }
}

impl Known {
    fn has_token(&self, headers: &HeaderMap) -> bool {
        let token = headers.get("x-auth-token").and_then(|token| token.to_str().ok());
        token.is_some_and(|token| self.tokens.contains(token))
    }

    fn describe(&self, token: &str) -> Option<Value> {
        if self.tokens.contains(token) {
            let roles: Vec<&str> = self.roles.iter().map(String::as_str).collect();
            let mut described = describe_token(USER, &roles);
            described["project"] = json!({ "id": "service", "domain": { "id": "default" } });
            return Some(described);
        }
        self.issued.get(token).cloned()
    }

    /// The ID of the application credential in a login, if there is none of it.
    fn unknown_credential<'a>(&self, auth: &'a Value) -> Option<&'a str> {
        let id = auth["identity"]["application_credential"]["id"].as_str()?;
        let is_known = self.application_credential.as_ref().is_some_and(|(known, _)| known == id);
        (!is_known).then_some(id)
    }

    fn accepts(&self, auth: &Value) -> bool {
        let given = &auth["identity"]["application_credential"];
        let credential = self.application_credential.as_ref();
        self.accepts_password(auth)
            || credential.is_some_and(|(id, secret)| given["id"] == id.as_str() && given["secret"] == secret.as_str())
    }

    /// The scope is the project or missing.
    fn accepts_password(&self, auth: &Value) -> bool {
        let (user, scope) = (&auth["identity"]["password"]["user"], &auth["scope"]);
        let is_default = |place: &Value| place["domain"]["name"] == DOMAIN;
        let project = &scope["project"];
        let is_known = scope.is_null() || (project["name"] == PROJECT && is_default(project));
        is_default(user) && user["name"] == USER && user["password"] == self.password.as_str() && is_known
    }

    /// As Keystone refuses tokens and credentials.
    fn refuse(&self) -> Response {
        let mut response = fail(StatusCode::UNAUTHORIZED, "The request you have made requires authentication.");
        let challenge = HeaderValue::try_from(format!("Keystone uri=\"http://{}/v3\"", self.address));
        response.headers_mut().extend(challenge.map(|value| (WWW_AUTHENTICATE, value)));
        response
    }
}

fn fail(status: StatusCode, message: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let error = json!({ "error": { "code": status.as_u16(), "message": message, "title": title } });
    (status, Json(error)).into_response()
}
