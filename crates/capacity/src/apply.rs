//! Apply: creates, writes and deletes the objects of a plan. One that fails does not stop the others.

use berth_cluster::{CompletenessProof, Guard, ObjectKey, Routes, WriteError, Writer};
use berth_crds::FlavorGroupCapacity;
use futures::{StreamExt as _, stream};
use tracing::{info, warn};

use crate::error::Error;
use crate::plan::{CapacityPlan, CapacityWrite, StoredCapacity};

/// Writes at the same time.
const CONCURRENCY: usize = 8;

/// Writes the objects.
pub(crate) struct Applier<'a> {
    pub(crate) capacities: &'a Writer<FlavorGroupCapacity>,
    pub(crate) routes: &'a Routes,
}

impl Applier<'_> {
    /// Applies the whole plan; the error is that of the first object, with the number of those that failed. Objects whose
    /// last write is in doubt are left out: one unreachable cluster does not stop the others.
    pub(crate) async fn apply(
        &self,
        plan: &CapacityPlan,
        proofs: &[CompletenessProof<FlavorGroupCapacity>],
    ) -> Result<(), Error> {
        let (doubtful, clear): (Vec<_>, Vec<_>) = plan.writes.iter().partition(|write| self.is_in_doubt(write));
        let writes: Vec<_> = clear.into_iter().map(|write| self.write(write)).collect();
        let written: Vec<Result<(), WriteError>> = stream::iter(writes).buffered(CONCURRENCY).collect().await;
        let mut failures: Vec<WriteError> = written.into_iter().filter_map(Result::err).collect();
        for orphan in &plan.orphans {
            failures.extend(self.delete(orphan, proofs).await.err());
        }
        let failed = failures.len();
        match failures.into_iter().next() {
            Some(first) => Err(Error::Writes { failed, first }),
            None if doubtful.is_empty() => Ok(()),
            None => Err(Error::InDoubt { skipped: doubtful.len() }),
        }
    }

    fn is_in_doubt(&self, write: &CapacityWrite) -> bool {
        let key = match &write.stored {
            Some(stored) => Some(stored.key.clone()),
            None => self.target(&write.object),
        };
        key.is_some_and(|key| self.capacities.store().in_doubt(&key))
    }

    /// Where a new object belongs. A zone that no cluster serves has no objects.
    fn target(&self, object: &FlavorGroupCapacity) -> Option<ObjectKey> {
        let cluster = self.routes.target::<FlavorGroupCapacity>(Some(&object.spec.availability_zone)).ok()?;
        Some(ObjectKey::new(cluster, object.metadata.name.as_deref().unwrap_or_default()))
    }

    async fn write(&self, write: &CapacityWrite) -> Result<(), WriteError> {
        let written = match &write.stored {
            Some(stored) => self.capacities.patch_status(&stored.key, &stored.object, &write.object).await.map(drop),
            None => self.create(&write.object).await,
        };
        written.inspect_err(|error| {
            let spec = &write.object.spec;
            warn!(flavorGroup = spec.flavor_group, zone = spec.availability_zone, %error, "capacity not written");
        })
    }

    async fn create(&self, object: &FlavorGroupCapacity) -> Result<(), WriteError> {
        let Some(key) = self.target(object) else { return Ok(()) };
        let bare = FlavorGroupCapacity { status: None, ..object.clone() };
        let created = self.capacities.create(&key.cluster, &bare).await?;
        self.capacities.patch_status(&key, &created, object).await.map(drop)
    }

    /// Only with the proof that its cluster was read as a whole.
    async fn delete(
        &self,
        orphan: &StoredCapacity,
        proofs: &[CompletenessProof<FlavorGroupCapacity>],
    ) -> Result<(), WriteError> {
        let key = &orphan.key;
        let Some(proof) = proofs.iter().find(|proof| *proof.cluster() == key.cluster) else { return Ok(()) };
        let spec = &orphan.object.spec;
        let (group, zone) = (&spec.flavor_group, &spec.availability_zone);
        self.capacities.delete(key, &orphan.object, Guard::Version, proof).await?;
        info!(flavorGroup = group, zone, name = &*key.name, "capacity deleted: its flavor group or zone is gone");
        Ok(())
    }
}
