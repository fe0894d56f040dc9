//! Which object is served when several have one UUID, and in which cluster a commitment belongs.

use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_cluster::{Entry, ObjectKey, Routes, Store};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, labels, names};
use kube::ResourceExt;

use crate::facts::Served;

/// The cluster of its zone, when that is another one than the one that holds it.
pub(crate) fn belongs_to(routes: &Routes, key: &ObjectKey, object: &CommittedResource) -> Option<ClusterName> {
    let cluster = routes.target::<CommittedResource>(Some(&object.spec.availability_zone)).ok()?;
    (cluster != key.cluster).then_some(cluster)
}

pub(crate) fn same_uuid(
    commitments: &Store<CommittedResource>,
    object: &CommittedResource,
) -> Vec<Entry<CommittedResource>> {
    commitments.select(&COMMITMENT_BY_UUID, &object.spec.commitment_uuid)
}

/// The object that is served instead of this one; `None` if this one is served. Of several objects with one UUID the
/// one in the cluster of its zone is served, then the one with the canonical name, then the first.
pub(crate) fn served_instead(
    commitments: &Store<CommittedResource>,
    routes: &Routes,
    key: &ObjectKey,
    object: &CommittedResource,
) -> Option<Served> {
    let canonical = names::commitment(&object.spec.commitment_uuid);
    let same = same_uuid(commitments, object);
    let rank = |entry: &&Entry<CommittedResource>| {
        let misplaced = belongs_to(routes, &entry.key, &entry.object).is_some();
        (misplaced, *entry.key.name != *canonical, entry.key.name.clone(), entry.key.cluster.clone())
    };
    let served = same.iter().min_by_key(rank)?;
    let stays = served.object.metadata.deletion_timestamp.is_none();
    let protects = stays && has_finalizer(&served.object);
    (served.key != *key).then(|| Served { key: served.key.clone(), protects })
}

/// True for a commitment that goes only after its slots.
pub(crate) fn has_finalizer(object: &CommittedResource) -> bool {
    object.finalizers().iter().any(|finalizer| finalizer == labels::RELEASE_SLOTS)
}
