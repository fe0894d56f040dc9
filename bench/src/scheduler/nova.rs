//! Requests for VMs as Nova sends them, with all members of its objects, most of which the scheduler ignores.

use berth_core::HostName;
use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::cloud;

/// Different bodies, each for another VM, that list these hosts.
pub fn bodies(hosts: &[HostName], count: u64, chance: &mut Rng) -> Vec<Vec<u8>> {
    (0..count).map(|number| body(hosts, number, chance).to_string().into_bytes()).collect()
}

fn body(hosts: &[HostName], number: u64, chance: &mut Rng) -> Value {
    let desired = cloud::vm_request(number, chance);
    let list = hosts.iter().map(|host| json!({"host": host, "hypervisor_hostname": host}));
    let weights = hosts.iter().zip(0_u32..);
    let weights: Map<_, _> = weights.map(|(host, at)| (host.to_string(), json!(f64::from(at % 100) / 64.0))).collect();
    json!({
        "spec": object("RequestSpec", &json!({
            "instance_uuid": desired.instance, "project_id": desired.project, "user_id": "4d6f9c3e5a7b1d2f40688f5d1c2ab7e0",
            "availability_zone": desired.zone, "num_instances": 1, "is_bfv": true, "scheduler_hints": {},
            "ignore_hosts": null, "force_hosts": null, "force_nodes": null, "instance_group": null, "pci_requests": null,
            "requested_destination": null, "requested_resources": [], "security_groups": null, "network_metadata": null,
            "image": image(), "flavor": flavor(&desired.flavor),
            "limits": object("SchedulerLimits", &json!({"disk_gb": null, "memory_mb": null, "numa_topology": null, "vcpu": null})),
        })),
        "context": {
            "user": "4d6f9c3e5a7b1d2f40688f5d1c2ab7e0", "project_id": desired.project, "request_id": format!("req-{number}"),
            "global_request_id": format!("req-global-{number}"), "is_admin": false, "roles": ["member", "reader"],
        },
        "hosts": list.collect::<Vec<_>>(), "weights": weights, "pipeline": "",
        "rebuild": false, "resize": false, "live": false, "vmware": false,
    })
}

fn object(name: &str, data: &Value) -> Value {
    json!({
        "nova_object.name": name, "nova_object.namespace": "nova", "nova_object.version": "1.14",
        "nova_object.data": data, "nova_object.changes": [],
    })
}

fn image() -> Value {
    let properties = object("ImageMetaProps", &json!({"hw_video_model": "virtio", "os_type": "linux"}));
    object(
        "ImageMeta",
        &json!({
            "id": "1c2ab7e0-4d6f-9c3e-5a7b-1d2f40688f5d", "name": "linux", "status": "active", "size": 2_147_483_648_u64,
            "container_format": "bare", "disk_format": "raw", "min_ram": 0, "min_disk": 0, "properties": properties,
        }),
    )
}

fn flavor(flavor: &berth_core::flavor::Flavor) -> Value {
    object(
        "Flavor",
        &json!({
            "id": 7, "name": flavor.name, "memory_mb": flavor.memory_mib, "vcpus": flavor.vcpus, "root_gb": 64,
            "ephemeral_gb": 0, "flavorid": "1234", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false,
            "is_public": true, "extra_specs": flavor.extra_specs, "description": null,
        }),
    )
}
