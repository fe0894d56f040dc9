//! One object by name, such as a Secret or a `ConfigMap`: read by one watch that sees nothing else, kept in memory, and
//! never printed.

use std::fmt::{self, Debug};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use kube_runtime::watcher::{self, watcher};
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, debug, info, warn};

use crate::deadlines::{READ_DEADLINE, WATCH_TIMEOUT, WRITE_DEADLINE};
use crate::watch::outage::{OutageLog, WatchError};
use crate::watch::pause;
use crate::write::Failure;
use crate::{Call, Clusters, Fence, ObjectKey, Operation, Right, Verb, WriteError};

/// A watch that has failed works again when it has not failed for so long.
const SETTLED: Duration = Duration::from_secs(10);

/// A namespaced kind of which single objects are read.
pub trait SingleKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> SingleKind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The known state of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State<T> {
    /// Nothing at the moment: it was not read yet, the watch does not get through, or the outcome of a write is open.
    Unknown,
    Absent,
    Present(T),
}

/// One object of the home cluster by name. Clones share it.
pub struct Single<K: SingleKind> {
    shared: Arc<Shared<K>>,
    clusters: Clusters,
    fence: Fence,
}

struct Shared<K: SingleKind> {
    namespace: String,
    name: String,
    known: watch::Sender<KnownObject<K>>,
    /// The number of completed own writes. A list that one of them has overtaken is older than the write.
    writes: AtomicU64,
    reread: Notify,
}

struct KnownObject<K> {
    state: State<Arc<K>>,
    /// The newest version that was seen, also of a deleted object: older reports change nothing.
    newest: u64,
}

impl<K: SingleKind> Clone for Single<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), clusters: self.clusters.clone(), fence: self.fence.clone() }
    }
}

impl<T> State<T> {
    /// Without the object, which may be a secret.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Absent => "absent",
            Self::Present(_) => "present",
        }
    }
}

impl<T> Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<K: SingleKind> Debug for Single<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { namespace, name, known, .. } = &*self.shared;
        let (object, known) = (format!("{}/{namespace}/{name}", K::kind(&())), known.borrow());
        f.debug_struct("Single").field("object", &object).field("state", &known.state).finish_non_exhaustive()
    }
}

impl<K: SingleKind> Single<K> {
    /// An object that is not known yet; [`Single::feed`] reads it.
    pub fn new(clusters: impl Into<Clusters>, namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let known = watch::Sender::new(KnownObject { state: State::Unknown, newest: 0 });
        let shared = Shared { namespace, name, known, writes: AtomicU64::new(0), reread: Notify::new() };
        Self { shared: Arc::new(shared), clusters: clusters.into(), fence: Fence::open() }
    }

