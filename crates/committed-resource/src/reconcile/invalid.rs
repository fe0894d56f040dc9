//! Commitments that do not decode: their slots stay as they are, and are released when the commitment is deleted.

use std::sync::Arc;

use berth_cluster::{Action, InvalidEntry, ObjectKey};
use berth_crds::{CommittedResource, CommittedResourceSpec};
use berth_scheduler::Scheduler;

use super::CommittedResourceController;
use crate::error::Error;

impl<S: Scheduler> CommittedResourceController<S> {
    pub(super) async fn reconcile_invalid(&self, key: &ObjectKey, invalid: &InvalidEntry) -> Result<Action, Error> {
        let deleting = invalid.metadata.deletion_timestamp.is_some();
        if deleting {
            self.act(key, &Arc::new(readable_part(invalid))).await?.outcome?;
        }
        // It may be gone now.
        let Some(invalid) = self.context.commitments.store().invalid_entry(key) else { return Ok(Action::AwaitChange) };
        self.context.commitments.report_invalid(&invalid, self.context.clock.now()).await?;
        Ok(Action::from_delay(deleting.then_some(self.context.settings.delays.retry)))
    }
}

/// What the release of its slots depends on.
fn readable_part(invalid: &InvalidEntry) -> CommittedResource {
    let text = |field: &str| invalid.raw["spec"][field].as_str().unwrap_or_default().to_owned();
    let spec = CommittedResourceSpec {
        commitment_uuid: text("commitmentUUID"),
        flavor_group_name: text("flavorGroupName"),
        availability_zone: text("availabilityZone"),
        ..CommittedResourceSpec::default()
    };
    CommittedResource { metadata: invalid.metadata.clone(), spec, status: None }
}
