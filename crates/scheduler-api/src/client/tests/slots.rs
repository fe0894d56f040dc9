//! Requests for slots, and what is remembered of the answers.

use berth_core::reservation::{Reservation, ReservationKind};
use berth_scheduler::{Candidates, CommitmentRequest, HostVerdict, Pin, Placed, Placement, Shortage};
use serde_json::{Value, json};

use super::*;

fn chooses(host: &str) -> Reply {
    Reply::http(200, "", &json!({ "hosts": [host, "node-b"] }).to_string())
}

/// The object of the slot once its host is written.
fn placed(slot: &SlotRequest, host: &str) -> Reservation {
    Reservation {
        key: slot.key.clone(),
        kind: ReservationKind::Committed([].into()),
        project: slot.project.clone(),
        group: "amber".into(),
        zone: slot.zone.clone(),
        size: slot.size,
        target_host: Some(host.into()),
        status_host: None,
        ready: false,
    }
}

#[tokio::test]
async fn the_request_for_a_slot() {
    let stub = Stub::start([chooses("node-a")]).await;
    let scheduler = external(&stub, view(&["node-b", "node-a"]));
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Host("node-a".into())));
    let [asked] = stub.asked().try_into().unwrap();
    assert_eq!(asked.line(), "POST /scheduler/nova/external");
    assert_eq!(
        (asked.header("content-type"), asked.header("user-agent")),
        (Some("application/json"), Some("berth/1.0"))
    );
    assert_eq!(asked.headers(), ["accept", "content-length", "content-type", "host", "user-agent"]);
    let body = asked.json();
    assert_eq!(body["hosts"][0], json!({"host": "node-a", "hypervisor_hostname": ""}));
    assert_eq!((&body["hosts"][1]["host"], &body["weights"]), (&json!("node-b"), &json!({"node-a": 0, "node-b": 0})));
    assert_eq!(body["pipeline"], "kvm-general-purpose-load-balancing");
    let options = json!({
        "lock_reservations": true, "max_candidates": 1, "skip_history": true, "skip_inflight": true,
        "skip_committed_resource_tracking": true,
    });
    assert_eq!(body["options"], options);
    let context = &body["context"];
    assert_eq!(
        (&context["request_id"], &context["global_request_id"], &context["project_id"]),
        (&json!("commitment-3b1e-0"), &json!("committed-resource-5f0c"), &json!("7d3f0c"))
    );
    check_spec(&body["spec"]["nova_object.data"]);
}

fn check_spec(spec: &Value) {
    let hints = json!({"_nova_check_type": "reserve_for_committed_resource", "domain_name": "acme"});
    assert_eq!((&spec["scheduler_hints"], &spec["num_instances"]), (&hints, &json!(1)));
    assert_eq!(
        (&spec["instance_uuid"], &spec["availability_zone"]),
        (&json!("commitment-3b1e-0"), &json!("az-west-2"))
    );
    assert_eq!((&spec["ignore_hosts"], &spec["force_hosts"]), (&Value::Null, &Value::Null));
    let flavor = &spec["flavor"]["nova_object.data"];
    assert_eq!(
        (&flavor["name"], &flavor["memory_mb"], &flavor["vcpus"]),
        (&json!("amber_l"), &json!(30720), &json!(10))
    );
    assert_eq!(flavor["extra_specs"], json!({"capabilities:hypervisor_type": "CH", "quota:hw_version": "amber"}));
}

#[tokio::test]
async fn a_slot_is_asked_for_with_its_own_size() {
    let stub = Stub::start([chooses("a")]).await;
    let small = SlotRequest { size: gib(5, 15), ..slot() };
    external(&stub, view(&["a"])).place(&small).await.unwrap();
    let flavor = &stub.asked()[0].json()["spec"]["nova_object.data"]["flavor"]["nova_object.data"];
    assert_eq!(
        (&flavor["name"], &flavor["memory_mb"], &flavor["vcpus"]),
        (&json!("amber_l"), &json!(15360), &json!(5))
    );
}

#[tokio::test]
async fn a_host_is_held_until_the_object_shows_it_and_the_slot_is_no_intruder() {
    let stub = Stub::start([chooses("a")]).await;
    let view = view(&["a"]);
    let scheduler = external(&stub, view.clone());
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Host("a".into())));
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Host("a".into())));
    assert_eq!((stub.asked().len(), view.assumed()), (1, 1));
    view.reservation_changed(&slot().key, Some(placed(&slot(), "a")));
    scheduler.applied(std::slice::from_ref(&slot().key));
    assert_eq!((scheduler.verdict(&slot().key), view.assumed()), (HostVerdict::Ok, 0));
}