    /// The same, writing only while the fence is open, as [`crate::Writer::fenced`] does.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Self {
        Self { clusters: self.clusters.fenced(&fence), fence, ..self }
    }

    fn api(&self) -> Api<K> {
        Api::namespaced(self.clusters.home().client.clone(), &self.shared.namespace)
    }

    /// The object of this name in the namespace of the home cluster that has it, our own one first; and why the others
    /// cannot be searched, if they cannot.
    pub async fn find(clusters: &Clusters, name: &str) -> (Self, Option<WriteError>) {
        let own = clusters.home().client.default_namespace();
        let (found, unsearched) = match Self::namespaces(clusters, name).await {
            Ok(namespaces) => (namespaces.iter().find(|one| *one == own).or(namespaces.first()).cloned(), None),
            Err(error) => (None, Some(error)),
        };
        (Self::new(clusters.clone(), found.as_deref().unwrap_or(own), name), unsearched)
    }

    /// The namespaces that have an object of this name.
    async fn namespaces(clusters: &Clusters, name: &str) -> Result<Vec<String>, WriteError> {
        let key = ObjectKey::new(clusters.home().name.clone(), name);
        let call = Call { operation: Operation::Get, kind: K::kind(&()).into_owned(), key };
        let all = ListParams::default().fields(&format!("metadata.name={name}"));
        let api = Api::<K>::all(clusters.home().client.clone());
        match timeout(READ_DEADLINE, api.list(&all)).await {
            Ok(Ok(found)) => Ok(found.into_iter().filter_map(|object| object.namespace()).collect()),
            Ok(Err(error)) => match Failure::of(&call, &error) {
                Failure::NotFound => Ok(Vec::new()),
                Failure::Error(error) => Err(error),
            },
            Err(_) => Err(WriteError::Unavailable { call, message: silence() }),
        }
    }

    /// An object that was not found may be where was not searched.
    pub fn or_unsearched(&self, unsearched: Option<WriteError>) -> Result<(), WriteError> {
        unsearched.filter(|_| !matches!(self.get(), State::Present(_))).map_or(Ok(()), Err)
    }

    /// The rights for the watch.
    pub fn rights(namespace: &str, name: &str) -> Vec<Right> {
        vec![Self::name_right(Verb::READ, namespace, name)]
    }

    fn name_right(verbs: &[Verb], namespace: &str, name: &str) -> Right {
        let right = Right::resource(&K::group(&()), &K::version(&()), &K::plural(&()), verbs);
        right.at_home().in_namespace(namespace).named([name])
    }

    pub fn get(&self) -> State<Arc<K>> {
        self.shared.known.borrow().state.clone()
    }

    /// Reads the object now, for those who do not [feed](Self::feed) it: what is known is then not older than this call.
    pub async fn read(&self) -> Result<Option<Arc<K>>, WriteError> {
        let key = ObjectKey::new(self.clusters.home().name.clone(), self.shared.name.as_str());
        let call = Call { operation: Operation::Get, kind: K::kind(&()).into_owned(), key };
        let found = match timeout(READ_DEADLINE, self.api().get(&self.shared.name)).await {
            Ok(Ok(object)) => Some(Arc::new(object)),
            Ok(Err(error)) => match Failure::of(&call, &error) {
                Failure::NotFound => None,
                Failure::Error(WriteError::Unknown { call, message }) => {
                    return Err(WriteError::Unavailable { call, message });
                }
                Failure::Error(error) => return Err(error),
            },
            Err(_) => return Err(WriteError::Unavailable { call, message: silence() }),
        };
        let state = found.clone().map_or(State::Absent, State::Present);
        self.shared.known.send_replace(KnownObject { newest: found.as_deref().map_or(0, version), state });
        Ok(found)
    }

    /// Yields when something else is known of the object, and once at the beginning.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<K> {
        let mut known = self.shared.known.subscribe();
        known.mark_changed();
        stream::unfold(known, |mut known| async move { known.changed().await.ok().map(|()| ((), known)) })
    }

    /// Waits until it is known whether there is an object.
    pub async fn known(&self) -> State<Arc<K>> {
        let mut known = self.shared.known.subscribe();
        // Cannot fail: the sender lives as long as this.
        let known = known.wait_for(|known| !matches!(known.state, State::Unknown)).await;
        known.map_or(State::Unknown, |known| known.state.clone())
    }

    /// Keeps up with the object until `stop`.
    pub fn feed(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<K> {
        let single = self.clone();
        async move { stop.run_until_cancelled(single.follow()).await }.map(drop)
    }

    async fn follow(&self) {
        let (mut failures, mut telling) = (0, OutageLog::default());
        loop {
            let Some(error) = self.watch(&mut failures, &mut telling).await else { continue };
            self.forget();
            if telling.should_log(error.kind) {
                warn!(object = ?self, error = error.why, "watch failed; the object may be outdated");
            } else {
                debug!(object = ?self, error = error.why, failures, "watch still fails");
            }
            sleep(pause(failures, &error)).await;
            failures = failures.saturating_add(1);
        }
    }

    /// From a list on, until there is an error, or until everything must be read again.
    async fn watch(&self, failures: &mut u32, telling: &mut OutageLog) -> Option<WatchError> {
        let seconds = u32::try_from(WATCH_TIMEOUT.as_secs()).unwrap_or(u32::MAX);
        let selected = format!("metadata.name={}", self.shared.name);
        let config = watcher::Config::default().timeout(seconds).fields(&selected);
        let mut events = watcher(self.api(), config).boxed();
        let mut list = List { object: None, is_complete: false, writes: self.writes() };
        let has_settled = sleep(SETTLED);
        tokio::pin!(has_settled);
        loop {
            tokio::select! {
                biased;
                () = self.shared.reread.notified() => return None,
                // kube-runtime warns of every 403 itself; this code decides which failures are logged.
                event = events.next().with_subscriber(Dispatch::none()) => match event {
                    Some(Ok(event)) => if !self.take(event, &mut list) { return None },
                    Some(Err(error)) => return Some(watch_error_of(&error)),
                    None => return None,
                },
                // A list alone does not prove that the watch gets through.
                () = &mut has_settled, if *failures > 0 && list.is_complete => {
                    info!(object = ?self, "watch works again");
                    *failures = 0;
                    telling.end_outage();
                }
                // A list has no deadline of its own.
                () = sleep(READ_DEADLINE), if !list.is_complete => return Some(WatchError::silence("list", READ_DEADLINE)),
            }
        }
    }

    /// False if a write of ours has overtaken the list, so that everything must be read again.
    fn take(&self, event: watcher::Event<K>, list: &mut List<K>) -> bool {
        match event {
            watcher::Event::Init => *list = List { object: None, is_complete: false, writes: self.writes() },
            watcher::Event::InitApply(object) => list.object = Some(object),
            watcher::Event::InitDone if self.writes() != list.writes => return false,
            watcher::Event::InitDone => {
                list.is_complete = true;
                let newest = list.object.as_ref().map_or(0, version);
                let state = list.object.take().map_or(State::Absent, |object| State::Present(Arc::new(object)));
                self.shared.known.send_replace(KnownObject { state, newest });
            }
            watcher::Event::Apply(object) => self.set(version(&object), State::Present(Arc::new(object))),
            watcher::Event::Delete(object) => self.set(version(&object), State::Absent),
        }
        true
    }

    fn writes(&self) -> u64 {
        self.shared.writes.load(Ordering::SeqCst)
    }

    fn forget(&self) {
        self.shared.known.send_modify(|known| known.state = State::Unknown);
    }

    /// This is how the object is in `version`, unless something newer was seen.
    fn set(&self, version: u64, state: State<Arc<K>>) {
        self.shared.known.send_if_modified(|known| {
            let is_newest = version >= known.newest;
            if is_newest {
                *known = KnownObject { state, newest: version };
            }
            is_newest
        });
    }
}

