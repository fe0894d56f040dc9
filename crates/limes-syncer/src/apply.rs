//! Apply: writes a commitment. Pauses and open changes are checked again right before each write.

use std::sync::Arc;

use berth_cluster::indexes::CHANGE_BY_COMMITMENT;
use berth_cluster::{Guard, InvalidEntry, ObjectKey, Pauses, Routes, Store, Writer, Written};
use berth_core::commitment::Spec;
use berth_crds::{CommitmentChange, CommittedResource, Time, facts, labels, names};

use crate::error::Error;
use crate::plan::UsableSpec;
use crate::read::StoredObject;
use crate::view::ViewProof;

pub(crate) struct Apply<'a> {
    pub(crate) commitments: &'a Writer<CommittedResource>,
    pub(crate) changes: &'a Store<CommitmentChange>,
    pub(crate) routes: &'a Routes,
    pub(crate) pauses: &'a Pauses,
    /// In logs and on the objects that are written.
    pub(crate) run: String,
}

impl Apply<'_> {
    /// Creates the commitment with its finalizer, so that its slots never outlive it.
    pub(crate) async fn create(&self, usable: &UsableSpec) -> Result<StoredObject, Error> {
        let cluster = self.routes.target::<CommittedResource>(Some(usable.spec.zone.as_str()))?;
        let mut object = CommittedResource::new(
            &names::commitment(usable.spec.uuid.as_str()),
            facts::written_spec(&usable.spec, None),
        );
        object.spec.confirmed_at = usable.confirmed_at.map(Time);
        object.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
        object.metadata.annotations = Some([(labels::CREATOR_REQUEST_ID.to_owned(), self.run.clone())].into());
        let writer = self.commitments.with_permit(&cluster).await;
        if self.pauses.spec(&object.spec).is_some() {
            return Err(Error::Paused);
        }
        self.check_free(&object)?;
        let created = writer.create(&cluster, &object).await?;
        Ok((ObjectKey::new(cluster, names::commitment(usable.spec.uuid.as_str())), created))
    }

    /// The object after the write, if something differed.
    pub(crate) async fn patch(
        &self,
        stored: &StoredObject,
        usable: &UsableSpec,
    ) -> Result<Option<Arc<CommittedResource>>, Error> {
        let mut new = self.with_spec(&stored.1, &usable.spec);
        if let Some(confirmed_at) = usable.confirmed_at.filter(|_| new.spec != stored.1.spec) {
            new.spec.confirmed_at = Some(Time(confirmed_at));
        }
        if let Some(annotations) = &mut new.metadata.annotations {
            annotations.remove(labels::NOT_YET_LISTED);
        }
        self.write(stored, &new).await
    }

    pub(crate) async fn end(
        &self,
        stored: &StoredObject,
        spec: &Spec,
    ) -> Result<Option<Arc<CommittedResource>>, Error> {
        self.write(stored, &self.with_spec(&stored.1, spec)).await
    }

    /// Its finalizer keeps it until its slots are gone.
    pub(crate) async fn delete(&self, (key, object): &StoredObject, _: &ViewProof) -> Result<(), Error> {
        let concerns = |invalid: &InvalidEntry| invalid.key == *key;
        let writer = self.commitments.with_permit(&key.cluster).await;
        self.check_free(object)?;
        let proof = self.commitments.store().require_complete_for(&key.cluster, concerns)?.proof();
        Ok(writer.delete(key, object, Guard::Version, &proof).await?)
    }

    fn with_spec(&self, old: &CommittedResource, spec: &Spec) -> CommittedResource {
        let mut new = old.clone();
        new.spec = facts::written_spec(spec, Some(&old.spec));
        if new.spec != old.spec {
            let annotations = new.metadata.annotations.get_or_insert_default();
            annotations.insert(labels::CREATOR_REQUEST_ID.to_owned(), self.run.clone());
        }
        new
    }

    async fn write(
        &self,
        (key, old): &StoredObject,
        new: &CommittedResource,
    ) -> Result<Option<Arc<CommittedResource>>, Error> {
        let writer = self.commitments.with_permit(&key.cluster).await;
        self.check_free(old)?;
        match writer.patch(key, old, new, Guard::Version).await? {
            Written::Changed(written) => Ok(Some(written)),
            Written::Unchanged | Written::Gone => Ok(None),
        }
    }

    /// To be called with the permit for the write.
    fn check_free(&self, object: &CommittedResource) -> Result<(), Error> {
        if !self.changes.select(&CHANGE_BY_COMMITMENT, &object.spec.commitment_uuid).is_empty() {
            return Err(Error::OpenChange);
        }
        if self.pauses.commitment(object).is_some() { Err(Error::Paused) } else { Ok(()) }
    }
}
