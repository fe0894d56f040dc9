//! The API server in memory: a tower service under the real client of `kube`. It decides what a request means, keeps the
//! log of writes, and lets happen what `faults` says.
//!
//! What it does not do: it serves no watch ([`crate::World`] feeds stores from the history instead), no namespaces, no
//! paging, no selectors and no kinds of patch besides the merge patch; it takes every kind as served, prunes, defaults
//! and validates nothing, collects no garbage, and lets finalizers be added to what is being deleted. For all of these
//! tests use the real API server.

use std::{
    future, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use berth_cluster::{Cluster, Kind};
use berth_core::ClusterName;
use berth_telemetry::clock::Clock;
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::service_fn;

use crate::{
    faults::{Action, Fault, Rules, Verb, Which},
    objects::{Endpoint, Event, Objects, Preconditions, Refusal, not_found},
};

/// A write as it came, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What was asked for.
    pub verb: Verb,
    /// The path of the object, without `/status`, and with the name also for a creation.
    pub path: String,
    /// What was sent.
    pub body: Value,
}

impl Write {
    /// The verb and the plural and name of the object: `create reservations/a-0`.
    pub fn line(&self) -> String {
        let from = self.path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
        format!("{} {}", self.verb, &self.path[from..])
    }
}

/// The path of an object, or, with an empty name, the beginning of the paths of all objects of its kind.
pub fn path_of<K: Kind>(name: &str) -> String {
    format!("{}/{name}", K::url_path(&(), None))
}

/// An API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    stopped: Arc<Notify>,
}

struct State {
    objects: Objects,
    rules: Rules,
    log: Vec<Write>,
    /// How many writes may still take effect before everything hangs.
    stops_after: Option<usize>,
}

/// A request that is understood.
struct Call {
    verb: Verb,
    kind: String,
    name: String,
    body: Value,
}

enum Reply {
    Json(u16, Value),
    Hang,
    Cut,
}

impl Server {
    /// A server without objects, whose timestamps are those of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (rules, log) = (Rules::default(), Vec::new());
        let state = State { objects: Objects::new(clock), rules, log, stops_after: None };
        Self { state: Arc::new(Mutex::new(state)), stopped: Arc::default() }
    }

    /// The cluster `home`, whose API server this is. To be called inside of a tokio runtime.
    pub fn cluster(&self) -> Cluster {
        let server = self.clone();
        let service = service_fn(move |request| {
            let server = server.clone();
            async move { server.serve(request).await }
        });
        Cluster { name: ClusterName::home(), client: Client::new(service, "default") }
    }

    // ---- other people, whose writes are neither logged nor disturbed

    /// Somebody creates an object; a status that it has is kept.
    pub fn create<K: Kind>(&self, object: &K) -> Result<K, Refusal> {
        let value = serde_json::to_value(object).map_err(|error| nonsense("", &error))?;
        decoded(self.lock().objects.create(&K::url_path(&(), None), value)?)
    }

    /// Somebody changes an object with a merge patch of the main endpoint.
    pub fn edit<K: Kind>(&self, name: &str, patch: &Value) -> Result<K, Refusal> {
        decoded(self.lock().objects.patch(&K::url_path(&(), None), name, Endpoint::Main, patch)?)
    }

    /// Somebody changes the status of an object with a merge patch.
    pub fn edit_status<K: Kind>(&self, name: &str, patch: &Value) -> Result<K, Refusal> {
        decoded(self.lock().objects.patch(&K::url_path(&(), None), name, Endpoint::Status, patch)?)
    }

    /// Somebody deletes an object.
    pub fn delete<K: Kind>(&self, name: &str) -> Result<(), Refusal> {
        self.lock().objects.delete(&K::url_path(&(), None), name, &Preconditions::default()).map(drop)
    }

    /// The object as it is.
    pub fn get<K: Kind>(&self, name: &str) -> Result<K, Refusal> {
        decoded(self.lock().objects.get(&K::url_path(&(), None), name)?)
    }

    /// All objects of a kind, by name.
    pub fn all<K: Kind>(&self) -> Result<Vec<K>, Refusal> {
        let all = self.lock().objects.all(&K::url_path(&(), None));
        all.into_iter().map(decoded).collect()
    }

    /// The newest resourceVersion.
    pub fn version(&self) -> u64 {
        self.lock().objects.version()
    }

    /// What happened after a resourceVersion.
    pub fn since(&self, version: u64) -> Vec<Event> {
        self.lock().objects.since(version)
    }

    // ---- what was asked for, and what goes wrong

    /// All writes so far, as they came.
    pub fn log(&self) -> Vec<Write> {
        self.lock().log.clone()
    }

    /// The same in short, and forgotten: what was written since the last call.
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().log).iter().map(Write::line).collect()
    }

    /// Before the `nth` matching request from now on, counted from 1, this happens once.
    pub fn before(&self, verb: Verb, path: &str, nth: usize, hook: impl FnOnce(&Self) + Send + 'static) {
        self.rule(verb, path, nth, Action::Run(Box::new(hook)));
    }

    /// The `nth` matching request from now on, counted from 1, meets this fault.
    pub fn fail(&self, verb: Verb, path: &str, nth: usize, fault: Fault) {
        self.rule(verb, path, nth, Action::Once(fault));
    }

    /// Every matching request meets this fault until [`Self::heal`].
    pub fn fail_always(&self, verb: Verb, path: &str, fault: Fault) {
        self.rule(verb, path, 1, Action::Always(fault));
    }

    /// Forgets all hooks and faults, and answers again after [`Self::stop_after`].
    pub fn heal(&self) {
        let mut state = self.lock();
        state.rules.clear();
        state.stops_after = None;
    }

    /// After so many more writes have taken effect nothing is answered any more, not even the last of them: for the
    /// caller this is the end, see [`Self::stopped`].
    pub fn stop_after(&self, writes: usize) {
        self.lock().stops_after = Some(writes);
    }

    /// Waits until [`Self::stop_after`] has come true.
    pub async fn stopped(&self) {
        self.stopped.notified().await;
    }

    fn rule(&self, verb: Verb, path: &str, nth: usize, action: Action) {
        self.lock().rules.add(Which { verb, path: path.to_owned() }, nth, action);
    }

    // ---- requests

    async fn serve(&self, request: Request<Body>) -> Result<Response<Body>, io::Error> {
        let reply = match understood(request).await {
            Ok(call) => self.answer(&call),
            Err(refusal) => Reply::Json(refusal.code, refusal.body()),
        };
        match reply {
            Reply::Json(code, body) => {
                let body = Body::from(body.to_string().into_bytes());
                Response::builder().status(code).body(body).map_err(io::Error::other)
            }
            Reply::Hang => future::pending().await,
            Reply::Cut => Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset")),
        }
    }

    fn answer(&self, call: &Call) -> Reply {
        let path = format!("{}/{}", call.kind, call.name);
        let (hooks, fault) = self.lock().rules.meet(call.verb, &path);
        for hook in hooks {
            hook(self);
        }
        let mut state = self.lock();
        if state.stops_after == Some(0) {
            self.stopped.notify_one();
            return Reply::Hang;
        }
        if call.verb.is_write() {
            state.log.push(Write { verb: call.verb, path, body: call.body.clone() });
        }
        let reply = state.reply(call, fault);
        if state.stops_after == Some(0) {
            self.stopped.notify_one();
            return Reply::Hang;
        }
        reply
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn reply(&mut self, call: &Call, fault: Option<Fault>) -> Reply {
        let refused = |code, reason, message: &str| {
            let refusal = Refusal::new(code, reason, &call.name, message);
            Reply::Json(code, refusal.body())
        };
        match fault {
            None => self.act(call),
            Some(Fault::Conflict) => refused(409, "Conflict", "the object has been modified"),
            Some(Fault::Forbidden) => refused(403, "Forbidden", "it is forbidden"),
            Some(Fault::Internal) => refused(500, "InternalError", "etcdserver: request timed out"),
            Some(Fault::Hang) => Reply::Hang,
            Some(Fault::LoseAnswer) => {
                self.act(call);
                Reply::Cut
            }
        }
    }

    /// Does what the call asks for and counts what took effect.
    fn act(&mut self, call: &Call) -> Reply {
        let before = self.objects.version();
        let answer = self.objects.call(call);
        if let Some(left) = self.stops_after.as_mut().filter(|_| self.objects.version() > before) {
            *left = left.saturating_sub(1);
        }
        match answer {
            Ok(body) => Reply::Json(if call.verb == Verb::Create { 201 } else { 200 }, body),
            Err(refusal) => Reply::Json(refusal.code, refusal.body()),
        }
    }
}

