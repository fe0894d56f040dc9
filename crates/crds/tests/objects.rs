//! Every example object passes through our types without loss.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use berth_crds::commitment_change::{ChangeOutcome, ChangePhase, ChangeStep};
use berth_crds::flavor_group::FlavorGroupFeatures;
use berth_crds::{
    CommitmentChange, CommittedResource, Datasource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline,
    ProjectQuota, Quantity, Reservation,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use support::{changed, example};

fn decoded<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

fn passes<T: DeserializeOwned + Serialize>(name: &str) {
    let object = example(name);
    assert_eq!(serde_json::to_value(decoded::<T>(&object)).unwrap(), object, "{name}");
}

#[test]
fn examples_pass_without_loss() {
    passes::<CommittedResource>("committed_resource");
    passes::<Reservation>("reservation_committed");
    passes::<Reservation>("reservation_failover");
    passes::<Reservation>("reservation_in_flight");
    passes::<FlavorGroupCapacity>("flavor_group_capacity");
    passes::<ProjectQuota>("project_quota");
    passes::<CommitmentChange>("commitment_change");
    passes::<Knowledge>("knowledge");
    passes::<Datasource>("datasource");
    passes::<Hypervisor>("hypervisor");
    passes::<Pipeline>("pipeline");
}

#[test]
fn flavor_groups_of_the_example_pass_without_loss() {
    let knowledge: Knowledge = decoded(&example("knowledge"));
    let raw = knowledge.status.unwrap().raw.unwrap();
    let groups = FlavorGroupFeatures::from_raw(Some(&raw)).unwrap();
    assert_eq!(serde_json::to_value(groups).unwrap(), raw);
}

#[test]
fn times_are_read_with_offset_and_fraction_and_written_in_utc_and_seconds() {
    let object = changed("committed_resource", |o| o["spec"]["startTime"] = json!("2026-03-01T10:00:00.75+02:00"));
    let commitment: CommittedResource = decoded(&object);
    assert_eq!(serde_json::to_value(commitment.spec).unwrap()["startTime"], "2026-03-01T08:00:00Z");
}

#[test]
fn a_finished_change_is_kept_without_the_former_state() {
    let mut change: CommitmentChange = decoded(&example("commitment_change"));
    let uuid = "6b0f3a52-9d41-4c7e-8a15-2f60c1d7e904";
    assert!(change.item(uuid).unwrap().before.is_some() && change.item("other").is_none());
    change.forget_former_state();
    let kept = serde_json::to_value(&change).unwrap();
    let wanted = changed("commitment_change", |o| {
        o["spec"].as_object_mut().unwrap().remove("slotsGzip");
        let item = o["spec"]["items"][0].as_object_mut().unwrap();
        item.retain(|field, _| field == "commitmentUUID");
    });
    assert_eq!(kept, wanted);
}

#[test]
fn a_change_without_a_status_is_pending() {
    let mut change: CommitmentChange = decoded(&example("commitment_change"));
    let status = change.status.take().unwrap();
    assert_eq!((change.phase(), status.phase), (ChangePhase::Pending, ChangePhase::Applying));
    let second = status.item("0d9c8b7a-6f5e-4d3c-2b1a-09f8e7d6c5b4").unwrap();
    assert_eq!((second.step, second.outcome), (ChangeStep::None, ChangeOutcome::Waiting));
    for phase in ChangePhase::ALL {
        assert_eq!(json!(phase), phase.as_str());
    }
}

#[test]
fn an_amount_that_is_a_number_is_read_as_text() {
    let commitment: CommittedResource = decoded(&changed("committed_resource", |o| o["spec"]["amount"] = json!(40)));
    assert_eq!(commitment.spec.amount, Quantity::from("40"));
}

#[test]
fn empty_optional_names_are_not_set() {
    let object = changed("reservation_committed", |o| {
        o["spec"]["targetHost"] = json!("");
        o["status"]["host"] = json!("");
    });
    let slot: Reservation = decoded(&object);
    assert_eq!((slot.spec.target_host, slot.status.unwrap().host), (None, None));
}

#[test]
fn unknown_fields_are_ignored() {
    decoded::<CommittedResource>(&changed("committed_resource", |o| o["spec"]["comment"] = json!("x")));
}

#[test]
fn a_hypervisor_without_spec_or_status_is_read() {
    let object = changed("hypervisor", |o| {
        o.as_object_mut().unwrap().retain(|key, _| key != "spec" && key != "status");
    });
    let host: Hypervisor = decoded(&object);
    assert!(host.spec.groups.is_empty() && host.status.is_none());
}

#[test]
fn an_empty_hypervisor_spec_has_the_documented_defaults() {
    let host: Hypervisor = decoded(&changed("hypervisor", |o| o["spec"] = json!({})));
    assert!(host.spec.evacuate_on_reboot && host.spec.high_availability && !host.spec.reboot);
}

#[test]
fn objects_that_do_not_fit_fail_on_their_own() {
    let object = changed("committed_resource", |o| o["spec"]["state"] = json!("active"));
    assert!(serde_json::from_value::<CommittedResource>(object).is_err());
}

/// The objects that may be stored in an old cluster.
#[test]
fn surprising_objects_are_read() {
    for amount in [json!("-5Gi"), json!("0.5"), json!(40), json!("1e3")] {
        decoded::<CommittedResource>(&changed("committed_resource", |o| o["spec"]["amount"] = amount));
    }
    decoded::<CommittedResource>(&changed("committed_resource", |o| o["spec"]["commitmentUUID"] = json!("")));
    let mismatch = changed("reservation_committed", |o| o["spec"]["type"] = json!("FailoverReservation"));
    assert!(decoded::<Reservation>(&mismatch).spec.failover_reservation.is_none());
    decoded::<ProjectQuota>(&changed("project_quota", |o| o["spec"]["quota"]["x"] = json!(-1)));
    decoded::<Knowledge>(&changed("knowledge", |o| o["spec"]["recency"] = json!("soon")));
    decoded::<Datasource>(&changed("datasource", |o| o["spec"]["type"] = json!("mysql")));
    let host = changed("hypervisor", |o| {
        o["spec"]["maintenance"] = json!("");
        o["spec"]["overcommit"]["cpu"] = json!(1);
        o["status"]["cells"][0]["cellID"] = json!(-1);
    });
    decoded::<Hypervisor>(&host);
}
