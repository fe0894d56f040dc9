//! Reads all objects of a kind once, for commands that end afterwards, within a bounded time.

use std::fmt::Debug;
use std::time::Duration;

use berth_core::ClusterName;
use kube::Api;
use kube::api::{ListParams, ObjectList};
use kube::core::Status;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::timeout;

use crate::answers::describe_status;
use crate::deadlines::READ_DEADLINE;
use crate::{Cluster, CompletenessProof, DecodeGuard, Kind, Store, chain, kind_name};

/// The size of a page.
const PAGE: u32 = 500;
const WHOLE: Duration = Duration::from_secs(60);

/// A kind could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cluster {cluster}: {kind} objects cannot be read: {why}")]
pub struct ReadError {
    pub cluster: ClusterName,
    pub kind: String,
    /// The cause, and the action that it requires.
    pub why: String,
    /// True when the cluster does not serve the kind.
    pub not_served: bool,
}

/// All objects of a kind in one cluster.
#[derive(Debug)]
pub struct Listed<K> {
    cluster: ClusterName,
    objects: Vec<DecodeGuard<K>>,
}

impl<K: Kind> Listed<K> {
    /// Reads all present objects of a kind (a consistent read), within a minute.
    pub async fn read(cluster: &Cluster) -> Result<Self, ReadError> {
        let objects = match timeout(WHOLE, pages(&Api::all(cluster.client.clone()))).await {
            Ok(read) => read.map_err(|failure| failure.of::<K>(cluster))?,
            Err(_) => return Err(Failure::silence(WHOLE).of::<K>(cluster)),
        };
        Ok(Self { cluster: cluster.name.clone(), objects })
    }

    /// Replaces the objects of the cluster in a store.
    pub fn fill(self, store: &Store<K>) {
        store.join(&self.cluster);
        store.init(&self.cluster);
        for object in self.objects {
            store.listed(&self.cluster, object);
        }
        store.init_done(&self.cluster);
    }
}

/// The objects of a kind in this cluster could not be read: a caller gets the reason, and decides nothing that
/// rests on them.
pub fn leave_out<K: Kind>(store: &Store<K>, cluster: &ClusterName, why: &str) {
    store.join(cluster);
    store.failing(cluster, Some(why.to_owned()));
}

/// Why a page could not be read.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// The code of the answer, if there was one.
    pub(crate) code: Option<u16>,
}

impl Failure {
    /// The API server has responded, but not with the list.
    pub(crate) fn answered(status: &Status) -> Self {
        Self { why: describe_status(status), code: Some(status.code) }
    }

    pub(crate) fn unanswered(error: &kube::Error) -> Self {
        let why = match error {
            kube::Error::Service(cause) => format!("the API server does not answer: {}", chain(&**cause)),
            error => chain(error),
        };
        Self { why, code: None }
    }

    pub(crate) fn log(why: String) -> Self {
        Self { why, code: None }
    }

    fn silence(within: Duration) -> Self {
        Self::log(format!("no list within {} s", within.as_secs()))
    }

    pub(crate) fn of<K: Kind>(self, cluster: &Cluster) -> ReadError {
        let not_served = self.code == Some(404);
        ReadError { cluster: cluster.name.clone(), kind: kind_name::<K>(), why: self.why, not_served }
    }
}

/// Reads all present objects of a kind page by page, within a minute, for those who keep little of each. The proof is that
/// these were all.
pub async fn read_pages<K: Kind>(
    cluster: &Cluster,
    mut take: impl FnMut(DecodeGuard<K>),
) -> Result<CompletenessProof<K>, ReadError> {
    let api = Api::all(cluster.client.clone());
    match timeout(WHOLE, each_page(&api, |items| items.into_iter().for_each(&mut take))).await {
        Ok(read) => read.map_err(|failure| failure.of::<K>(cluster))?,
        Err(_) => return Err(Failure::silence(WHOLE).of::<K>(cluster)),
    }
    Ok(CompletenessProof::new(cluster.name.clone()))
}

async fn pages<K: Kind>(api: &Api<DecodeGuard<K>>) -> Result<Vec<DecodeGuard<K>>, Failure> {
    let mut all = Vec::new();
    each_page(api, |items| all.extend(items)).await?;
    Ok(all)
}

async fn each_page<K: Kind>(
    api: &Api<DecodeGuard<K>>,
    mut take: impl FnMut(Vec<DecodeGuard<K>>),
) -> Result<(), Failure> {
    let mut token = None;
    loop {
        let read = page(api, token.as_deref()).await?;
        take(read.items);
        token = read.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(());
        }
    }
}

/// The first page of all objects, or the one that `token` continues with.
pub(crate) async fn page<T: Clone + DeserializeOwned + Debug>(
    api: &Api<T>,
    token: Option<&str>,
) -> Result<ObjectList<T>, Failure> {
    let params = ListParams { continue_token: token.map(str::to_owned), ..ListParams::default().limit(PAGE) };
    match timeout(READ_DEADLINE, api.list(&params)).await {
        Ok(Ok(page)) => Ok(page),
        Ok(Err(kube::Error::Api(status))) => Err(Failure::answered(&status)),
        Ok(Err(error)) => Err(Failure::unanswered(&error)),
        Err(_) => Err(Failure::silence(READ_DEADLINE)),
    }
}
