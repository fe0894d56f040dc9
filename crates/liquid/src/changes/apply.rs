//! Applies the steps of a change. Each can be repeated, and the process may end after any of them.

use std::sync::Arc;

use berth_cluster::{Guard, ObjectKey, WriteError, Writer, Written};
use berth_crds::commitment_change::ChangeItem;
use berth_crds::{CommitmentChange, CommittedResource, CommittedResourceSpec, facts, labels};
use futures::{FutureExt as _, StreamExt as _, stream};

use super::error::Error;
use super::read::ChangedCommitment;
use super::under_way::ChangesUnderWay;

/// Writes of one step that are under way at once.
const CONCURRENT_WRITES: usize = 16;

pub(super) struct Apply<'a> {
    pub(super) commitments: &'a Writer<CommittedResource>,
    pub(super) under_way: &'a ChangesUnderWay,
    pub(super) change: &'a CommitmentChange,
    pub(super) name: &'a str,
    pub(super) all: &'a [ChangedCommitment],
}

impl Apply<'_> {
    /// The order among them does not matter. All are carried out, and then the first error counts.
    pub(super) async fn write(&self, places: &[usize]) -> Result<(), Error> {
        let steps: Vec<_> = self.items(places).map(|(item, one)| self.write_one(item, one).boxed()).collect();
        let results: Vec<_> = stream::iter(steps).buffered(CONCURRENT_WRITES).collect().await;
        results.into_iter().collect()
    }

    /// In the order of the places.
    pub(super) async fn restore(&self, places: &[usize]) -> Result<(), Error> {
        for (item, one) in self.items(places) {
            self.restore_one(item, one).await?;
        }
        Ok(())
    }

    pub(super) async fn delete(&self, places: &[usize]) -> Result<(), Error> {
        for (_, one) in self.items(places) {
            let Some(object) = &one.object else { continue };
            let proof = self.commitments.store().require_complete(&one.key.cluster)?.proof();
            self.commitments.delete(&one.key, object, Guard::None, &proof).await?;
        }
        Ok(())
    }

    fn items<'s>(&'s self, places: &'s [usize]) -> impl Iterator<Item = (&'s ChangeItem, &'s ChangedCommitment)> {
        places.iter().filter_map(|place| Some((self.change.spec.items.get(*place)?, self.all.get(*place)?)))
    }

    async fn write_one(&self, item: &ChangeItem, one: &ChangedCommitment) -> Result<(), Error> {
        let Some(spec) = one.written.clone() else { return Ok(()) };
        let written = match &one.object {
            None => Some(self.commitments.create(&one.key.cluster, &self.created(&one.key, spec)).await?),
            Some(object) => self.patch(&one.key, object, spec, Some(&self.change.spec.request_id)).await?,
        };
        if let Some(written) = written {
            let generation = written.metadata.generation.unwrap_or_default();
            self.under_way.wrote(self.name, &item.commitment_uuid.as_str().into(), generation);
        }
        Ok(())
    }

    /// A commitment that exists only because of the change holds nothing from now on, and is deleted later.
    async fn restore_one(&self, item: &ChangeItem, one: &ChangedCommitment) -> Result<(), Error> {
        let Some(object) = &one.object else { return Ok(()) };
        match &item.before {
            None => {
                self.patch(&one.key, object, facts::superseded_spec(&object.spec), Some(&self.change.spec.request_id))
                    .await?
            }
            Some(before) => {
                let creator = before.annotations.get(labels::CREATOR_REQUEST_ID);
                self.patch(&one.key, object, before.spec.clone(), creator).await?
            }
        };
        Ok(())
    }

    fn created(&self, key: &ObjectKey, spec: CommittedResourceSpec) -> CommittedResource {
        let mut object = CommittedResource::new(&key.name, spec);
        object.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
        let creator = (labels::CREATOR_REQUEST_ID.to_owned(), self.change.spec.request_id.clone());
        let unlisted = (labels::NOT_YET_LISTED.to_owned(), String::new());
        object.metadata.annotations = Some([creator, unlisted].into());
        object
    }

    /// The object as it is now; `None` if it is gone.
    async fn patch(
        &self,
        key: &ObjectKey,
        old: &Arc<CommittedResource>,
        spec: CommittedResourceSpec,
        creator: Option<&String>,
    ) -> Result<Option<Arc<CommittedResource>>, WriteError> {
        let mut new = CommittedResource::clone(old);
        new.spec = spec;
        let annotations = new.metadata.annotations.get_or_insert_default();
        match creator {
            Some(creator) => annotations.insert(labels::CREATOR_REQUEST_ID.to_owned(), creator.clone()),
            None => annotations.remove(labels::CREATOR_REQUEST_ID),
        };
        match self.commitments.patch(key, old, &new, Guard::Version).await? {
            Written::Changed(written) => Ok(Some(written)),
            Written::Unchanged => Ok(Some(old.clone())),
            Written::Gone => Ok(None),
        }
    }
}
