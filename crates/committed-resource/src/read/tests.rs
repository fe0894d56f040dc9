use berth_cluster::Requests;
use berth_cluster::indexes::{CHANGE_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES};
use berth_cluster::testing::{applied, applied_raw, failing, filled};
use berth_crds::{labels, names, testing};
use berth_telemetry::clock::{Clock, SystemClock};
use berth_telemetry::config::Pause;
use berth_testkit::{Server, World};
use serde_json::json;

use super::*;
use crate::plan::tests::FreeSlots;

const UUID: &str = "uuid-1";

fn remote() -> ClusterName {
    "remote".into()
}

/// What a commitment at home knows of a slot of its UUID in the remote.
fn held_in_remote(commitments: &Store<CommittedResource>) -> Holding {
    known(commitments, &Store::new(&[])).holdings[&remote()].clone()
}

/// A limit that has stopped nothing.
fn unlimited() -> DisruptionLimit {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    World::new(&Server::new(clock.clone())).disruption_limit(&clock).unwrap()
}

fn known(commitments: &Store<CommittedResource>, hypervisors: &Store<Hypervisor>) -> CommitmentFacts {
    applied(commitments, &ClusterName::home(), testing::commitment(UUID, "480Gi"));
    let reservations = filled(RESERVATION_INDEXES, &remote(), [testing::slot(UUID, 0)]);
    let pauses = Pauses::new(Pause::default(), commitments.clone(), reservations.clone());
    let reader = Reader {
        commitments,
        reservations: &reservations,
        pauses: &pauses,
        hypervisors,
        flavor_groups: &FlavorGroupsCache::new(Store::new(&[])),
        scheduler: &FreeSlots::of(0),
        routes: &Routes::home_only(),
        cores: &CoresBook::new(
            commitments.clone(),
            Store::new(&[]),
            Store::new(CHANGE_INDEXES),
            Routes::home_only(),
            pauses.clone(),
            Requests::closed(),
        ),
        changes: &Store::new(CHANGE_INDEXES),
        vms: None,
        disruption_limit: &unlimited(),
    };
    let key = ObjectKey::new(ClusterName::home(), names::commitment(UUID));
    reader.facts(&key, &commitments.get(&key).unwrap())
}

/// The hosts of the zone may lack one that would have had capacity.
#[tokio::test]
async fn a_host_that_cannot_be_read_concerns_the_zone_of_its_label_and_every_zone_without_one() {
    for (zone, concerned) in [(Some("elsewhere"), false), (Some(testing::ZONE), true), (None, true)] {
        let hypervisors = filled(HYPERVISOR_INDEXES, &ClusterName::home(), []);
        let labels = zone.map(|zone| json!({ (labels::ZONE): zone }));
        let unreadable =
            json!({ "metadata": { "name": "node7", "resourceVersion": "1", "labels": labels }, "spec": 1 });
        applied_raw(&hypervisors, &ClusterName::home(), unreadable).unwrap();
        let facts = known(&filled(COMMITMENT_INDEXES, &ClusterName::home(), []), &hypervisors);
        assert_eq!(facts.host_unreadable().is_some(), concerned, "{zone:?}");
    }
}

#[tokio::test]
async fn whose_the_slots_of_a_cluster_are_is_known_only_with_its_commitments() {
    let known = filled(COMMITMENT_INDEXES, &remote(), []);
    let held = held_in_remote(&known);
    assert!(held.read.is_ok() && held.slots.len() == 1);
    failing(&known, &remote(), Some("we may not list them"));
    let text = "CommittedResource objects of cluster remote are not completely known: its watch fails: we may not \
                list them";
    assert_eq!(held_in_remote(&known).read.unwrap_err().to_string(), text);
}

#[tokio::test]
async fn a_cluster_without_commitments_of_its_own_needs_none_to_be_known() {
    let elsewhere = filled(COMMITMENT_INDEXES, &ClusterName::home(), []);
    assert!(held_in_remote(&elsewhere).read.is_ok());
}
