//! Mapping functions: which commitments a change concerns that are still to be compared.

use berth_cluster::{Change, Store, Watches};
use berth_crds::CommittedResource;

use crate::key::SyncKey;
use crate::views::Views;

/// An event alone compares nothing. A commitment that could not be compared is tried again when its object changes, or when
/// a cluster can be read again.
pub(crate) fn declare(watches: &mut Watches<SyncKey>, commitments: &Store<CommittedResource>, views: &Views) {
    let pending = views.clone();
    watches.changes(commitments, move |change| map_commitment(change, &pending));
    let pending = views.clone();
    watches.resynced(commitments, move |_| first(&pending));
}

pub(crate) fn first(views: &Views) -> Vec<SyncKey> {
    views.pending_uuids().into_iter().map(SyncKey).collect()
}

fn map_commitment(change: &Change<CommittedResource>, views: &Views) -> Vec<SyncKey> {
    let objects = [&change.old, &change.new].into_iter().flatten();
    let uuids = objects.map(|object| object.spec.commitment_uuid.as_str());
    let pending = uuids.filter(|uuid| views.is_pending(uuid));
    pending.map(|uuid| SyncKey(uuid.into())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_cluster::ObjectKey;
    use berth_core::ClusterName;
    use berth_core::testing::at;
    use berth_crds::testing::commitment;

    use super::*;
    use crate::view::tests::view;

    #[test]
    fn only_commitments_that_are_still_to_be_compared_are_requested() {
        let views = Views::default();
        let new = Some(Arc::new(commitment("uuid-1", "480Gi")));
        let key = ObjectKey::new(ClusterName::home(), "commitment-uuid-1");
        let change = Change { key, old: None, new };
        assert_eq!(map_commitment(&change, &views), []);
        views.publish(view(at(0), true, &["uuid-1".into()]), []);
        assert_eq!(map_commitment(&change, &views), [SyncKey("uuid-1".into())]);
        assert_eq!(first(&views), [SyncKey("uuid-1".into())]);
        let compared = views.newest().unwrap();
        views.settle(&"uuid-1".into(), &compared);
        assert_eq!(map_commitment(&change, &views), []);
    }
}
