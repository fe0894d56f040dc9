//! Which commitments were created, changed or deleted lately: what was fetched before that may be outdated.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::Store;
use berth_core::CommitmentUuid;
use berth_crds::CommittedResource;
use parking_lot::Mutex;
use tokio::time::Instant;

/// When each commitment got its present generation, as far as this process has seen it change. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct RecentChanges(Arc<Mutex<BTreeMap<CommitmentUuid, Instant>>>);

impl RecentChanges {
    /// Follows the store from now on.
    pub fn of(store: &Store<CommittedResource>) -> Self {
        let recent = Self::default();
        let noted = recent.clone();
        store.on_state(move |change| {
            if change.is_of_spec() {
                let objects = [&change.old, &change.new].into_iter().flatten();
                objects.for_each(|object| noted.note(object.spec.commitment_uuid.as_str().into()));
            }
        });
        recent
    }

    /// Whether the commitment was created, changed or deleted at this moment or later.
    pub fn has_changed_since(&self, uuid: &CommitmentUuid, moment: Instant) -> bool {
        self.0.lock().get(uuid).is_some_and(|changed| *changed >= moment)
    }

    /// Older changes do not matter any more.
    pub fn forget_before(&self, moment: Instant) {
        self.0.lock().retain(|_, changed| *changed >= moment);
    }

    fn note(&self, uuid: CommitmentUuid) {
        self.0.lock().insert(uuid, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use berth_cluster::indexes::COMMITMENT_INDEXES;
    use berth_cluster::testing::{applied, deleted, filled};
    use berth_core::ClusterName;
    use berth_crds::testing::{at_version, commitment};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_of_the_spec_counts_and_one_of_the_status_does_not() {
        let (home, object) = (ClusterName::home(), at_version(1, commitment("uuid-1", "480Gi")));
        let store = filled(COMMITMENT_INDEXES, &home, [object.clone()]);
        let (recent, uuid) = (RecentChanges::of(&store), CommitmentUuid::from("uuid-1"));
        let wait = || tokio::time::sleep(Duration::from_secs(1));
        let began = Instant::now();
        wait().await;
        applied(&store, &home, at_version(2, object.clone()));
        assert!(!recent.has_changed_since(&uuid, began));
        let mut changed = at_version(3, object.clone());
        changed.metadata.generation = Some(2);
        applied(&store, &home, changed.clone());
        assert!(recent.has_changed_since(&uuid, began));
        wait().await;
        let later = Instant::now();
        assert!(!recent.has_changed_since(&uuid, later));
        wait().await;
        deleted(&store, &home, at_version(4, changed));
        assert!(recent.has_changed_since(&uuid, later));
        wait().await;
        recent.forget_before(Instant::now());
        assert!(!recent.has_changed_since(&uuid, began));
    }
}
