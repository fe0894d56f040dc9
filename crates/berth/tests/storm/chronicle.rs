//! All commits in their order, as a watch on etcd reports them, of the kinds that the invariants are about. The API
//! server reports each kind separately, reports nothing while it is away, and skips what happened in the meantime; etcd
//! continues where a client has stopped reading. The reader interprets the commits.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use berth_crds::{CommittedResource, Hypervisor, Reservation};
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::ByteString;
use kube::{Client, Config, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The key range of the API server's objects; etcd takes the first key and the key behind the last.
const RANGE: [&[u8]; 2] = [b"/registry/", b"/registry0"];

const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// A committed object.
pub enum Object {
    Commitment(Arc<CommittedResource>),
    Reservation(Arc<Reservation>),
    Host(Arc<Hypervisor>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Commitment,
    Reservation,
    Host,
}

/// One commit: an object in its new state, or its deletion.
pub struct Entry {
    pub revision: u64,
    pub kind: Kind,
    pub name: String,
    pub object: Option<Object>,
}

/// Reads until it is dropped.
pub struct Chronicle {
    reading: JoinHandle<()>,
}

impl Drop for Chronicle {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Reports all objects, and from then on every commit, across all restarts of etcd at this address.
pub async fn follow(etcd: &str, mut tell: impl FnMut(Entry) + Send + 'static) -> Chronicle {
    let client = Client::try_from(Config::new(etcd.parse().unwrap())).unwrap();
    let there: Range = serde_json::from_str(&client.request_text(range()).await.unwrap()).unwrap();
    there.kvs.into_iter().filter_map(|pair| pair.entry(false)).for_each(&mut tell);
    let mut heard = number(&there.header.revision);
    let reading = tokio::spawn(async move {
        loop {
            // The stream ends whenever etcd does.
            read_on(&client, &mut heard, &mut tell).await;
            sleep(ASK_AGAIN_AFTER).await;
        }
    });
    Chronicle { reading }
}

async fn read_on(client: &Client, heard: &mut u64, tell: &mut impl FnMut(Entry)) -> Option<()> {
    let stream = client.request_stream(watch_after(*heard)).await.ok()?;
    let mut lines = stream.lines();
    while let Some(line) = lines.try_next().await.ok()? {
        let reported: Reported = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let changes = reported.result?;
        // A compacted commit cannot be read, and then the following state is not reliable.
        assert!(changes.compact_revision.is_none(), "etcd has compacted the events after {heard}");
        for event in changes.events {
            let revision = number(&event.kv.mod_revision);
            event.kv.entry(event.type_ == "DELETE").into_iter().for_each(&mut *tell);
            *heard = revision;
        }
    }
    None
}

fn range() -> Request<Vec<u8>> {
    post("/v3/kv/range", &json!({ "key": base64(RANGE[0]), "range_end": base64(RANGE[1]) }))
}

fn watch_after(revision: u64) -> Request<Vec<u8>> {
    let start = (revision + 1).to_string();
    let order = json!({ "key": base64(RANGE[0]), "range_end": base64(RANGE[1]), "start_revision": start });
    post("/v3/watch", &json!({ "create_request": order }))
}

fn post(path: &str, body: &Value) -> Request<Vec<u8>> {
    Request::post(path).body(body.to_string().into_bytes()).unwrap()
}

fn base64(bytes: &[u8]) -> Value {
    serde_json::to_value(ByteString(bytes.to_vec())).unwrap()
}

/// Integers of 64 bits are strings in JSON.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no revision"))
}

#[derive(Deserialize)]
struct Range {
    header: Header,
    #[serde(default)]
    kvs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
}

#[derive(Deserialize)]
struct Reported {
    /// `None` when it is an error.
    result: Option<News>,
}

#[derive(Deserialize)]
struct News {
    #[serde(default)]
    events: Vec<Event>,
    compact_revision: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default, rename = "type")]
    type_: String,
    kv: Pair,
}

#[derive(Deserialize)]
struct Pair {
    key: ByteString,
    #[serde(default)]
    value: ByteString,
    mod_revision: String,
}

impl Pair {
    /// `None` for kinds that no invariant is about.
    fn entry(self, gone: bool) -> Option<Entry> {
        let key = String::from_utf8(self.key.0.clone()).ok()?;
        let (kind, name) =
            KINDS.into_iter().find_map(|(kind, folder)| Some((kind, key.strip_prefix(&folder())?.to_owned())))?;
        let object = (!gone).then(|| self.object(kind));
        Some(Entry { revision: number(&self.mod_revision), kind, name, object })
    }

    fn object(&self, kind: Kind) -> Object {
        match kind {
            Kind::Commitment => Object::Commitment(self.decoded()),
            Kind::Reservation => Object::Reservation(self.decoded()),
            Kind::Host => Object::Host(self.decoded()),
        }
    }

    fn decoded<K: DeserializeOwned>(&self) -> Arc<K> {
        let decoded = serde_json::from_slice(&self.value.0).map(Arc::new);
        decoded.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.value.0)))
    }
}

const KINDS: [(Kind, fn() -> String); 3] = [
    (Kind::Commitment, folder::<CommittedResource>),
    (Kind::Reservation, folder::<Reservation>),
    (Kind::Host, folder::<Hypervisor>),
];

fn folder<K: Resource<DynamicType = ()>>() -> String {
    format!("/registry/{}/{}/", K::group(&()), K::plural(&()))
}
