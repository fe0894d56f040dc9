//! Beginning anew after an outage. It decides when a watch may be continued and when everything has to be listed, and
//! finds out whether the API server has lost its past: one that was restored from a backup, or another one at the same
//! address, counts its versions from below what we have seen, and nothing it shows would look new to the store.

use futures::stream::BoxStream;
use kube::api::ListParams;
use tokio::time::timeout;
use tracing::warn;

use super::feeding::{Feeding, Item, Progress};
use super::trouble::Trouble;
use crate::deadlines::READ_DEADLINE;
use crate::{Guarded, Kind, kind_name};

/// Objects that are asked for at once.
const PAGE: u32 = 500;

/// Whether to list everything after this failure, instead of going on where the watch broke off. Refusals change nothing
/// about what there is; a short break happens all the time. After a longer one it may be another server that answers.
pub(super) fn is_needed(code: Option<u16>, failures: u32) -> bool {
    match code {
        Some(401 | 403 | 429) => false,
        // The CRD was removed, and the objects with it.
        Some(404) => true,
        _ => failures > 1,
    }
}

impl<K: Kind> Feeding<K> {
    /// A watch that begins with a list, after a look at whether the API server is still the one that we know.
    pub(super) async fn anew(&self, progress: &mut Progress) -> BoxStream<'static, Item<K>> {
        progress.listing = true;
        while let Err(trouble) = self.recognise().await {
            self.fail(trouble, progress).await;
        }
        self.stream()
    }

    /// If the API server has lost its past, the store is told what there is now.
    async fn recognise(&self) -> Result<(), Trouble> {
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
            "the API server shows an older state than before: it was restored from a backup, or is another one; everything \
             is read anew"
        );
        self.store.replace(&self.cluster.name, self.everything().await?);
        Ok(())
    }

    async fn everything(&self) -> Result<Vec<Guarded<K>>, Trouble> {
        let mut params = ListParams::default().limit(PAGE);
        let mut all = Vec::new();
        loop {
            let (objects, position) = self.page(&params).await?;
            all.extend(objects);
            let Some(token) = position.next else { return Ok(all) };
            params = ListParams::default().limit(PAGE).continue_token(&token);
        }
    }

    pub(super) async fn page(&self, params: &ListParams) -> Result<(Vec<Guarded<K>>, Position), Trouble> {
        match timeout(READ_DEADLINE, self.api.list(params)).await {
            Ok(Ok(list)) => {
                let version = list.metadata.resource_version.and_then(|version| version.parse().ok());
                let next = list.metadata.continue_.filter(|token| !token.is_empty());
                Ok((list.items, Position { version, next }))
            }
            Ok(Err(error)) => Err(Trouble::of_call(&error)),
            Err(_) => Err(Trouble::silence(READ_DEADLINE.as_secs())),
        }
    }
}

/// Where a list is in the history of the API server, and where its next page begins.
pub(super) struct Position {
    version: Option<u64>,
    next: Option<String>,
}