#[tokio::test]
async fn without_a_host_the_slot_waits_nowhere() {
    let stub = Stub::start([Reply::http(200, "", "{\"hosts\":null}")]).await;
    let view = view(&["a", "b", "c"]);
    let scheduler = external(&stub, view.clone());
    let shortage = Shortage { hosts: 3, ..Shortage::default() };
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Nowhere(shortage)));
    assert_eq!((scheduler.waiting(&slot().key), view.waiting_slots().len(), view.assumed()), (None, 0, 0));
}

#[tokio::test]
async fn without_any_host_no_scheduler_is_asked() {
    let stub = Stub::start([Reply::Close]).await;
    let scheduler = external(&stub, view(&[]));
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Nowhere(Shortage::default())));
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn a_host_that_is_not_known_here_is_an_error() {
    let stub = Stub::start([chooses("node-z")]).await;
    let view = view(&["a"]);
    let found = text(&external(&stub, view.clone()).place(&slot()).await.unwrap_err());
    assert_eq!(
        found,
        "the external scheduler chose a host that has no Hypervisor here: \"node-z\"; \
         check that it serves the same clusters and sees the same hosts"
    );
    assert_eq!(view.assumed(), 0);
}

#[tokio::test]
async fn a_host_of_another_zone_or_without_capacity_is_no_answer() {
    let stub = Stub::start([chooses("a")]).await;
    let view = view(&["a"]);
    let scheduler = external(&stub, view.clone());
    let large = SlotRequest { size: gib(100, 1000), ..slot() };
    let elsewhere = SlotRequest { zone: "az-east-1".into(), ..slot() };
    for (slot, text) in [
        (large, "which has 128Gi memory, 16 cores free, and the slot needs 1000Gi memory, 100 cores"),
        (elsewhere, "which is in zone \"az-west-2\" and not in zone \"az-east-1\""),
    ] {
        let error = scheduler.place(&slot).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the external scheduler chose host a, {text}"));
        assert_eq!(view.assumed(), 0);
    }
}

#[tokio::test]
async fn a_slot_in_doubt_is_not_asked_for_again() {
    let stub = Stub::start([chooses("a")]).await;
    let scheduler = external(&stub, view(&["a"]));
    scheduler.place(&slot()).await.unwrap();
    scheduler.in_doubt(&slot().key);
    scheduler.applied(&[slot().key]);
    assert_eq!(scheduler.place(&slot()).await, Ok(Placed::Host("a".into())));
    let larger = SlotRequest { size: gib(16, 64), ..slot() };
    let doubt = SchedulerError::InDoubt { key: slot().key, host: "a".into() };
    assert_eq!(scheduler.place(&larger).await, Err(doubt));
    assert_eq!(stub.asked().len(), 1);
    scheduler.settled(&slot().key);
    assert_eq!(scheduler.place(&larger).await, Ok(Placed::Host("a".into())));
    assert_eq!(stub.asked().len(), 2);
}

#[tokio::test]
async fn a_commitment_is_placed_later_and_capacity_is_not_reported() {
    let stub = Stub::start([Reply::Close]).await;
    let scheduler = external(&stub, view(&["a"]));
    let whole = CommitmentRequest { slots: vec![slot()], all_or_nothing: true, ..CommitmentRequest::default() };
    assert_eq!(scheduler.place_all(&whole).await, Ok(Placement::Later));
    assert_eq!(scheduler.free_capacity(&"a".into()), None);
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn pins_are_decided_here() {
    let stub = Stub::start([Reply::Close]).await;
    let view = view(&["a"]);
    let scheduler = external(&stub, view.clone());
    let pin = |size| Pin { key: slot().key, host: "a".into(), size, vms: [].into(), zone: "az-west-2".into() };
    assert_eq!(scheduler.pin(&pin(gib(17, 1))).await, Ok(false));
    assert_eq!(scheduler.pin(&pin(gib(16, 1))).await, Ok(true));
    assert_eq!((view.assumed(), stub.asked().len()), (1, 0));
}

#[tokio::test]
async fn probes_name_all_hosts_or_those_that_are_listed_and_want_no_explanation() {
    let stub = Stub::start([Reply::http(200, "", "{\"hosts\":[]}")]).await;
    let scheduler = external(&stub, view(&["b", "a"]));
    let mut asked = question();
    asked.options.explain = true;
    scheduler.probe(&asked, "capacity-7").await.unwrap();
    asked.candidates = Candidates::Listed(vec![("b".into(), 1.5)]);
    scheduler.probe(&asked, "").await.unwrap();
    let [all, listed] = stub.asked().try_into().unwrap();
    assert_eq!(all.json()["weights"], json!({"a": 0, "b": 0}));
    assert_eq!((&listed.json()["weights"], listed.json()["hosts"].as_array().unwrap().len()), (&json!({"b": 1.5}), 1));
    assert_eq!(all.json()["options"].get("explain"), None);
    assert_eq!(all.json()["context"]["request_id"], "", "a probe has none of its own");
    assert_eq!(all.json()["context"]["global_request_id"], "capacity-7");
}
