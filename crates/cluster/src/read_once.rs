//! All objects of a kind, read once: for commands that look at a cluster and end. It decides how long that may take; an
//! operator follows its clusters instead (`watch`).

use std::time::Duration;

use berth_core::ClusterName;
use kube::{
    Api,
    api::{ListParams, ObjectList},
};
use thiserror::Error;
use tokio::time::timeout;

use crate::{Cluster, Guarded, Kind, Store, answers::words, chain, connect::READ_DEADLINE, kind_name};

/// Objects that are asked for at once.
const PAGE: u32 = 500;
/// All pages of a kind together.
const WHOLE: Duration = Duration::from_secs(60);

/// A kind could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cluster {cluster}: {kind} objects cannot be read: {why}")]
pub struct ReadError {
    /// The cluster.
    pub cluster: ClusterName,
    /// The kind.
    pub kind: String,
    /// What happened, and what to do about it.
    pub why: String,
    /// True when the cluster does not serve the kind.
    pub not_served: bool,
}

/// All objects of a kind in one cluster.
#[derive(Debug)]
pub struct Listed<K> {
    cluster: ClusterName,
    objects: Vec<Guarded<K>>,
}

impl<K: Kind> Listed<K> {
    /// Reads all objects of a kind as they are now (a consistent read), within a minute.
    pub async fn read(cluster: &Cluster) -> Result<Self, ReadError> {
        let failed =
            |(why, not_served)| ReadError { cluster: cluster.name.clone(), kind: kind_name::<K>(), why, not_served };
        let objects = match timeout(WHOLE, pages(&Api::all(cluster.client.clone()))).await {
            Ok(read) => read.map_err(failed)?,
            Err(_) => return Err(failed((silence(WHOLE), false))),
        };
        Ok(Self { cluster: cluster.name.clone(), objects })
    }

    /// Puts the objects into a store, in place of what it knew of the cluster.
    pub fn fill(self, store: &Store<K>) {
        store.join(&self.cluster);
        store.init(&self.cluster);
        for object in self.objects {
            store.listed(&self.cluster, object);
        }
        store.init_done(&self.cluster);
    }
}

/// The objects of a kind in this cluster could not be read: whoever asks the store is told why, and decides nothing that
/// rests on them.
pub fn leave_out<K: Kind>(store: &Store<K>, cluster: &ClusterName, why: &str) {
    store.join(cluster);
    store.failing(cluster, Some(why.to_owned()));
}

/// Why, and whether the kind is not served.
type Failure = (String, bool);

async fn pages<K: Kind>(api: &Api<Guarded<K>>) -> Result<Vec<Guarded<K>>, Failure> {
    let mut params = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = page(api, &params).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = ListParams::default().limit(PAGE).continue_token(&token),
            None => return Ok(all),
        }
    }
}

async fn page<K: Kind>(api: &Api<Guarded<K>>, params: &ListParams) -> Result<ObjectList<Guarded<K>>, Failure> {
    match timeout(READ_DEADLINE, api.list(params)).await {
        Ok(Ok(page)) => Ok(page),
        Ok(Err(kube::Error::Api(status))) => Err((words(&status), status.code == 404)),
        Ok(Err(kube::Error::Service(cause))) => {
            Err((format!("the API server does not answer: {}", chain(&*cause)), false))
        }
        Ok(Err(error)) => Err((chain(&error), false)),
        Err(_) => Err((silence(READ_DEADLINE), false)),
    }
}

fn silence(within: Duration) -> String {
    format!("no list within {} s", within.as_secs())
}
