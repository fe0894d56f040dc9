//! A request of the scheduler as the body that another scheduler is sent: the members that Nova's own objects have, all
//! of them, whether or not they mean anything.

use std::collections::BTreeMap;

use berth_core::HostName;
use berth_scheduler::{Candidates, Options, Request};
use serde_json::{Map, Value, json};

/// By what the caller's request is found in logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    pub request_id: String,
    /// `context.global_request_id`; empty when there is none.
    pub global_request_id: String,
}

/// The body. The size that travels is that of the request, whatever the flavor has. Without listed candidates there are
/// no hosts: who wants all of them lists them first.
pub fn encode(request: &Request, ids: &Ids) -> serde_json::Result<Vec<u8>> {
    let hosts: &[(HostName, f64)] = match &request.candidates {
        Candidates::All => &[],
        Candidates::Listed(hosts) => hosts,
    };
    let listed = hosts.iter().map(|(host, _)| json!({"host": host, "hypervisor_hostname": ""}));
    // The first weight of a host counts, as in a run.
    let weights: BTreeMap<&str, Value> =
        hosts.iter().rev().map(|(host, weight)| (host.as_str(), number(*weight))).collect();
    serde_json::to_vec(&json!({
        "spec": wrapped(&spec(request)),
        "context": context(request, ids),
        "hosts": listed.collect::<Vec<_>>(),
        "weights": weights,
        "pipeline": request.pipeline,
        "options": options(&request.options),
    }))
}

fn wrapped(data: &Value) -> Value {
    json!({
        "nova_object.name": "",
        "nova_object.namespace": "",
        "nova_object.version": "",
        "nova_object.data": data,
        "nova_object.changes": null,
    })
}

fn spec(request: &Request) -> Value {
    json!({
        "project_id": request.project,
        "user_id": "",
        "instance_uuid": request.instance,
        "availability_zone": request.zone,
        "num_instances": request.instances,
        "is_bfv": false,
        "scheduler_hints": request.hints.entries().cloned().unwrap_or_default(),
        "ignore_hosts": unless_empty(&request.ignore_hosts),
        "force_hosts": unless_empty(&request.force_hosts),
        "force_nodes": null,
        "image": wrapped(&image(request)),
        "flavor": wrapped(&flavor(request)),
        "request_level_params":
            wrapped(&json!({"root_required": null, "root_forbidden": null, "same_subtree": null})),
        "network_metadata": wrapped(&Value::Null),
        "limits": wrapped(&Value::Null),
        "requested_networks": {"objects": null},
        "security_groups": {"objects": null},
        "numa_topology": null,
        "requested_destination": destination(request),
        "instance_group": group(request),
    })
}

fn unless_empty(hosts: &[HostName]) -> Option<&[HostName]> {
    (!hosts.is_empty()).then_some(hosts)
}

fn map_or_null<V: Clone + Into<Value>>(map: &BTreeMap<String, V>) -> Value {
    if map.is_empty() {
        return Value::Null;
    }
    map.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect()
}

fn image(request: &Request) -> Value {
    json!({
        "id": "",
        "name": "",
        "status": "",
        "checksum": "",
        "owner": "",
        "size": 0,
        "container_format": "",
        "disk_format": "",
        "created_at": "",
        "updated_at": "",
        "min_ram": 0,
        "min_disk": 0,
        "properties": wrapped(&map_or_null(&request.image_properties)),
    })
}

fn flavor(request: &Request) -> Value {
    json!({
        "id": 0,
        "name": request.flavor.name,
        "memory_mb": request.size.memory.mib_up().max(0),
        "vcpus": request.size.cpu.get().max(0),
        "root_gb": 0,
        "ephemeral_gb": 0,
        "flavorid": "",
        "swap": 0,
        "rxtx_factor": 0,
        "vcpu_weight": 0,
        "disabled": false,
        "is_public": false,
        "extra_specs": map_or_null(&request.flavor.extra_specs),
        "description": null,
        "created_at": "",
        "updated_at": null,
        "deleted_at": null,
        "deleted": false,
    })
}

fn destination(request: &Request) -> Option<Value> {
    let destination = request.destination.as_ref()?;
    Some(wrapped(&json!({
        "host": destination.host,
        "node": "",
        "aggregates": destination.aggregates,
        "forbidden_aggregates": null,
    })))
}

fn group(request: &Request) -> Option<Value> {
    let group = request.group.as_ref()?;
    Some(wrapped(&json!({
        "user_id": "",
        "project_id": "",
        "uuid": "",
        "name": "",
        "policies": null,
        "members": group.members,
        "hosts": group.hosts,
        "policy": group.policy,
        "_rules": map_or_null(&group.rules),
        "created_at": "",
        "updated_at": null,
        "deleted_at": null,
        "deleted": false,
    })))
}

fn context(request: &Request, ids: &Ids) -> Value {
    let global = Some(&ids.global_request_id).filter(|id| !id.is_empty());
    json!({
        "user": "",
        "project_id": request.project,
        "system_scope": null,
        "project": "",
        "domain": null,
        "user_domain": "",
        "project_domain": "",
        "is_admin": false,
        "read_only": false,
        "show_deleted": false,
        "request_id": ids.request_id,
        "global_request_id": global,
        "resource_uuid": null,
        "roles": null,
        "user_identity": "",
        "is_admin_project": false,
        "read_deleted": "",
        "remote_address": "",
        "timestamp": "",
        "quota_class": null,
        "user_name": "",
        "project_name": "",
    })
}

fn options(options: &Options) -> Value {
    let mut set: Map<String, Value> = [
        ("read_only", options.read_only),
        ("assume_empty_hosts", options.assume_empty_hosts),
        ("lock_reservations", options.lock_reservations),
        ("skip_history", options.skip_history),
        ("skip_inflight", options.skip_inflight),
        ("skip_committed_resource_tracking", options.skip_committed_resource_tracking),
        ("explain", options.explain),
    ]
    .into_iter()
    .filter(|(_, set)| *set)
    .map(|(name, set)| (name.to_owned(), set.into()))
    .collect();
    if !options.ignored_reservation_types.is_empty() {
        let names: Vec<Value> = options.ignored_reservation_types.iter().map(|kind| kind.as_str().into()).collect();
        set.insert("ignored_reservation_types".to_owned(), names.into());
    }
    if options.max_candidates > 0 {
        set.insert("max_candidates".to_owned(), options.max_candidates.into());
    }
    set.into()
}

/// Whole numbers without a fraction, as other clients write them.
#[expect(clippy::cast_possible_truncation, reason = "only within the range in which doubles are exact")]
fn number(weight: f64) -> Value {
    let whole = weight.fract() == 0.0 && weight.abs() < 9e15 && weight.is_sign_positive();
    if whole { Value::from(weight as i64) } else { Value::from(weight) }
}
