//! All commits of some kinds in their order, as raw objects, as a watch on etcd reports them. The API server reports each
//! kind separately, reports nothing while it is away, and skips what happened in the meantime; etcd continues where a
//! client has stopped reading.
//!
//! The reader has a thread of its own, so that also code that does not await, such as the end of a fixture, can wait until
//! everything was read.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use axum::http::Request;
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::select;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

/// The key range of the API server's objects; etcd takes the first key and the key behind the last.
const RANGE: [&[u8]; 2] = [b"/registry/", b"/registry0"];

/// A key in this range that no API server reads: a write to it marks a moment in the order of all commits.
const MARK: &[u8] = b"/registry/test-marks/mark";

const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// One commit: an object in its new state, or its deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub revision: u64,
    /// API group and plural, as in `kvm.cloud.sap/hypervisors`.
    pub kind: &'static str,
    pub name: String,
    pub object: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// All objects at one revision, which replace everything that was read before: at the beginning, and after etcd was
    /// set back to a backup.
    State(Vec<Entry>),
    Commit(Entry),
}

/// Reads until it is dropped.
pub struct Chronicle {
    marks: mpsc::UnboundedSender<Sender<()>>,
}

impl Chronicle {
    /// Waits until everything was reported that is committed now.
    pub fn catch_up(&self, within: Duration) -> Result<(), String> {
        let (done, wait) = channel();
        self.marks.send(done).map_err(|_| "the reader of etcd has failed".to_owned())?;
        wait.recv_timeout(within).map_err(|error| format!("the commits could not be read within {within:?}: {error}"))
    }
}

/// Reports all objects of these kinds, and from then on every commit, across all restarts of etcd at this address.
pub async fn follow(etcd: &str, kinds: &'static [&str], report: impl FnMut(Report) + Send + 'static) -> Chronicle {
    let (etcd, (marks, wanted), (ready, is_ready)) = (etcd.to_owned(), mpsc::unbounded_channel(), oneshot::channel());
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::try_from(Config::new(etcd.parse().unwrap())).unwrap();
            let (heard, reached) = watch::channel(0);
            let mut reader = Reader { client: client.clone(), kinds, report, heard };
            reader.begin().await.unwrap();
            let _ = ready.send(());
            select! {
                () = reader.read_forever() => {}
                () = mark_moments(&client, wanted, reached) => {}
            }
        });
    });
    is_ready.await.expect("the state of etcd can be read");
    Chronicle { marks }
}

/// Answers each request as soon as everything was reported that was committed before it.
async fn mark_moments(
    client: &Client,
    mut wanted: mpsc::UnboundedReceiver<Sender<()>>,
    mut reached: watch::Receiver<u64>,
) {
    while let Some(done) = wanted.recv().await {
        let mark = loop {
            match client.request::<Answer>(put_mark()).await {
                Ok(answer) => break number(&answer.header.revision),
                Err(_) => sleep(ASK_AGAIN_AFTER).await,
            }
        };
        let _ = reached.wait_for(|heard| *heard >= mark).await;
        let _ = done.send(());
    }
}

struct Reader<R> {
    client: Client,
    kinds: &'static [&'static str],
    report: R,
    /// The revision up to which everything was reported.
    heard: watch::Sender<u64>,
}

impl<R: FnMut(Report)> Reader<R> {
    async fn begin(&mut self) -> Result<(), kube::Error> {
        let state: Answer = self.client.request(range(0)).await?;
        let mut entries: Vec<_> = state.kvs.into_iter().filter_map(|pair| pair.entry(self.kinds, false)).collect();
        entries.sort_by_key(|entry| entry.revision);
        (self.report)(Report::State(entries));
        self.heard.send_replace(number(&state.header.revision));
        Ok(())
    }

    async fn read_forever(&mut self) {
        loop {
            // The stream ends whenever etcd does.
            self.read_on().await;
            sleep(ASK_AGAIN_AFTER).await;
        }
    }

    async fn read_on(&mut self) -> Option<()> {
        let heard = *self.heard.borrow();
        let now: Answer = self.client.request(range(1)).await.ok()?;
        if number(&now.header.revision) < heard {
            return self.begin().await.ok();
        }
        let stream = self.client.request_stream(watch_after(heard)).await.ok()?;
        let mut lines = stream.lines();
        while let Some(line) = lines.try_next().await.ok()? {
            let reported: Reported = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let changes = reported.result?;
            // A compacted commit cannot be read, and then the following state is not reliable.
            assert!(changes.compact_revision.is_none(), "etcd has compacted the events after {heard}");
            for event in changes.events {
                let revision = number(&event.kv.mod_revision);
                if let Some(entry) = event.kv.entry(self.kinds, event.type_ == "DELETE") {
                    (self.report)(Report::Commit(entry));
                }
                self.heard.send_replace(revision);
            }
        }
        None
    }
}

/// At most so many objects, or all with 0.
fn range(limit: u64) -> Request<Vec<u8>> {
    let limit = limit.to_string();
    post("/v3/kv/range", &json!({ "key": base64(RANGE[0]), "range_end": base64(RANGE[1]), "limit": limit }))
}

fn put_mark() -> Request<Vec<u8>> {
    post("/v3/kv/put", &json!({ "key": base64(MARK), "value": base64(b"{}") }))
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

/// The answer to a read or a write.
#[derive(Deserialize)]
struct Answer {
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
    /// `None` for other kinds.
    fn entry(self, kinds: &[&'static str], gone: bool) -> Option<Entry> {
        let key = std::str::from_utf8(&self.key.0).ok()?.strip_prefix("/registry/")?;
        let (kind, name) = key.rsplit_once('/')?;
        let kind = kinds.iter().find(|one| **one == kind)?;
        let object = (!gone).then(|| self.decoded());
        Some(Entry { revision: number(&self.mod_revision), kind, name: name.to_owned(), object })
    }

    fn decoded(&self) -> Value {
        let decoded = serde_json::from_slice(&self.value.0);
        decoded.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.value.0)))
    }
}
