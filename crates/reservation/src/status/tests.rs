use berth_crds::conditions::reservation as texts;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    Timestamp::from_second(1_772_366_400).unwrap()
}

fn object(status: &serde_json::Value) -> Reservation {
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": {"name": "commitment-u-0", "generation": 4},
        "spec": {"type": "CommittedResourceReservation", "targetHost": "h",
            "committedResourceReservation": {"commitmentUUID": "u", "resourceName": "f", "parentGeneration": 7}},
        "status": status
    }))
    .unwrap()
}

fn active() -> SlotReady {
    SlotReady::new(Status::True, Reason::ReservationActive, texts::SCHEDULED).at(HostChange::On("h".into()))
}

#[test]
fn a_slot_in_force_has_host_condition_and_echo() {
    let status = status(&object(&json!({})), Some(&active()), now());
    assert_eq!(
        serde_json::to_value(&status).unwrap(),
        json!({
            "host": "h",
            "committedResourceReservation": {"observedParentGeneration": 7},
            "conditions": [{"type": "Ready", "status": "True", "reason": "ReservationActive",
                "message": "reservation is successfully scheduled", "observedGeneration": 4,
                "lastTransitionTime": "2026-03-01T12:00:00Z"}]
        })
    );
}

#[test]
fn an_observed_generation_or_a_detail_alone_is_no_reason_to_write() {
    let first = status(&object(&json!({})), Some(&active()), now());
    let mut later = object(&json!({}));
    later.metadata.generation = Some(5);
    later.status = Some(first.clone());
    assert_eq!(status(&later, Some(&active()), now()), first);
    let none = |detail: &str| SlotReady::new(Status::False, Reason::NoHostsFound, texts::NO_HOSTS).detailed(detail);
    later.status = Some(status(&later, Some(&none("24 hosts; capacity 24")), now()));
    assert_eq!(status(&later, Some(&none("24 hosts; capacity 23")), now()), later.status.clone().unwrap());
    let refreshed = SlotReady { refresh: true, ..none("24 hosts; capacity 23") };
    let refreshed = status(&later, Some(&refreshed), now());
    assert!(refreshed.conditions[0].message.ends_with("capacity 23"), "at most once per retry interval");
}

#[test]
fn revoked_slot_frees_host_and_vms() {
    let old = object(&json!({"host": "h", "committedResourceReservation": {"observedParentGeneration": 6,
        "allocations": {"vm": "h"}}}));
    let ready = SlotReady::new(Status::False, Reason::PlacementRevoked, texts::HOST_CLEARED).at(HostChange::Nowhere);
    let status = status(&old, Some(&ready), now());
    assert_eq!(status.host, None);
    assert!(status.committed_resource_reservation.unwrap().allocations.is_empty());
}

#[test]
fn an_echo_alone_leaves_the_rest() {
    let first = status(&object(&json!({})), Some(&active()), now());
    let mut later = object(&json!({}));
    later.spec.committed_resource_reservation.as_mut().unwrap().parent_generation = Some(8);
    later.status = Some(first.clone());
    let echoed = status(&later, None, now());
    assert_eq!(echoed.conditions, first.conditions);
    assert_eq!(echoed.committed_resource_reservation.unwrap().observed_parent_generation, Some(8));
}
