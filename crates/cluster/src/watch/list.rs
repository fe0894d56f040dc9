//! Lists all objects of a kind, and notices that the API server has lost its past, for example after a restore of etcd.

use kube::api::{ListParams, VersionMatch};
use tokio::time::{Instant, timeout};
use tracing::warn;

use super::feeding::{Feeding, Progress, quiet};
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
        // The CRD was removed, and the objects with it. Or the version at which the watch was to go on is too old.
        Some(404 | 410) => true,
        _ => failures > 1,
    }
}

impl<K: Kind> Feeding<K> {
    /// Lists everything. If the API server has lost its past, the list replaces the objects of the store, also those
    /// that seem newer.
    pub(super) async fn list(&self, progress: &mut Progress) -> Result<(), WatchError> {
        let (store, cluster) = (&self.store, &self.cluster.name);
        let seen = progress.reached.max(store.newest(cluster));
        store.init(cluster);
        let mut page = self.page(None).await?;
        let version = page.version.clone();
        let is_older = page.is_before(seen);
        if is_older && !progress.has_lost_past && !self.has_lost(seen).await? {
            let why = format!(
                "the API server lists an outdated state (version {version}, {seen} was seen); it is asked again"
            );
            return Err(WatchError::passing(why));
        }
        let mut instead = (progress.has_lost_past || is_older).then(Vec::new);
        if instead.is_some() {
            warn!(
                kind = kind_name::<K>(), %cluster, version, seen,
                "API server shows an older state than before, after a restore or at another address; listing everything"
            );
        }
        loop {
            match &mut instead {
                Some(all) => all.extend(page.objects),
                None => page.objects.into_iter().for_each(|object| store.listed(cluster, object)),
            }
            let Some(token) = page.next else { break };
            page = self.page(Some(token)).await?;
        }
        match instead {
            Some(all) => store.replace(cluster, all),
            None if store.is_list_of_another_past(cluster, version.parse().unwrap_or(0)) => {
                progress.has_lost_past = true;
                return Ok(());
            }
            None => {}
        }
        store.init_done(cluster);
        (progress.reached, progress.has_lost_past, progress.is_from_list) = (0, false, true);
        progress.version = Some(version);
        store.failing(cluster, None);
        self.metrics.credentials.accepted(cluster);
        progress.quiet_at = Instant::now() + quiet(progress.failures);
        self.show();
        Ok(())
    }

    /// Whether the API server has not reached this version, although it was seen. It is asked for that version, because
    /// an older list alone may be an outdated one.
    pub(super) async fn has_lost(&self, seen: u64) -> Result<bool, WatchError> {
        let params = ListParams::default().limit(1).at(&seen.to_string()).matching(VersionMatch::NotOlderThan);
        match self.list_page(&params).await {
            Err(error) if error.is_version_too_large => Ok(true),
            page => Ok(page?.is_before(seen)),
        }
    }

    async fn page(&self, token: Option<String>) -> Result<Page<K>, WatchError> {
        self.list_page(&ListParams { continue_token: token, ..ListParams::default().limit(PAGE) }).await
    }

    pub(super) async fn list_page(&self, params: &ListParams) -> Result<Page<K>, WatchError> {
        let list = match timeout(READ_DEADLINE, self.api.list(params)).await {
            Ok(list) => list.map_err(|error| WatchError::of_call(&error))?,
            Err(_) => return Err(WatchError::silence("list", READ_DEADLINE)),
        };
        let next = list.metadata.continue_.filter(|token| !token.is_empty());
        Ok(Page { objects: list.items, version: list.metadata.resource_version.unwrap_or_default(), next })
    }
}

/// A page of a list.
pub(super) struct Page<K> {
    objects: Vec<DecodeGuard<K>>,
    /// Where the list is in the history of the API server.
    version: String,
    /// Where the next page begins.
    next: Option<String>,
}

impl<K> Page<K> {
    /// A version that is not a number is not compared.
    fn is_before(&self, seen: u64) -> bool {
        self.version.parse::<u64>().is_ok_and(|version| version < seen)
    }
}
