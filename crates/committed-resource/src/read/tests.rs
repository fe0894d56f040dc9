use berth_cluster::Requests;
use berth_cluster::indexes::{COMMITMENT_INDEXES, RESERVATION_INDEXES};
use berth_cluster::testing::{applied, failing, filled};
use berth_crds::{names, testing};
use berth_telemetry::config::Pause;

use super::*;
use crate::plan::tests::FreeSlots;

const UUID: &str = "uuid-1";

fn remote() -> ClusterName {
    "remote".into()
}

/// What a commitment at home knows of a slot of its UUID in the remote.
fn held_in_remote(commitments: &Store<CommittedResource>) -> Holding {
    applied(commitments, &ClusterName::home(), testing::commitment(UUID, "480Gi"));
    let reservations = filled(RESERVATION_INDEXES, &remote(), [testing::slot(UUID, 0)]);
    let pauses = Pauses::new(Pause::default(), commitments.clone(), reservations.clone());
    let reader = Reader {
        commitments,
        reservations: &reservations,
        pauses: &pauses,
        hypervisors: &Store::new(&[]),
        flavor_groups: &FlavorGroupsCache::new(Store::new(&[])),
        scheduler: &FreeSlots::of(0),
        routes: &Routes::home_only(),
        cores: &CoresBook::new(
            commitments.clone(),
            Store::new(&[]),
            Routes::home_only(),
            pauses.clone(),
            Requests::closed(),
        ),
    };
    let key = ObjectKey::new(ClusterName::home(), names::commitment(UUID));
    reader.facts(&key, &commitments.get(&key).unwrap()).holdings[&remote()].clone()
}

#[test]
fn whose_the_slots_of_a_cluster_are_is_known_only_with_its_commitments() {
    let known = filled(COMMITMENT_INDEXES, &remote(), []);
    let held = held_in_remote(&known);
    assert!(held.read.is_ok() && held.slots.len() == 1);
    failing(&known, &remote(), Some("we may not list them"));
    let text = "CommittedResource objects of cluster remote are not completely known: its watch fails: we may not \
                list them";
    assert_eq!(held_in_remote(&known).read.unwrap_err().to_string(), text);
}

#[test]
fn a_cluster_without_commitments_of_its_own_needs_none_to_be_known() {
    let elsewhere = filled(COMMITMENT_INDEXES, &ClusterName::home(), []);
    assert!(held_in_remote(&elsewhere).read.is_ok());
}
