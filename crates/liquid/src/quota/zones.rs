//! Stores the zones of a push: one object each, read again when another client was faster.

use std::time::Duration;

use berth_cluster::{Guard, ObjectKey, Written};
use berth_core::Zone;
use berth_core::liquid::quota::{QuotaPush, ZoneOutcome};
use berth_crds::{ProjectQuota, names};
use futures::stream::{self, StreamExt as _};
use tokio::time::{Instant, sleep, timeout_at};

use super::error::StoreError;
use super::object::{changed_object, is_quota_of, new_object, zone_quota};
use super::{PUSH_TIMEOUT, QuotaService};

/// Tries for one zone while other clients change its object.
const ATTEMPTS: u32 = 5;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Zones that are written at the same time.
const AT_ONCE: usize = 8;

impl QuotaService {
    /// All zones are tried, in the order of their names, whatever becomes of others.
    pub(super) async fn store_zones(
        &self,
        push: &QuotaPush,
        deadline: Instant,
    ) -> Vec<(Zone, ZoneOutcome<StoreError>)> {
        let zones: Vec<_> = push.zones.keys().map(|zone| self.store_zone(push, zone, deadline)).collect();
        stream::iter(zones).buffered(AT_ONCE).collect().await
    }

    async fn store_zone(&self, push: &QuotaPush, zone: &Zone, deadline: Instant) -> (Zone, ZoneOutcome<StoreError>) {
        let cluster = match self.context.routes.target::<ProjectQuota>(Some(zone.as_str())) {
            Ok(cluster) => cluster,
            Err(error) if error.is_no_cluster_matched() => return (zone.clone(), ZoneOutcome::NotServed),
            Err(error) => return (zone.clone(), ZoneOutcome::Failed(error.into())),
        };
        let key = ObjectKey::new(cluster, names::project_quota(push.project.as_str(), zone.as_str()));
        let stored = timeout_at(deadline, self.write_repeatedly(push, zone, &key)).await;
        let outcome = match stored.unwrap_or(Err(StoreError::TimedOut(PUSH_TIMEOUT))) {
            Ok(()) => ZoneOutcome::Stored,
            Err(error) => ZoneOutcome::Failed(error),
        };
        (zone.clone(), outcome)
    }

    async fn write_repeatedly(&self, push: &QuotaPush, zone: &Zone, key: &ObjectKey) -> Result<(), StoreError> {
        for _ in 1..ATTEMPTS {
            match self.write(push, zone, key).await {
                Err(error) if error.is_overtaken() => {
                    sleep(RETRY_INTERVAL).await;
                    self.context.quotas.settle(key).await?;
                }
                done => return done,
            }
        }
        self.write(push, zone, key).await
    }

    /// Makes the object what the push says, from what is known of it.
    async fn write(&self, push: &QuotaPush, zone: &Zone, key: &ObjectKey) -> Result<(), StoreError> {
        let (writer, store) = (&self.context.quotas, self.context.quotas.store());
        store.require_synced(&key.cluster)?;
        if store.in_doubt(key) {
            writer.settle(key).await?;
        }
        if let Some(invalid) = store.invalid_entry(key) {
            return Err(StoreError::Invalid { key: key.clone(), error: invalid.error.to_string() });
        }
        let Some(stored) = store.get(key) else {
            let object = new_object(&push.project, zone, push.zone_quota(zone, None));
            writer.create(&key.cluster, &object).await?;
            return Ok(());
        };
        if !is_quota_of(&stored, &push.project, zone) {
            let (project, zone) = (stored.spec.project_id.clone(), stored.spec.availability_zone.clone());
            return Err(StoreError::OtherOwner { key: key.clone(), project, zone });
        }
        if stored.metadata.deletion_timestamp.is_some() {
            return Err(StoreError::BeingDeleted(key.clone()));
        }
        let new = changed_object(&stored, push.zone_quota(zone, Some(&zone_quota(&stored))));
        // The quota is replaced as a whole, so nothing that was read before may have changed.
        match writer.patch(key, &stored, &new, Guard::Version).await? {
            Written::Unchanged | Written::Changed(_) => Ok(()),
            Written::Gone => Err(StoreError::Gone(key.clone())),
        }
    }
}
