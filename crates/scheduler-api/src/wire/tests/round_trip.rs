//! Written requests and answers survive a round trip, and have the form that other schedulers expect.

use std::collections::BTreeMap;

use berth_core::flavor::Flavor;
use berth_core::{ClusterName, Cores, HostName, Resources, SlotKey};
use berth_scheduler::{
    Candidates, Destination, Hints, InstanceGroup, Options, Request, ReservationType, SlotRequest, WaitingRank,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

use crate::wire::{Ids, decode, encode};

fn amber() -> Flavor {
    let specs = [("capabilities:hypervisor_type", "CH"), ("quota:hw_version", "amber")];
    Flavor {
        name: "amber_l".into(),
        vcpus: 10,
        memory_mib: 30720,
        disk_gib: 0,
        extra_specs: specs.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }
}

fn slot(size: Resources) -> Request {
    let slot = SlotRequest {
        key: SlotKey::new(ClusterName::home(), "commitment-3b1e-0"),
        rank: WaitingRank { created_unix: 0, commitment: "3b1e".into(), number: 0 },
        project: "7d3f0c".into(),
        zone: "az-west-2".into(),
        flavor: amber(),
        size,
        vms: [].into(),
        domain_name: Some("acme".to_owned()),
        pipeline: "kvm-general-purpose-load-balancing".to_owned(),
        prefer: None,
        request_id: String::new(),
    };
    let hosts = ["node-a", "node-b"].map(|host| (HostName::from(host), 0.0));
    Request { candidates: Candidates::Listed(hosts.to_vec()), ..Request::for_slot(&slot) }
}

fn ids() -> Ids {
    Ids { request_id: "commitment-3b1e-0".to_owned(), global_request_id: "committed-resource-5f0c".to_owned() }
}

#[test]
fn the_complete_request() {
    let written: Value = serde_json::from_slice(&encode(&slot(amber().size()), &ids()).unwrap()).unwrap();
    let expected: Value = serde_json::from_str(include_str!("slot_request.json")).unwrap();
    assert_eq!(written, expected);
}

#[test]
fn question_1_a_slot_travels_with_its_own_size() {
    let size = Resources::new(berth_core::Bytes::from_mib(4096), Cores::new(2));
    let body = encode(&slot(size), &ids()).unwrap();
    let written: Value = serde_json::from_slice(&body).unwrap();
    let flavor = &written["spec"]["nova_object.data"]["flavor"]["nova_object.data"];
    assert_eq!((&flavor["memory_mb"], &flavor["vcpus"], &flavor["name"]), (&4096.into(), &2.into(), &"amber_l".into()));
    assert_eq!(decode(&body).unwrap().request.size, size);
}

#[test]
fn without_a_global_request_id_there_is_null() {
    let written: Value = serde_json::from_slice(&encode(&slot(amber().size()), &Ids::default()).unwrap()).unwrap();
    assert_eq!(written["context"]["global_request_id"], Value::Null);
}

fn names() -> impl Strategy<Value = Vec<HostName>> {
    vec("[a-z\"<\n\u{e9}]{0,6}".prop_map(HostName::from), 0..4)
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-z:_.]{0,8}", ".{0,8}", 0..4)
}

/// Values that are parsed completely.
fn values() -> impl Strategy<Value = BTreeMap<String, Value>> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,5}".prop_map(Value::from),
    ];
    let value = prop_oneof![scalar.clone(), scalar.prop_map(|one| Value::Array(std::vec![one]))];
    proptest::collection::btree_map("[a-z_]{0,8}", value, 0..4)
}

/// Distinct hosts, because a host has one weight on the wire; weights with few digits, because parsing may lose the
/// last bit of others.
fn candidates() -> impl Strategy<Value = Candidates> {
    proptest::collection::btree_map("[a-z0-9-]{0,8}", -1_000_000..1_000_000_i32, 0..8).prop_map(|hosts| {
        Candidates::Listed(hosts.into_iter().map(|(host, weight)| (host.into(), f64::from(weight) / 8.0)).collect())
    })
}

prop_compose! {
    fn options()(flags in any::<[bool; 7]>(), types in vec(0..3_usize, 0..3), most in 0..5_usize) -> Options {
        let all = [ReservationType::Committed, ReservationType::Failover, ReservationType::InFlight];
        Options {
            read_only: flags[0],
            assume_empty_hosts: flags[1],
            lock_reservations: flags[2],
            ignored_reservation_types: types.into_iter().map(|place| all[place]).collect(),
            max_candidates: most,
            skip_history: flags[3],
            skip_inflight: flags[4],
            skip_committed_resource_tracking: flags[5],
            explain: flags[6],
        }
    }
}

prop_compose! {
    fn group()(policy in "[a-z-]{0,9}", members in names(), hosts in names(), rules in values()) -> InstanceGroup {
        InstanceGroup {
            policy,
            members: members.iter().map(|name| name.as_str().into()).collect(),
            hosts: hosts.into_iter().collect(),
            rules,
        }
    }
}

prop_compose! {
    fn flavors()(name in ".{0,8}", vcpus in any::<u32>(), memory_mib in 0..1_u64 << 42, extra_specs in texts())
        -> Flavor { Flavor { name: name.into(), vcpus, memory_mib, disk_gib: 0, extra_specs } }
}

prop_compose! {
    fn requests()(
        (instance, project, zone, pipeline) in (".{0,9}", ".{0,9}", ".{0,9}", ".{0,9}"),
        flavor in flavors(),
        (hints, image_properties) in (values(), values()),
        (ignore_hosts, force_hosts) in (names(), names()),
        destination in option::of((names(), ".{0,4}")),
        (group, options, candidates, instances) in (option::of(group()), options(), candidates(), any::<u64>()),
    ) -> Request {
        let wanted = |(hosts, host): (Vec<HostName>, String)| Destination {
            host: host.into(),
            aggregates: hosts.iter().map(ToString::to_string).collect(),
        };
        Request {
            project: project.into(), zone: zone.into(), instances, hints: Hints::new(Some(hints)), ignore_hosts,
            force_hosts, image_properties, destination: destination.map(wanted), group, candidates, pipeline, options,
            ..Request::new(instance, flavor)
        }
    }
}

proptest! {
    #[test]
    fn what_travels_arrives(request in requests(), request_id in ".{0,9}", global_request_id in ".{0,9}") {
        let ids = Ids { request_id, global_request_id };
        let incoming = decode(&encode(&request, &ids).unwrap()).unwrap();
        prop_assert_eq!(&incoming.request, &request);
        prop_assert_eq!(incoming.request_id, ids.request_id);
        prop_assert_eq!(incoming.global_request_id, ids.global_request_id);
        prop_assert_eq!(incoming.project, request.project.as_str());
    }

    #[test]
    fn nothing_that_is_sent_makes_the_reader_panic(body in vec(any::<u8>(), 0..300)) {
        let _ = decode(&body);
    }
}
