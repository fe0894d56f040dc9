//! Restarts a watch after an outage. It decides whether the watch can continue or must list again, and whether the API
//! server has lost its past, for example after a restore from a backup.

use futures::stream::BoxStream;
use kube::api::ListParams;
use tokio::time::timeout;
use tracing::warn;

use super::feeding::{Feeding, Item, Progress};
use super::outage::WatchError;
use crate::deadlines::READ_DEADLINE;
use crate::{DecodeGuard, Kind, kind_name};

/// The size of a page.
const PAGE: u32 = 500;

/// Whether to list everything after this failure, instead of resuming the watch. Refusals change no objects, and short
/// interruptions are frequent. After a longer one another server may respond.
pub(super) fn is_needed(code: Option<u16>, failures: u32) -> bool {
    match code {
        Some(401 | 403 | 429) => false,
        // The CRD was removed, and the objects with it.
        Some(404) => true,
        _ => failures > 1,
    }
}

impl<K: Kind> Feeding<K> {
    /// A watch that begins with a list, after a reconciliation of whether the API server is still the one that we know.
    pub(super) async fn relist(&self, progress: &mut Progress) -> BoxStream<'static, Item<K>> {
        progress.listing = true;
        while let Err(error) = self.recognise().await {
            self.fail(error, progress).await;
        }
        self.stream()
    }

    /// If the API server has lost its history, the store gets the present state.
    async fn recognise(&self) -> Result<(), WatchError> {
        let newest = self.store.newest(&self.cluster.name);
        if newest == 0 {
            return Ok(());
        }
        let (_, position) = self.page(&ListParams::default().limit(1)).await?;
        if position.version.is_none_or(|version| version >= newest) {
            return Ok(());
        }
        warn!(
            kind = kind_name::<K>(), cluster = %self.cluster.name, version = position.version, seen = newest,
            "API server shows an older state than before, after a restore or at another address; listing everything"
        );
        self.store.replace(&self.cluster.name, self.everything().await?);
        Ok(())
    }

    async fn everything(&self) -> Result<Vec<DecodeGuard<K>>, WatchError> {
        let mut params = ListParams::default().limit(PAGE);
        let mut all = Vec::new();
        loop {
            let (objects, position) = self.page(&params).await?;
            all.extend(objects);
            let Some(token) = position.next else { return Ok(all) };
            params = ListParams::default().limit(PAGE).continue_token(&token);
        }
    }

    pub(super) async fn page(&self, params: &ListParams) -> Result<(Vec<DecodeGuard<K>>, Position), WatchError> {
        match timeout(READ_DEADLINE, self.api.list(params)).await {
            Ok(Ok(list)) => {
                let version = list.metadata.resource_version.and_then(|version| version.parse().ok());
                let next = list.metadata.continue_.filter(|token| !token.is_empty());
                Ok((list.items, Position { version, next }))
            }
            Ok(Err(error)) => Err(WatchError::of_call(&error)),
            Err(_) => Err(WatchError::silence(READ_DEADLINE.as_secs())),
        }
    }
}

/// Where a list is in the history of the API server, and where its next page begins.
pub(super) struct Position {
    version: Option<u64>,
    next: Option<String>,
}
