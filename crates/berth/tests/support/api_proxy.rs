//! A proxy before an API server, through which an operator talks to it: it keeps what was refused, loses answers, and ends
//! watches as a real one does when it restarts, or when the past that they go on from is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Far more than the objects of a test.
const LARGEST_BODY: usize = 16 << 20;

/// A verb of RBAC and the resource, with its subresource.
pub type Access = (String, String);

/// It ends when this is dropped.
pub struct ApiProxy {
    shared: Arc<Shared>,
    url: String,
    kubeconfig: PathBuf,
    server: JoinHandle<()>,
    _folder: TempDir,
}

struct Shared {
    client: Client,
    faults: Mutex<Faults>,
    /// Changes when all watches are to end.
    ends: watch::Sender<()>,
}

#[derive(Default)]
struct Faults {
    /// How often.
    refused: BTreeMap<Access, u64>,
    /// The answer to the next write of these resources or objects is lost; without a subresource any of them counts.
    lost: BTreeSet<String>,
    /// The next watch of these paths goes on from a past that is gone.
    expired: BTreeSet<String>,
    watched: BTreeSet<String>,
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ApiProxy {
    /// A proxy that shows the API server the credentials of this kubeconfig.
    pub async fn start(account: &Path) -> Self {
        let kubeconfig = Kubeconfig::read_from(account).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let shared = Shared { client, faults: Mutex::default(), ends: watch::Sender::new(()) };
        let shared = Arc::new(shared);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(pass).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let mut content: Value = serde_json::from_str(&fs::read_to_string(account).unwrap()).unwrap();
        let url = format!("http://{address}");
        content["clusters"][0]["cluster"] = json!({ "server": url });
        fs::write(&path, content.to_string()).unwrap();
        Self { shared, url, kubeconfig: path, server, _folder: folder }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The kubeconfig of the same account, with the address of the proxy.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Ends all watches. Their clients watch on from where they were.
    pub fn cut(&self) {
        self.shared.ends.send_replace(());
    }

    /// Ends all watches, and lets none go on from where it was.
    pub fn expire(&self) {
        {
            let mut faults = self.shared.faults.lock();
            let watched = faults.watched.clone();
            faults.expired = watched;
        }
        self.cut();
    }

    /// Loses the answer to the next write of each of these resources or objects, which takes effect.
    pub fn lose_answers(&self, of: impl IntoIterator<Item = String>) {
        self.shared.faults.lock().lost = of.into_iter().collect();
    }

    /// What the API server has refused so far, and how often.
    pub fn refused(&self) -> BTreeMap<Access, u64> {
        self.shared.faults.lock().refused.clone()
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let access = access(request.method(), request.uri());
    let path = request.uri().path().to_owned();
    let is_watch = access.as_ref().is_some_and(|(verb, _)| verb == "watch");
    if is_watch {
        let mut faults = shared.faults.lock();
        if faults.expired.remove(&path) {
            return gone();
        }
        faults.watched.insert(path.clone());
    }
    let mut ends = shared.ends.subscribe();
    let Ok(response) = sent(&shared.client, request).await else { return StatusCode::BAD_GATEWAY.into_response() };
    if let Some((verb, resource)) = access {
        let mut faults = shared.faults.lock();
        let is_write = ["create", "update", "patch", "delete"].contains(&&*verb);
        if response.status() == StatusCode::FORBIDDEN {
            *faults.refused.entry((verb, resource)).or_default() += 1;
        } else if is_write {
            let main = resource.split('/').next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            if [&*resource, main, name].into_iter().any(|one| faults.lost.remove(one)) {
                return StatusCode::GATEWAY_TIMEOUT.into_response();
            }
        }
    }
    if !is_watch {
        return response;
    }
    let (parts, body) = response.into_parts();
    let events = body.into_data_stream().take_until(async move { ends.changed().await });
    Response::from_parts(parts, Body::from_stream(events))
}

async fn sent(client: &Client, request: Request) -> Result<Response, kube::Error> {
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST_BODY).await.unwrap_or_default();
    for name in [HOST, AUTHORIZATION, CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let response = client.send(Request::from_parts(parts, kube::client::Body::from(body.to_vec()))).await?;
    Ok(response.map(Body::new))
}

/// As an API server answers a watch from a version that it has forgotten.
fn gone() -> Response {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
                         "code": 410, "message": "too old resource version" });
    let event = json!({ "type": "ERROR", "object": status });
    ([(CONTENT_TYPE, "application/json")], format!("{event}\n")).into_response()
}

/// What the request asks for; `None` for other paths than those of resources.
fn access(method: &Method, uri: &Uri) -> Option<Access> {
    let mut parts = uri.path().trim_start_matches('/').split('/');
    let _version = match parts.next()? {
        "api" => parts.next()?,
        "apis" => parts.nth(1)?,
        _ => return None,
    };
    let mut parts: Vec<_> = parts.collect();
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let resource = *parts.first()?;
    let resource = parts.get(2).map_or_else(|| resource.to_owned(), |sub| format!("{resource}/{sub}"));
    let is_watch = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
    let verb = match method.as_str() {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ if is_watch => "watch",
        _ if parts.len() > 1 => "get",
        _ => "list",
    };
    Some((verb.to_owned(), resource))
}
