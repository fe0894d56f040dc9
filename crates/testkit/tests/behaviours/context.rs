//! The access of a behaviour to a server: the client of `kube`, with raw requests.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures::io::Lines;
use futures::{AsyncBufRead, AsyncBufReadExt, StreamExt};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::servers::Special;

pub const RESERVATIONS: &str = "/apis/cortex.cloud/v1alpha1/reservations";
pub const COMMITMENTS: &str = "/apis/cortex.cloud/v1alpha1/committedresources";
pub const QUOTAS: &str = "/apis/cortex.cloud/v1alpha1/projectquotas";
pub const PIPELINES: &str = "/apis/cortex.cloud/v1alpha1/pipelines";
pub const HYPERVISORS: &str = "/apis/kvm.cloud.sap/v1/hypervisors";
pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
pub const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

const CLEARED: [&str; 5] = [RESERVATIONS, COMMITMENTS, QUOTAS, PIPELINES, HYPERVISORS];

/// How long a watch may take to deliver an event.
const SOON: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Context {
    pub client: Client,
    pub special: Rc<dyn Special>,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Context {
    pub fn new(client: Client, special: Box<dyn Special>) -> Self {
        Self { client, special: special.into(), answers: Arc::default() }
    }

    /// The requests and answers, in short.
    pub fn answers(&self) -> Vec<String> {
        self.answers.lock().clone()
    }

    pub async fn ask(&self, method: Method, path: &str, content: &str, body: Option<&Value>) -> Answer {
        let answer = self.ask_quietly(method.clone(), path, content, body).await;
        let place = path.split('?').next().unwrap();
        self.answers.lock().push(format!("{method} {place}: {}", answer.in_short()));
        answer
    }

    pub async fn ask_quietly(&self, method: Method, path: &str, content: &str, body: Option<&Value>) -> Answer {
        let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = Request::builder().method(method).uri(path).header("content-type", content);
        let response = self.client.send(request.body(Body::from(bytes)).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { code: head.status.as_u16(), body: serde_json::from_str(&text).unwrap_or_default(), text }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, "application/json", None).await
    }

    pub async fn create(&self, kind: &str, object: &Value) -> Answer {
        self.ask(Method::POST, kind, "application/json", Some(object)).await
    }

    pub async fn put(&self, path: &str, object: &Value) -> Answer {
        self.ask(Method::PUT, path, "application/json", Some(object)).await
    }

    pub async fn merge(&self, path: &str, patch: Value) -> Answer {
        self.ask(Method::PATCH, path, "application/merge-patch+json", Some(&patch)).await
    }

    pub async fn json_patch(&self, path: &str, patch: Value) -> Answer {
        self.ask(Method::PATCH, path, "application/json-patch+json", Some(&patch)).await
    }

    pub async fn delete(&self, path: &str, options: Value) -> Answer {
        self.ask(Method::DELETE, path, "application/json", Some(&options)).await
    }

    /// The events of a watch. `query` begins with `&` if it is not empty.
    pub async fn watch(&self, kind: &str, query: &str) -> Watch {
        let uri = format!("{kind}?watch=true{query}");
        let request = Request::get(uri).body(Vec::new()).unwrap();
        let lines: Box<dyn AsyncBufRead + Send + Unpin> =
            Box::new(Box::pin(self.client.request_stream(request).await.unwrap()));
        Watch { lines: lines.lines(), answers: self.answers.clone() }
    }

    /// Deletes the objects of earlier behaviours.
    pub async fn clear(&self) {
        for kind in CLEARED.iter().chain(&[LEASES, EVENTS]) {
            let list = self.ask_quietly(Method::GET, kind, "application/json", None).await;
            for object in list.body["items"].as_array().into_iter().flatten() {
                let path = format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
                if object["metadata"].get("finalizers").is_some() {
                    let none = json!({ "metadata": { "finalizers": null } });
                    self.ask_quietly(Method::PATCH, &path, "application/merge-patch+json", Some(&none)).await;
                }
                self.ask_quietly(Method::DELETE, &path, "application/json", None).await;
            }
        }
    }

    pub async fn slot(&self, name: &str) -> Value {
        self.create(RESERVATIONS, &slot(name)).await.ok()
    }

    pub async fn version(&self) -> String {
        text(&self.get(RESERVATIONS).await.ok(), "resourceVersion")
    }
}

pub struct Watch {
    lines: Lines<Box<dyn AsyncBufRead + Send + Unpin>>,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Watch {
    /// The next event: its type and object. `None` at the end.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        let line = timeout(SOON, self.lines.next()).await.expect("the watch delivers nothing")?;
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        let object = event["object"].clone();
        self.answers.lock().push(format!("{kind} {} {}", object["kind"], object["metadata"]["name"]));
        Some((kind, object))
    }

    /// The types and names of this many events.
    pub async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let (kind, object) = self.next().await.expect("the watch has ended");
            names.push(format!("{kind} {}", text(&object, "name")));
        }
        names
    }

    pub async fn ends(&mut self) {
        assert_eq!(self.next().await, None);
    }
}

pub fn text(object: &Value, key: &str) -> String {
    object["metadata"][key].as_str().unwrap_or_default().to_owned()
}

pub fn reservation(name: &str) -> String {
    format!("{RESERVATIONS}/{name}")
}

/// A slot of this name without a host.
pub fn slot(name: &str) -> Value {
    let mut slot = json!(berth_crds::testing::slot("uuid-1", 0));
    slot["metadata"] = json!({ "name": name });
    slot
}

pub fn kept_slot(name: &str) -> Value {
    let mut slot = slot(name);
    slot["metadata"]["finalizers"] = json!([FINALIZER]);
    slot
}

pub const FINALIZER: &str = "berth.test/keep";

/// A commitment of 960 GiB.
pub fn commitment(uuid: &str) -> Value {
    let mut commitment = json!(berth_crds::testing::commitment(uuid, "960Gi"));
    commitment["metadata"] = json!({ "name": commitment["metadata"]["name"] });
    commitment
}

pub fn quota() -> Value {
    json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": "ProjectQuota", "metadata": { "name": "quota-p-z" },
            "spec": { "projectID": "p", "domainID": "d", "availabilityZone": "z", "quota": {} } })
}

pub fn lease(holder: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "berth" },
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0,
                      "renewTime": "2026-03-01T08:00:00.000000Z" } })
}

pub fn host() -> Value {
    json!({ "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor", "metadata": { "name": "node1" }, "spec": {} })
}

pub fn condition(kind: &str, status: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": "2026-03-01T08:00:00Z" })
}
