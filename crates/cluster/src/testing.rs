//! Test support: stores that are filled without a watch, and in this crate a kind and a scripted API server.

use berth_core::ClusterName;

use crate::{
    CompletenessProof, DecodeGuard, Index, Key, Kind, Properties, Requests, Store, StoreSet, Visitor, Watches,
};

pub(crate) mod seeded;

pub use seeded::Pick;

/// The decisions of a replica about the lease, for the model of the election.
pub mod lease {
    pub use crate::deadlines::WRITE_DEADLINE;
    pub use crate::lease::step::{
        Action, LeaseRecord, ObservedLease, RenewTime, ReplicaState, TIMING, Timing, UnansweredWrite, may_write,
    };
}

/// A completeness proof without a read.
pub fn completeness_proof<K>(cluster: &ClusterName) -> CompletenessProof<K> {
    CompletenessProof::new(cluster.clone())
}

/// A synced store that holds `objects` of `cluster`.
pub fn filled<K: Kind>(
    indexes: &'static [Index<K>],
    cluster: &ClusterName,
    objects: impl IntoIterator<Item = K>,
) -> Store<K> {
    fill(Store::new(indexes), cluster, objects)
}

/// The store, synced in `cluster` with these objects.
pub(crate) fn fill<K: Kind>(store: Store<K>, cluster: &ClusterName, objects: impl IntoIterator<Item = K>) -> Store<K> {
    store.init(cluster);
    for object in objects {
        store.listed(cluster, DecodeGuard::Valid(object));
    }
    store.init_done(cluster);
    store
}

/// Marks every kind of the set as synced in `cluster`, without any object.
pub fn sync(stores: &impl StoreSet, cluster: &ClusterName) {
    struct Sync<'a>(&'a ClusterName);
    impl Visitor for Sync<'_> {
        fn visit<K: Kind>(&mut self, store: &Store<K>, _: &Properties) {
            store.init(self.0);
            store.init_done(self.0);
        }
    }
    stores.each(&mut Sync(cluster));
}

/// The watch of `cluster` shows that an object was created or changed.
pub fn applied<K: Kind>(store: &Store<K>, cluster: &ClusterName, object: K) {
    store.applied(cluster, DecodeGuard::Valid(object));
}

/// Like `applied`, for a raw object, which need not decode. An error if it is not even an object with a name.
pub fn applied_raw<K: Kind>(
    store: &Store<K>,
    cluster: &ClusterName,
    object: serde_json::Value,
) -> serde_json::Result<()> {
    store.applied(cluster, serde_json::from_value(object)?);
    Ok(())
}

/// The watch of `cluster` shows that an object was deleted.
pub fn deleted<K: Kind>(store: &Store<K>, cluster: &ClusterName, object: K) {
    store.deleted(cluster, DecodeGuard::Valid(object));
}

/// The watch of `cluster` fails for this reason, or works again.
pub fn failing<K: Kind>(store: &Store<K>, cluster: &ClusterName, why: Option<&str>) {
    store.failing(cluster, why.map(str::to_owned));
}

/// The API server of `cluster` does not know the kind.
pub fn not_served<K: Kind>(store: &Store<K>, cluster: &ClusterName) {
    store.not_served(cluster);
}

/// Collects requests without a running controller: the tests reconcile the keys themselves.
pub fn opened<K: Key>() -> Requests<K> {
    let requests = Requests::closed();
    requests.open();
    requests
}

pub fn watches<K: Key>(requests: &Requests<K>) -> Watches<K> {
    Watches::new(requests.clone())
}

pub fn take_smallest<K: Key>(requests: &Requests<K>) -> Option<K> {
    requests.take_smallest()
}

/// The outcome of a write to this object is unknown.
pub fn doubtful<K: Kind>(store: &Store<K>, key: &crate::ObjectKey) {
    store.sending(key).unknown();
}

