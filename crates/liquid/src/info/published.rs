//! What is published, as a replica knows it: its watch may fail or the `ConfigMap` may be deleted, and the last info stays.

use std::sync::Arc;

use berth_cluster::State;
use futures::StreamExt as _;
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{InfoMap, NAME, Publication, object};

/// The published service info. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PublishedInfo {
    current: Arc<RwLock<Option<Arc<Publication>>>>,
}

impl PublishedInfo {
    /// The info that is served; `None` only while nothing was ever published.
    pub fn get(&self) -> Option<Arc<Publication>> {
        self.current.read().clone()
    }

    /// Serves this publication from now on, unless that would lower the version or give it another content.
    pub fn offer(&self, publication: Publication) -> bool {
        let mut current = self.current.write();
        let is_newer = current.as_ref().is_none_or(|current| current.info.version < publication.info.version);
        let is_same = current.as_ref().is_some_and(|current| current.info == publication.info);
        if is_newer {
            info!(version = publication.info.version, "serving a new service info");
        }
        if is_newer || is_same {
            *current = Some(Arc::new(publication));
        }
        is_newer || is_same
    }

    fn take(&self, map: &InfoMap) {
        let State::Present(seen) = map.get() else { return };
        let is_served = object::decode(&seen).is_some_and(|publication| self.offer(publication));
        if !is_served {
            warn!("the ConfigMap {NAME} was changed by hand; its content is not served, and the leader replaces it");
        }
    }
}

/// Serves what the `ConfigMap` says until `stop`. Something else must feed the map.
pub async fn follow(map: InfoMap, published: PublishedInfo, stop: CancellationToken) {
    let changes = map.changes();
    let following = changes.for_each(|()| {
        published.take(&map);
        std::future::ready(())
    });
    // It ends with `stop` only.
    let _ = stop.run_until_cancelled(following).await;
}
