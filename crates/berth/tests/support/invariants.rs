//! Checks the invariants of `berth-invariants` on the objects of the API server.

use std::sync::Arc;

use berth_core::ClusterName;
use berth_invariants::{ExternalChanges, Snapshot, always, at_rest};

use super::seen::Seen;

/// The violations at any moment, also during a change.
pub fn broken_always(seen: &Seen) -> Vec<String> {
    texts(always(&snapshot(seen), &ExternalChanges::default()))
}

/// The violations at rest.
pub fn broken_at_rest(seen: &Seen) -> Vec<String> {
    at_rest_in(&snapshot(seen))
}

/// The violations at rest over several clusters.
pub fn broken_at_rest_in(clusters: &[(ClusterName, &Seen)]) -> Vec<String> {
    at_rest_in(&snapshot_of(clusters))
}

fn at_rest_in(snapshot: &Snapshot) -> Vec<String> {
    let mut violations = texts(always(snapshot, &ExternalChanges::default()));
    violations.extend(texts(at_rest(snapshot)));
    violations
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

fn texts(violations: Vec<berth_invariants::Violation>) -> Vec<String> {
    violations.into_iter().map(|violation| violation.to_string()).collect()
}
