//! Invalid requests, whose error text names the member.

use serde_json::{Value, json};

use super::{refused, with_spec};

const BEGINNING: &str = "failed to decode request body: ";

/// Invalid values of members of the spec, by path.
fn wrong_spec() -> Vec<(Value, &'static str)> {
    let wrapped = |data: Value| json!({"nova_object.data": data});
    let flavor = |data: Value| json!({"flavor": wrapped(data)});
    let group = |data: Value| json!({"instance_group": wrapped(data)});
    vec![
        (json!({"num_instances": -1}), "spec.num_instances: expected a whole number from 0, found -1"),
        (json!({"num_instances": 1.0}), "spec.num_instances: expected a whole number from 0, found 1.0"),
        (json!({"num_instances": "1"}), "spec.num_instances: expected a whole number from 0, found the text \"1\""),
        (json!({"instance_uuid": 7}), "spec.instance_uuid: expected a text, found 7"),
        (json!({"project_id": ["p"]}), "spec.project_id: expected a text, found a list"),
        (json!({"availability_zone": {}}), "spec.availability_zone: expected a text, found an object"),
        (json!({"scheduler_hints": []}), "spec.scheduler_hints: expected an object, found a list"),
        (json!({"ignore_hosts": "a"}), "spec.ignore_hosts: expected a list, found the text \"a\""),
        (json!({"force_hosts": ["a", true]}), "spec.force_hosts[1]: expected a text, found true"),
        (json!({"image": 5}), "spec.image: expected an object, found 5"),
        (
            json!({"image": wrapped(json!({"properties": wrapped(json!("x"))}))}),
            "spec.image.properties: expected an object, found the text \"x\"",
        ),
        (flavor(json!({"vcpus": -1})), "spec.flavor.vcpus: expected a whole number from 0, found -1"),
        (flavor(json!({"memory_mb": 1e30})), "spec.flavor.memory_mb: expected a whole number from 0, found 1e30"),
        (flavor(json!({"name": false})), "spec.flavor.name: expected a text, found false"),
        (flavor(json!({"extra_specs": {"trait:X": 1}})), "spec.flavor.extra_specs.trait:X: expected a text, found 1"),
        (flavor(json!([])), "spec.flavor: expected an object, found a list"),
        (
            json!({"requested_destination": wrapped(json!({"host": 1}))}),
            "spec.requested_destination.host: expected a text, found 1",
        ),
        (json!({"requested_destination": []}), "spec.requested_destination: expected an object, found a list"),
        (group(json!({"members": [1]})), "spec.instance_group.members[0]: expected a text, found 1"),
        (group(json!({"policy": 1.5})), "spec.instance_group.policy: expected a text, found 1.5"),
        (group(json!({"_rules": 1})), "spec.instance_group._rules: expected an object, found 1"),
    ]
}

