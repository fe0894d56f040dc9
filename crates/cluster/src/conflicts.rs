//! Reports names that exist in several clusters. Reads go on, and the writer refuses to create such an object; the
//! controllers decide which object is served.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::{Change, ConflictMetrics, Kind, ObjectKey, Store, gvk};

/// More than this many at a time are counted instead of named.
const NAMED: usize = 10;

/// Counts and logs each name that exists in more than one cluster of `store`, once, and the end of the conflict. To be
/// called before anything is fed into the store.
pub fn watch_conflicts<K: Kind>(store: &Store<K>, metrics: Arc<ConflictMetrics>) {
    // Broken off on purpose: a store must not keep itself alive.
    let weak = store.downgrade();
    let conflicts = Conflicts { open: Mutex::default(), metrics };
    store.on_state(move |change| {
        if let Some(store) = weak.upgrade() {
            conflicts.check_name(&store, change);
        }
    });
}

struct Conflicts {
    open: Mutex<BTreeSet<Arc<str>>>,
    metrics: Arc<ConflictMetrics>,
}

impl Conflicts {
    fn check_name<K: Kind>(&self, store: &Store<K>, Change { key, .. }: &Change<K>) {
        let holders = store.holders(&key.name);
        let mut open = self.open.lock();
        if holders.len() > 1 && open.insert(key.name.clone()) {
            self.metrics.count("list", &gvk::list_of::<K>());
            log_conflict::<K>(key, &holders, open.len());
        }
        if holders.len() < 2 && open.remove(&key.name) {
            let kind = gvk::printed(&gvk::gvk::<K>());
            info!(kind, name = %key.name, "name conflict between clusters ended");
        }
    }
}

fn log_conflict<K: Kind>(key: &ObjectKey, holders: &[ObjectKey], open: usize) {
    let (kind, name) = (gvk::printed(&gvk::gvk::<K>()), &key.name);
    let clusters = clusters(holders);
    if open <= NAMED {
        warn!(kind, %name, clusters, "several clusters have an object of this name; delete all but one");
    } else if open == NAMED + 1 {
        warn!(kind, "further name conflicts between clusters are not logged; see the metric");
    }
}

pub(crate) fn clusters(keys: &[ObjectKey]) -> String {
    keys.iter().map(|key| key.cluster.as_str()).collect::<Vec<_>>().join(", ")
}

impl ConflictMetrics {
    pub(crate) fn count(&self, method: &str, gvk: &str) {
        self.name_conflicts.with_label_values(&[method, gvk]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LogCapture, Thing, applied, deleted, metrics, thing};

    const LISTED: &str = r#"name_conflicts_total{gvk="test.berth/v1, Kind=ThingList",method="list"}"#;

    fn scene() -> (Store<Thing>, berth_telemetry::metrics::Metrics, LogCapture) {
        let (registry, all) = metrics();
        let store = Store::new(&[]);
        watch_conflicts(&store, all.conflicts);
        (store, registry, LogCapture::listen())
    }

    #[test]
    fn a_name_in_two_clusters_is_counted_and_reported_once_and_reported_when_it_is_over() {
        let (store, registry, log) = scene();
        let (a, b) = ("a".into(), "b".into());
        applied(&store, &a, thing("x", "1", 1));
        applied(&store, &a, thing("y", "2", 2));
        assert!(log.take().is_empty());
        applied(&store, &b, thing("x", "3", 1));
        applied(&store, &b, thing("x", "3", 2));
        let warning = "WARN several clusters have an object of this name; delete all but one kind=\"test.berth/v1, \
                       Kind=Thing\" name=x clusters=\"a, b\"";
        assert_eq!(log.take(), [warning]);
        deleted(&store, &a, thing("x", "1", 3));
        let over = "INFO name conflict between clusters ended kind=\"test.berth/v1, Kind=Thing\" name=x";
        assert_eq!(log.take(), [over]);
        applied(&store, &a, thing("x", "4", 4));
        assert_eq!(log.take().len(), 1, "and again");
        let text = registry.render();
        assert!(text.contains(&format!("{LISTED} 2")), "{text}");
    }

    #[test]
    fn a_cluster_that_was_copied_does_not_flood_the_log() {
        let (store, registry, log) = scene();
        for number in 0..100 {
            let name = format!("x{number}");
            applied(&store, &"a".into(), thing(&name, "1", 1));
            applied(&store, &"b".into(), thing(&name, "2", 1));
        }
        assert_eq!(log.take().len(), NAMED + 1);
        assert!(registry.render().contains(&format!("{LISTED} 100")));
    }

    #[test]
    fn a_store_does_not_keep_itself_alive() {
        let (store, _registry, _said) = scene();
        let weak = store.downgrade();
        drop(store);
        assert!(weak.upgrade().is_none());
    }
}