fn silence() -> String {
    format!("no answer within {} s", READ_DEADLINE.as_secs())
}

/// Without the words of a decoder, which may quote a secret.
fn watch_error_of(error: &watcher::Error) -> WatchError {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::SerdeError(_))
        | WatchStartFailed(kube::Error::SerdeError(_))
        | WatchFailed(kube::Error::SerdeError(_)) => {
            WatchError::passing("the object cannot be decoded; correct it".to_owned())
        }
        error => WatchError::of(error),
    }
}

/// A list under way, or the last one.
struct List<K> {
    object: Option<K>,
    is_complete: bool,
    /// How many writes had ended when it began.
    writes: u64,
}

fn version<K: Resource>(object: &K) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Only `ConfigMaps` are written: those are ours.
impl Single<ConfigMap> {
    /// The rights to read and write the object.
    pub fn writing_rights(namespace: &str, name: &str) -> Vec<Right> {
        let write = Self::name_right(&[Verb::Create, Verb::Update], namespace, name);
        Self::rights(namespace, name).into_iter().chain([write]).collect()
    }

    /// Changes the object to `new`, if it still equals `seen`, or is still absent. Returns the result. Nothing is sent
    /// if nothing differs, or if the fence is closed.
    pub async fn write(&self, seen: Option<&ConfigMap>, new: &ConfigMap) -> Result<(), WriteError> {
        if seen.is_some_and(|seen| is_same(seen, new)) {
            return Ok(());
        }
        let key = ObjectKey::new(self.clusters.home().name.clone(), self.shared.name.as_str());
        let operation = if seen.is_some() { Operation::Patch } else { Operation::Create };
        let call = Call { operation, kind: ConfigMap::kind(&()).into_owned(), key };
        let _turn = self.clusters.write_limiter().wait(&call.key.cluster).await;
        if self.fence.check().is_err() {
            return Err(WriteError::NotLeader { call });
        }
        // Dropped in the middle, the write may have taken effect.
        let open = Open { single: self, is_open: true };
        let answer = timeout(WRITE_DEADLINE, self.send(seen, new)).await;
        self.shared.writes.fetch_add(1, Ordering::SeqCst);
        match answer {
            Ok(Ok(written)) => {
                open.close();
                self.set(version(&written), State::Present(Arc::new(written)));
                Ok(())
            }
            Ok(Err(error)) => {
                let error = match Failure::of(&call, &error) {
                    Failure::NotFound => WriteError::Conflict { call },
                    // ConfigMaps are always served, so the namespace does not exist.
                    Failure::Error(WriteError::NotServed { call, .. }) => {
                        let message = format!("there is no namespace {}; create it", self.shared.namespace);
                        WriteError::Refused { call, code: 404, message }
                    }
                    Failure::Error(error) => error,
                };
                if !matches!(error, WriteError::Unknown { .. }) {
                    open.close();
                    // A new decision needs a newer read.
                    self.shared.reread.notify_one();
                }
                Err(error)
            }
            Err(_) => {
                let message = format!("no answer within {} s", WRITE_DEADLINE.as_secs());
                Err(WriteError::Unknown { call, message })
            }
        }
    }

    async fn send(&self, seen: Option<&ConfigMap>, new: &ConfigMap) -> kube::Result<ConfigMap> {
        let mut sent = new.clone();
        sent.metadata.namespace = Some(self.shared.namespace.clone());
        sent.metadata.name = Some(self.shared.name.clone());
        sent.metadata.uid = seen.and_then(ResourceExt::uid);
        sent.metadata.resource_version = seen.and_then(ResourceExt::resource_version);
        match seen {
            None => self.api().create(&PostParams::default(), &sent).await,
            Some(_) => self.api().replace(&self.shared.name, &PostParams::default(), &sent).await,
        }
    }
}

/// Whether the parts that users and programs write are the same.
fn is_same(one: &ConfigMap, other: &ConfigMap) -> bool {
    let written = |object: &ConfigMap| {
        let ConfigMap { data, binary_data, immutable, .. } = object.clone();
        (data, binary_data, immutable, object.labels().clone(), object.annotations().clone())
    };
    written(one) == written(other)
}

/// A write whose outcome is not known.
struct Open<'a> {
    single: &'a Single<ConfigMap>,
    is_open: bool,
}

impl Open<'_> {
    fn close(mut self) {
        self.is_open = false;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.single.forget();
            self.single.shared.reread.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
