//! A kind that need not be installed: when its absence is believed, and how its installation is noticed.

use kube::api::ListParams;
use tokio::time::sleep;
use tracing::info;

use super::feeding::{Feeding, Progress};
use super::retries::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::{Kind, kind_name};

/// Whether this response to a list or a watch means that the kind does not exist.
pub(super) fn is_so(code: Option<u16>) -> bool {
    code == Some(404)
}

impl<K: Kind> Feeding<K> {
    /// Waits until the kind is served. An API server that has just started may not know it for a moment, so one answer
    /// is not believed.
    pub(super) async fn absent(&self, progress: &mut Progress) {
        let (kind, cluster) = (kind_name::<K>(), &self.cluster.name);
        progress.list_next();
        sleep(FIRST_PAUSE).await;
        if self.is_absent().await {
            self.store.not_served(cluster);
            self.metrics.credentials.accepted(cluster);
            self.show();
            progress.end_outage();
            info!(kind, %cluster, "optional kind not installed; it is used as soon as it is");
            self.wait_until_installed().await;
            info!(kind, %cluster, "optional kind installed");
        }
    }

    /// The watch handles all other responses.
    async fn wait_until_installed(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            sleep(pause).await;
            if !self.is_absent().await {
                return;
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    async fn is_absent(&self) -> bool {
        matches!(self.list_page(&ListParams::default().limit(1)).await, Err(error) if is_so(error.code))
    }
}