#[test]
fn a_wrong_member_is_named_with_what_was_expected_and_found() {
    for (spec, text) in wrong_spec() {
        assert_eq!(refused(&with_spec(&spec).to_string()).to_string(), format!("{BEGINNING}{text}"));
    }
    for (body, text) in [
        (r"[]", "expected an object, found a list"),
        (r#""x""#, "expected an object, found the text \"x\""),
        (r#"{"spec":1}"#, "spec: expected an object, found 1"),
        (r#"{"hosts":{}}"#, "hosts: expected a list, found an object"),
        (r#"{"hosts":[{},"a"]}"#, "hosts[1]: expected an object, found the text \"a\""),
        (r#"{"hosts":[{"host":3}]}"#, "hosts[0].host: expected a text, found 3"),
        (r#"{"weights":{"a":"1"}}"#, "weights.a: expected a number, found the text \"1\""),
        (r#"{"weights":[1]}"#, "weights: expected an object, found a list"),
        (r#"{"pipeline":{}}"#, "pipeline: expected a text, found an object"),
        (r#"{"context":{"request_id":1}}"#, "context.request_id: expected a text, found 1"),
        (r#"{"options":{"max_candidates":1e3}}"#, "options.max_candidates: expected a whole number, found 1000.0"),
        (r#"{"options":{"read_only":"true"}}"#, "options.read_only: expected true or false, found the text \"true\""),
        (r#"{"options":{"explain":1}}"#, "options.explain: expected true or false, found 1"),
        (
            r#"{"options":{"ignored_reservation_types":[1]}}"#,
            "options.ignored_reservation_types[0]: expected a text, found 1",
        ),
    ] {
        assert_eq!(refused(body).to_string(), format!("{BEGINNING}{text}"));
    }
}

#[test]
fn what_is_no_json_is_reported_with_its_place() {
    for (body, text) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("garbage", "expected value at line 1 column 1"),
        ("{} x", "trailing characters at line 1 column 4"),
        ("null null", "trailing characters at line 1 column 6"),
        (r#"{"weights":{"a":1e999}}"#, "weights.a: number out of range at line 1 column 21"),
        (r#"{"hosts":[{"host":"a"}"#, "hosts[1]: EOF while parsing a list at line 1 column 22"),
        ("{\"pipeline\":\"\\ud800\"}", "pipeline: unexpected end of hex escape at line 1 column 20"),
    ] {
        assert_eq!(refused(body).to_string(), format!("{BEGINNING}{text}"), "{body}");
    }
    assert!(super::decode(b"{\"pipeline\":\"\xff\"}").is_err());
}

#[test]
fn hosts_and_weights_fit_together() {
    for (body, text) in [
        (r#"{"hosts":[{"host":"a"},{"host":"b"}],"weights":{"a":0}}"#, "missing weight for host: b"),
        (r#"{"hosts":[{"host":"a"}],"weights":{"a":0,"z":0,"y":0}}"#, "weight assigned to unknown host: y"),
        (r#"{"hosts":[{"host":"a"},{"host":"b"}],"weights":{"a":0,"z":0}}"#, "missing weight for host: b"),
        (r#"{"weights":{"a":0}}"#, "weight assigned to unknown host: a"),
    ] {
        assert_eq!(refused(body).to_string(), text);
    }
}

#[test]
fn texts_are_one_line_and_short_whatever_the_caller_sent() {
    let long = "\n\u{1b}x".repeat(100_000);
    let quoted = Value::from(long.as_str()).to_string();
    for body in [
        format!(r#"{{"options":{{"read_only":{quoted}}}}}"#),
        format!(r#"{{"hosts":[{{"host":{quoted}}}]}}"#),
        format!(r#"{{"weights":{{{quoted}:0}}}}"#),
        format!(r#"{{"weights":{{{quoted}:"x"}}}}"#),
    ] {
        let text = refused(&body).to_string();
        assert!(text.chars().count() < 1000 && !text.contains(char::is_control), "{text}");
    }
}

#[test]
fn lists_and_maps_are_bounded() {
    let hosts = format!(r#"{{"hosts":[{}{{}}]}}"#, "{},".repeat(100_000));
    assert_eq!(refused(&hosts).to_string(), format!("{BEGINNING}hosts: expected at most 100000 entries, found more"));
    let ignored = |count: usize| {
        format!(r#"{{"spec":{{"nova_object.data":{{"ignore_hosts":[{}"a"]}}}}}}"#, "\"a\",".repeat(count - 1))
    };
    let text = "spec.ignore_hosts: expected at most 1000 entries, found more";
    assert_eq!(refused(&ignored(1001)).to_string(), format!("{BEGINNING}{text}"));
    assert!(crate::wire::decode(ignored(1000).as_bytes()).is_ok());
    let weights: Vec<String> = (0..=100_000).map(|number| format!("\"{number}\":0")).collect();
    let weights = format!(r#"{{"weights":{{{}}}}}"#, weights.join(","));
    assert!(refused(&weights).to_string().starts_with("failed to decode request body: weights: expected at most"));
}
