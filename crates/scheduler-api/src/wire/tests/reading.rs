//! Parsing of valid requests.

use berth_core::Resources;
use berth_scheduler::{Candidates, Intent, ReservationType};
use serde_json::json;

use super::{decode, decoded, with_spec};
use crate::wire::decode_answer;

#[test]
fn the_minimal_request() {
    let body = br#"{"spec": {"nova_object.data": {"instance_uuid": "i", "num_instances": 1}},
        "hosts": [{"host": "a"}], "weights": {"a": 1.5}, "pipeline": "p"}"#;
    let request = decode(body).unwrap().request;
    assert_eq!((request.instance.as_str(), request.instances, request.pipeline.as_str()), ("i", 1, "p"));
    assert_eq!(request.candidates, Candidates::Listed(vec![("a".into(), 1.5)]));
    assert_eq!(request.intent(), None);
}

#[test]
fn every_member_with_an_effect_is_read() {
    let wrapped = |data: serde_json::Value| json!({"nova_object.name": "X", "nova_object.data": data});
    let mut body = with_spec(&json!({
        "instance_uuid": "vm", "project_id": "p1", "availability_zone": "az", "num_instances": 3,
        "scheduler_hints": {"_nova_check_type": ["evacuate", 1, [2]], "source_host": "s"},
        "ignore_hosts": ["i"], "force_hosts": ["f", "g"],
        "image": wrapped(json!({"properties": wrapped(json!({"img_hv_type": "kvm"}))})),
        "flavor": wrapped(json!({"name": "m1", "memory_mb": 2048, "vcpus": 2, "extra_specs": {"a": "b"}})),
        "requested_destination": wrapped(json!({"host": "h", "aggregates": ["u,v"]})),
        "instance_group": wrapped(json!({"policy": "affinity", "members": ["m"], "hosts": ["h"],
            "_rules": {"max_server_per_host": "2"}})),
    }));
    body["context"] = json!({"user": "u", "project_id": "cp", "request_id": "r", "global_request_id": "g"});
    body["options"] = json!({"read_only": true, "assume_empty_hosts": true, "lock_reservations": true,
        "ignored_reservation_types": ["FailoverReservation", "Nonsense"], "max_candidates": 4, "skip_history": true,
        "skip_inflight": true, "skip_committed_resource_tracking": true, "explain": true});
    let incoming = decoded(&body);
    let request = &incoming.request;
    assert_eq!(incoming.user + "," + &incoming.project, "u,cp");
    assert_eq!(incoming.request_id + "," + &incoming.global_request_id, "r,g");
    assert_eq!((request.project.as_str(), request.zone.as_str(), request.instances), ("p1", "az", 3));
    assert_eq!(request.intent(), Some(Intent::Evacuate));
    assert_eq!(request.hints.get("source_host").unwrap(), "s");
    assert_eq!((request.ignore_hosts.len(), request.force_hosts[1].as_str()), (1, "g"));
    assert_eq!(request.image_properties["img_hv_type"], "kvm");
    assert_eq!((request.flavor.name.as_str(), request.flavor.extra_specs["a"].as_str()), ("m1", "b"));
    assert_eq!(request.size, request.flavor.size());
    assert_eq!(request.destination.as_ref().unwrap().aggregates, ["u,v"]);
    let group = request.group.as_ref().unwrap();
    assert_eq!((group.policy.as_str(), group.members.len(), group.hosts.len()), ("affinity", 1, 1));
    assert_eq!(group.rules["max_server_per_host"], "2");
    let options = &request.options;
    assert!(options.read_only && options.assume_empty_hosts && options.lock_reservations && options.explain);
    assert!(options.skip_history && options.skip_inflight && options.skip_committed_resource_tracking);
    assert_eq!(options.ignored_reservation_types.iter().collect::<Vec<_>>(), [&ReservationType::Failover]);
    assert_eq!(options.max_candidates, 4);
}

#[test]
fn members_without_an_effect_are_never_a_reason_to_refuse() {
    for member in ["user_id", "is_bfv", "force_nodes", "request_level_params", "numa_topology", "limits", "new"] {
        for value in ["-1", "\"x\"", "[[[{}]]]", "1e999", "\"\\ud800\"", "{\"nova_object.data\":[3]}"] {
            let body = format!(r#"{{"spec":{{"nova_object.data":{{"{member}":{value},"instance_uuid":"i"}}}}}}"#);
            assert_eq!(decode(body.as_bytes()).unwrap().request.instance.as_str(), "i", "{body}");
        }
    }
    let deep = format!(r#"{{"rebuild":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(decode(deep.as_bytes()).is_ok());
    let flavor = decoded(&with_spec(&json!({"flavor": {"nova_object.data": {"id": "x", "root_gb": -1, "vcpus": 1}}})));
    assert_eq!(flavor.request.flavor.vcpus, 1);
}

#[test]
fn names_of_members_are_matched_exactly_and_failing_that_whatever_their_case() {
    let body = br#"{"SPEC":{"Nova_Object.Data":{"Instance_UUID":"x","flavor":{"nova_object.data":{"VCPUS":3}}}},
        "HOSTS":[{"Host":"a"}],"Weights":{"a":0},"pIPELINE":"q"}"#;
    let request = decode(body).unwrap().request;
    assert_eq!((request.instance.as_str(), request.flavor.vcpus, request.pipeline.as_str()), ("x", 3, "q"));
    assert_eq!(request.candidates, Candidates::Listed(vec![("a".into(), 0.0)]));
}

#[test]
fn a_member_that_occurs_twice_is_the_last_one_and_objects_merge() {
    let body = br#"{"pipeline":"a","Pipeline":"b","weights":{"a":1},"weights":{"b":2,"b":3},
        "hosts":[{"host":"z"}],"hosts":[{"host":"b"},{"host":"a"}],
        "spec":{"nova_object.data":{"instance_uuid":"i","flavor":{"nova_object.data":{"vcpus":2}}}},
        "spec":{"nova_object.data":{"flavor":{"nova_object.data":{"memory_mb":5}},"scheduler_hints":{"x":"1"}},
                "nova_object.data":{"scheduler_hints":{"y":"2"}}}}"#;
    let request = decode(body).unwrap().request;
    assert_eq!((request.instance.as_str(), request.pipeline.as_str()), ("i", "b"));
    assert_eq!((request.flavor.vcpus, request.flavor.memory_mib), (2, 5));
    assert_eq!(request.hints.entries().unwrap().len(), 2);
    assert_eq!(request.candidates, Candidates::Listed(vec![("b".into(), 3.0), ("a".into(), 1.0)]));
}