#[cfg(test)]
mod log;
#[cfg(test)]
pub(crate) use log::LogCapture;
#[cfg(test)]
pub(crate) use scripted::{Reply, Request, Thing, ThingStatus, metrics, scripted, thing};

#[cfg(test)]
mod scripted {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};
    use std::{future, io};

    use berth_core::ClusterName;
    use berth_telemetry::metrics::Metrics;
    use hyper::body::{Bytes, Frame};
    use kube::client::Body;
    use kube::{Client, CustomResource};
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};
    use tokio::sync::mpsc;
    use tower::service_fn;

    use crate::{Cluster, ClusterMetrics};

    /// A kind for tests.
    #[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[kube(group = "test.berth", version = "v1", kind = "Thing", status = "ThingStatus", schema = "disabled")]
    #[kube(derive = "PartialEq", derive = "Default")]
    pub struct ThingSpec {
        pub size: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub host: Option<String>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct ThingStatus {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub host: Option<String>,
    }

    /// A thing as the API server would return it, on host `h`.
    pub fn thing(name: &str, uid: &str, version: u64) -> Thing {
        let mut thing = Thing::new(name, ThingSpec { size: 1, host: Some("h".to_owned()) });
        thing.metadata.uid = Some(uid.to_owned());
        thing.metadata.resource_version = Some(version.to_string());
        thing
    }

    /// A received request.
    #[derive(Clone, Debug)]
    pub struct Request {
        pub method: String,
        pub path: String,
        pub query: BTreeMap<String, String>,
        pub body: Value,
    }

    /// The reply to a request.
    pub enum Reply {
        Json(u16, Value),
        Hang,
        /// The connection breaks after the request was sent.
        Cut,
        /// Nothing listens.
        Refused,
        /// A watch: one line per value, until the sender is dropped.
        Watch(mpsc::UnboundedReceiver<Value>),
    }

    impl Reply {
        /// An error as the API server returns it.
        pub fn error(code: u16, reason: &str, message: &str) -> Self {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "code": code, "reason": reason, "message": message,
            });
            Self::Json(code, status)
        }

        pub fn not_found(name: &str) -> Self {
            Self::error(404, "NotFound", &format!("things.test.berth \"{name}\" not found"))
        }
    }

    /// The cluster `home`, whose API server answers with `script`.
    pub fn scripted(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Cluster {
        let script = Arc::new(script);
        let service = service_fn(move |request: hyper::Request<Body>| {
            let script = script.clone();
            async move {
                let request = read(request).await;
                match script(&request) {
                    Reply::Json(code, body) => Ok(answer(code, Answer::Whole(Some(body)))),
                    Reply::Hang => future::pending().await,
                    Reply::Cut => Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset")),
                    Reply::Refused => Err(io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused")),
                    Reply::Watch(lines) => Ok(answer(200, Answer::Lines(lines))),
                }
            }
        });
        Cluster { name: ClusterName::home(), client: Client::new(service, "default") }
    }

    pub fn metrics() -> (Metrics, ClusterMetrics) {
        let registry = Metrics::new(&BTreeMap::new()).unwrap();
        let all = ClusterMetrics::register(&registry).unwrap();
        (registry, all)
    }

    async fn read(request: hyper::Request<Body>) -> Request {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Request {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().split('&').filter_map(pair).collect(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    fn answer(code: u16, body: Answer) -> hyper::Response<Answer> {
        hyper::Response::builder().status(code).body(body).unwrap()
    }

    enum Answer {
        Whole(Option<Value>),
        Lines(mpsc::UnboundedReceiver<Value>),
    }

    impl hyper::body::Body for Answer {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let next = match self.get_mut() {
                Self::Whole(body) => Poll::Ready(body.take()),
                Self::Lines(lines) => lines.poll_recv(context),
            };
            next.map(|value| value.map(|value| Ok(Frame::data(format!("{value}\n").into()))))
        }
    }
}
