//! The laws of `berth-laws` over what the API server shows.

use std::sync::Arc;

use berth_core::ClusterName;
use berth_laws::{Outside, Snapshot, always, at_rest};

use super::seen::Seen;

/// What is broken at any moment, also in the middle of something.
pub fn broken_always(seen: &Seen) -> Vec<String> {
    texts(always(&snapshot(seen), &Outside::default()))
}

/// What is broken when nothing is under way any more.
pub fn broken_at_rest(seen: &Seen) -> Vec<String> {
    at_rest_in(&snapshot(seen))
}

/// The same for a world of several clusters.
pub fn broken_at_rest_in(clusters: &[(ClusterName, &Seen)]) -> Vec<String> {
    at_rest_in(&snapshot_of(clusters))
}

fn at_rest_in(snapshot: &Snapshot) -> Vec<String> {
    let mut broken = texts(always(snapshot, &Outside::default()));
    broken.extend(texts(at_rest(snapshot)));
    broken
}

fn snapshot(seen: &Seen) -> Snapshot {
    snapshot_of(&[(ClusterName::home(), seen)])
}

fn snapshot_of(clusters: &[(ClusterName, &Seen)]) -> Snapshot {
    Snapshot::of(
        clusters.iter().flat_map(|(name, seen)| shared(name, &seen.commitments)),
        clusters.iter().flat_map(|(name, seen)| shared(name, &seen.reservations)),
        clusters.iter().flat_map(|(name, seen)| shared(name, &seen.hosts)),
    )
    .with_capacities(clusters.iter().flat_map(|(name, seen)| shared(name, &seen.capacities)))
}

fn shared<K: Clone>(cluster: &ClusterName, objects: &[K]) -> impl Iterator<Item = (ClusterName, Arc<K>)> {
    objects.iter().map(|object| (cluster.clone(), Arc::new(object.clone())))
}

fn texts(broken: Vec<berth_laws::Violation>) -> Vec<String> {
    broken.into_iter().map(|violation| violation.to_string()).collect()
}