#[test]
fn null_is_as_if_absent() {
    let absent = decode(b"null").unwrap();
    assert_eq!(absent, decode(b"{}").unwrap());
    let nulls = r#"{"spec":{"nova_object.data":{"instance_uuid":null,"num_instances":null,"scheduler_hints":null,
        "ignore_hosts":null,"force_hosts":null,"image":null,"flavor":{"nova_object.data":{"vcpus":null,"name":null,
        "extra_specs":null}},"requested_destination":null,"instance_group":null}},"context":{"global_request_id":null},
        "hosts":null,"weights":null,"pipeline":null,"options":{"max_candidates":null,"read_only":null}}"#;
    assert_eq!(decode(nulls.as_bytes()).unwrap(), absent);
    assert_eq!(absent.request.intent(), None);
    assert!(absent.request.hints.entries().is_none() && absent.request.group.is_none());
    let inner = br#"{"hosts":[null,{"host":null}],"weights":{"":null},"spec":{"nova_object.data":null}}"#;
    let expected = Candidates::Listed(vec![("".into(), 0.0), ("".into(), 0.0)]);
    assert_eq!(decode(inner).unwrap().request.candidates, expected);
}

#[test]
fn a_host_may_be_listed_twice() {
    let body = br#"{"hosts":[{"host":"a"},{"host":"a"}],"weights":{"a":7}}"#;
    let Candidates::Listed(hosts) = decode(body).unwrap().request.candidates else { panic!("not listed") };
    assert_eq!(hosts, [("a".into(), 7.0), ("a".into(), 7.0)]);
}

#[test]
fn numbers_beyond_every_host_neither_wrap_nor_panic() {
    let most = u64::MAX;
    let flavor = json!({"nova_object.data": {"memory_mb": most, "vcpus": most}});
    let request = decoded(&with_spec(&json!({"num_instances": most, "flavor": flavor}))).request;
    assert_eq!((request.flavor.vcpus, request.flavor.memory_mib, request.instances), (u32::MAX, most, most));
    assert!(!request.size.fits(Resources::new(berth_core::Bytes::new(1 << 60), berth_core::Cores::new(1 << 20))));
}

#[test]
fn a_limit_of_nothing_or_less_is_none() {
    for limit in ["0", "-0", "-1", "-9223372036854775808"] {
        let body = format!(r#"{{"options":{{"max_candidates":{limit}}}}}"#);
        assert_eq!(decode(body.as_bytes()).unwrap().request.options.max_candidates, 0);
    }
}

#[test]
fn hints_of_every_shape() {
    for (value, read) in [
        (json!("rebuild"), Some(Intent::Rebuild)),
        (json!(["resize"]), Some(Intent::Resize)),
        (json!([""]), Some(Intent::Create)),
        (json!([]), None),
        (json!([["evacuate"]]), None),
        (json!([{"evacuate": 1}, "evacuate"]), None),
        (json!({"a": "evacuate"}), None),
        (json!(1), None),
        (json!(null), None),
    ] {
        let request = decoded(&with_spec(&json!({"scheduler_hints": {"_nova_check_type": value}}))).request;
        assert_eq!(request.intent(), read, "{value}");
        assert!(request.hints.entries().unwrap().contains_key("_nova_check_type"));
    }
}

#[test]
fn answers_of_the_external_scheduler_are_checked() {
    for (body, hosts) in [
        (r#"{"hosts":["a","b"]}"#, &["a", "b"][..]),
        (r#"{"hosts":["a"]} tail"#, &["a"]),
        (r#"{"Hosts":["a"],"filtered":{"x":1}}"#, &["a"]),
        (r#"{"hosts":null}"#, &[]),
        (r#"{"hosts":[]}"#, &[]),
        ("{}", &[]),
        ("null", &[]),
    ] {
        let read: Vec<String> = decode_answer(body.as_bytes()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(read, hosts, "{body}");
    }
    for (body, text) in [
        (r#"{"hosts":"a"}"#, "hosts: expected a list, found the text \"a\""),
        (r#"{"hosts":["a",2]}"#, "hosts[1]: expected a text, found 2"),
        ("[]", "expected an object, found a list"),
        ("", "EOF while parsing a value at line 1 column 0"),
        ("<html>", "expected value at line 1 column 1"),
    ] {
        assert_eq!(decode_answer(body.as_bytes()).unwrap_err(), text);
    }
}
