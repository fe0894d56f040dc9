//! Nova's side of the scheduler API: the requests that it sends, and the answers.

use std::net::SocketAddr;

use berth_crds::{Hypervisor, testing};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::http::{self, Posted};
use super::objects::{SLOT_CORES, SLOT_GIB};
use super::seen::Seen;
use super::waiting::so;
use super::world::World;

pub const PATH: &str = "/scheduler/nova/external";

/// A VM of the size of one slot, of the project of all commitments, with these hosts preselected.
pub fn wants(vm: &str, hosts: &[&str]) -> Value {
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    let flavor =
        json!({ "name": testing::FLAVOR, "vcpus": SLOT_CORES, "memory_mb": SLOT_GIB * 1024, "extra_specs": specs });
    let spec = json!({
        "instance_uuid": vm, "project_id": testing::PROJECT, "availability_zone": testing::ZONE, "num_instances": 1,
        "flavor": { "nova_object.name": "Flavor", "nova_object.data": flavor },
    });
    let listed: Vec<_> = hosts.iter().map(|host| json!({ "host": host, "hypervisor_hostname": host })).collect();
    let weights: serde_json::Map<_, _> = hosts.iter().map(|host| ((*host).to_owned(), json!(0))).collect();
    json!({
        "spec": { "nova_object.name": "RequestSpec", "nova_object.data": spec },
        "context": { "project_id": testing::PROJECT, "request_id": format!("req-{vm}") },
        "hosts": listed, "weights": weights, "rebuild": false, "resize": false, "live": false, "vmware": false,
    })
}

pub fn only_asks(mut request: Value) -> Value {
    request["options"] = json!({
        "read_only": true, "skip_history": true, "skip_inflight": true, "skip_committed_resource_tracking": true,
    });
    request
}

/// Changes the request to a project without a commitment.
pub fn of_another_project(request: Value) -> Value {
    of_project(request, "another-project")
}

/// Changes the request to this project.
pub fn of_project(mut request: Value, project: &str) -> Value {
    request["spec"]["nova_object.data"]["project_id"] = json!(project);
    request
}

/// Changes the request to this pipeline.
pub fn through(mut request: Value, pipeline: &str) -> Value {
    request["pipeline"] = json!(pipeline);
    request
}

pub async fn post(api: SocketAddr, request: &Value) -> Posted {
    let posted = http::post(api, PATH, request.to_string().as_bytes()).await;
    posted.unwrap_or_else(|| panic!("no answer from {api}"))
}

/// The hosts of the answer, with the checks of Nova's client: one member, a list of strings.
pub async fn ask(api: SocketAddr, request: &Value) -> Vec<String> {
    let posted = post(api, request).await;
    assert_eq!((posted.status, posted.header("content-type")), (200, Some("application/json")), "{posted:?}");
    hosts(&posted.body)
}

/// The hosts in the body of an answer.
pub fn hosts(body: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(body).unwrap();
    assert_eq!(answer.as_object().unwrap().len(), 1, "{body}");
    serde_json::from_value(answer["hosts"].clone()).unwrap()
}

/// Whether the scheduler at this address answers these hosts for a VM of the commitment's project, in this order.
pub async fn answers_in_order(api: SocketAddr, hosts: &[String; 2]) -> Result<(), String> {
    let answered = ask(api, &only_asks(wants("anybody", &["node1", "node2"]))).await;
    so(answered == hosts, || format!("{answered:?} instead of {hosts:?}"))
}

/// The slots that expect a VM.
pub fn slots_with(seen: &Seen, vm: &str) -> Vec<String> {
    let expects = |slot: &&berth_crds::Reservation| {
        let data = slot.spec.committed_resource_reservation.as_ref();
        data.is_some_and(|data| data.allocations.contains_key(vm))
    };
    seen.slots().filter(expects).map(ResourceExt::name_any).collect()
}

/// Waits until a slot expects a VM, and returns its name.
pub async fn booked(world: &World, vm: &str) -> String {
    world
        .until(&format!("{vm} is written into a slot"), |seen| {
            let slots = slots_with(seen, vm);
            so(slots.len() == 1, || format!("it is in {slots:?}")).map(|()| slots[0].clone())
        })
        .await
}

/// The VM starts on the host of the answer, and the node agent reports it.
pub async fn starts(world: &World, vm: &str, host: &str) {
    world.report_vm(host, vm, SLOT_GIB).await;
}

/// Waits until the scheduler knows all hosts.
pub async fn hosts_are_known(world: &World) {
    hosts_are_known_at(world, world.operator().api()).await;
}

/// Waits until the scheduler at this address knows all hosts.
pub async fn hosts_are_known_at(world: &World, api: SocketAddr) {
    let hosts = world.api::<Hypervisor>().list(&ListParams::default()).await.unwrap().items;
    let names: Vec<String> = hosts.iter().map(ResourceExt::name_any).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let question = through(only_asks(wants("anybody", &names)), "kvm-report-capacity");
    world
        .until_reported("all hosts are known to the scheduler", async |_, _| {
            let answered = ask(api, &question).await;
            so(answered.len() == names.len(), || format!("{answered:?} of {names:?}"))
        })
        .await;
}
