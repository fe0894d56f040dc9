//! Commitments that are not served yet: their place in the queue, and what their conditions say while they wait.

use std::time::Duration;

use berth_cluster::{Action, ObjectKey, Reconciler as _, RequestClass};
use berth_core::ClusterName;
use berth_core::flavor::Flavor;
use berth_crds::{CommittedResource, conditions, names, testing};
use berth_scheduler::{Call, Request};
use berth_testkit::{Server, seeds};
use jiff::Timestamp;
use serde_json::json;

use crate::support::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), name)
}

fn message(server: &Server, name: &str) -> String {
    let object: CommittedResource = server.get(name).unwrap();
    conditions::ready(&object.status.unwrap().conditions).unwrap().message.clone()
}

#[tokio::test(start_paused = true)]
async fn commitments_that_were_not_planned_yet_come_before_those_that_wait() {
    let clock = clock();
    let server = server(&clock, &[("node1", 1)], &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    let class = || process.commitments.request_class(&commitment_key());
    assert_eq!(class(), RequestClass::New);
    assert_eq!(process.settle().await, []);
    assert_eq!((ready(&server).reason.as_str(), class()), ("Reserving", RequestClass::Retry));
    let amount = json!({ "spec": { "amount": seeds::slots(1) } });
    server.edit::<CommittedResource>(&names::commitment(UUID), &amount).unwrap();
    process.world.deliver().unwrap();
    assert_eq!(class(), RequestClass::New, "it was not planned with this amount");
    assert_eq!(process.settle().await, []);
    assert_eq!((ready(&server).reason.as_str(), class()), ("Accepted", RequestClass::New));
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_names_the_object_that_is_served_now() {
    let clock = clock();
    let server = server(&clock, &[("node1", 4)], &seeds::waiting_commitment(UUID, 1));
    for name in ["copy-a", "copy-b"] {
        let mut copy = serde_json::to_value(seeds::waiting_commitment(UUID, 1)).unwrap();
        copy["metadata"]["name"] = json!(name);
        server.create_raw(copy).unwrap();
    }
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    let names = |served: &str| {
        let start = format!("commitment is not served: {served} has the same spec.commitmentUUID and is served");
        let shown = message(&server, "copy-b");
        assert!(shown.starts_with(&start), "{shown}");
    };
    names("commitment-uuid-1");

    server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    assert_eq!(process.settle().await, []);
    names("commitment-uuid-1");
    let again = process.commitments.reconcile(key("copy-b")).await.unwrap();
    let Action::RequeueAfter(pause) = again else { panic!("it is not reconciled again") };
    assert!(pause <= Duration::from_secs(30), "{pause:?}");
    tokio::time::sleep(pause).await;
    process.commitments.reconcile(key("copy-b")).await.unwrap();
    names("copy-a");
    assert_eq!(process.settle_for_good().await, []);
}

/// A response to Nova holds capacity for a VM of the size of a slot.
fn claim(process: &Process, vm: &str) {
    let extra_specs = [("capabilities:hypervisor_type".to_owned(), "QEMU".to_owned())].into();
    let flavor = Flavor { name: testing::FLAVOR.into(), vcpus: 30, memory_mib: 480 * 1024, disk_gib: 0, extra_specs };
    let request = Request { project: "other".into(), zone: testing::ZONE.into(), ..Request::new(vm, flavor) };
    let (now, time) = (Duration::ZERO, "2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap());
    let call = Call::new(&request, (now, time));
    assert_eq!(process.world.scheduler.answer(&call).unwrap().hosts.len(), 1);
}

/// The slots were there before a rejection was allowed.
#[tokio::test(start_paused = true)]
async fn a_commitment_whose_waiting_slots_lack_only_claimed_capacity_is_not_rejected() {
    let clock = clock();
    let server = server(&clock, &[("node1", 2)], &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    claim(&process, "vm-1");
    assert_eq!(process.settle().await, []);
    assert_eq!(ready(&server).reason, "Reserving");
    let allow = json!({ "spec": { "allowRejection": true } });
    server.edit::<CommittedResource>(&names::commitment(UUID), &allow).unwrap();
    assert_eq!(process.settle().await, []);
    let reported = ready(&server);
    let text = "waiting until 2026-03-01T12:10:01Z at most: the capacity is claimed for VMs that have not appeared yet: VM \
                \"vm-1\" of project \"other\" on node1 ";
    assert_eq!((reported.reason.as_str(), reported.observed_generation), ("Reserving", Some(2)), "{reported:?}");
    assert!(reported.message.starts_with(text), "{reported:?}");
    process.world.scheduler.expire(Duration::from_secs(601));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 2, &[("node1", 2)]);
}