impl Objects {
    fn call(&mut self, call: &Call) -> Result<Value, Refusal> {
        let Call { verb, kind, name, body } = call;
        match verb {
            Verb::Get => self.get(kind, name),
            Verb::List => Ok(json!({
                "kind": "List", "apiVersion": "v1",
                "metadata": { "resourceVersion": self.version().to_string() }, "items": self.all(kind),
            })),
            Verb::Create => {
                let mut object = body.clone();
                object.as_object_mut().map(|object| object.remove("status"));
                self.create(kind, object)
            }
            Verb::Patch => self.patch(kind, name, Endpoint::Main, body),
            Verb::PatchStatus => self.patch(kind, name, Endpoint::Status, body),
            Verb::Delete => {
                let gone = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
                Ok(self.delete(kind, name, &Preconditions::of(&body["preconditions"]))?.unwrap_or(gone))
            }
        }
    }
}

async fn understood(request: Request<Body>) -> Result<Call, Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let bytes = body.collect_bytes().await.map_err(|error| nonsense(&path, &error))?;
    let body: Value = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).map_err(|error| nonsense(&path, &error))?
    };
    let segments: Vec<&str> = path.split('/').collect();
    let (kind, rest) = match segments.as_slice() {
        ["", "apis", group, version, plural, rest @ ..] => (format!("/apis/{group}/{version}/{plural}"), rest),
        _ => return Err(not_found(&path, "")),
    };
    let is_watch = head.uri.query().is_some_and(|query| query.contains("watch="));
    let (verb, name) = match (&head.method, rest) {
        (&Method::GET, []) if !is_watch => (Verb::List, ""),
        (&Method::GET, [name] | [name, "status"]) => (Verb::Get, *name),
        (&Method::POST, []) => (Verb::Create, body["metadata"]["name"].as_str().unwrap_or_default()),
        (&Method::PATCH, [name]) => (Verb::Patch, *name),
        (&Method::PATCH, [name, "status"]) => (Verb::PatchStatus, *name),
        (&Method::DELETE, [name]) => (Verb::Delete, *name),
        _ => return Err(Refusal::new(405, "MethodNotAllowed", "", format!("{} {path} is not served", head.method))),
    };
    Ok(Call { verb, kind, name: name.to_owned(), body })
}

fn decoded<K: Kind>(value: Value) -> Result<K, Refusal> {
    serde_json::from_value(value).map_err(|error| nonsense("", &error))
}

fn nonsense(name: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(400, "BadRequest", name, error.to_string())
}

#[cfg(test)]
mod tests;
