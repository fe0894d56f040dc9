//! A change of a CRD that stored objects or the former binary would not survive is found.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::fs;

use berth_helm::{Tools, checkout, released};
use serde_json::{Value, json};

const NAME: &str = "cortex.cloud_reservations.yaml";

/// What is found after a change of this CRD, with these lines accepted.
fn found(accepted: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let folders = tempfile::tempdir().unwrap();
    let [released, current] = ["released", "current"].map(|name| folders.path().join(name));
    let text = fs::read_to_string(checkout::root().join("config/crd").join(NAME)).unwrap();
    for folder in [&released, &current] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join(NAME), &text).unwrap();
    }
    fs::write(released.join("accepted.txt"), accepted).unwrap();
    let mut crd: Value = serde_saphyr::from_str(&text).unwrap();
    change(&mut crd);
    fs::write(current.join(NAME), serde_saphyr::to_string(&crd).unwrap()).unwrap();
    released::breaks(&Tools::obtain().unwrap(), &released, &current).unwrap()
}

fn version(crd: &mut Value) -> &mut Value {
    &mut crd["spec"]["versions"][0]
}

fn spec(crd: &mut Value) -> &mut Value {
    &mut version(crd)["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

fn zone(crd: &mut Value) -> &mut Value {
    &mut spec(crd)["properties"]["availabilityZone"]
}

/// The only break, without what all of them begin with.
#[track_caller]
fn breaks(change: impl FnOnce(&mut Value)) -> String {
    let found = found("", change);
    let begin = "not compatible with the last release: cortex.cloud_reservations: ";
    let lines: Vec<_> = found.iter().map(|line| line.strip_prefix(begin).unwrap()).collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines[0].to_owned()
}

#[test]
fn the_crds_of_this_checkout_follow_the_last_release() {
    assert_eq!(released::problems(&Tools::obtain().unwrap()).unwrap(), Vec::<String>::new());
}

#[test]
fn additions_and_other_words_are_no_break() {
    let found = found("", |crd| {
        spec(crd)["properties"]["fresh"] = json!({ "type": "string", "maxLength": 9 });
        zone(crd)["description"] = json!("other words");
        zone(crd)["maxLength"] = json!(65);
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_field_a_type_or_a_version_that_is_gone_is_a_break() {
    let removed = found("", |crd| drop(spec(crd)["properties"].as_object_mut().unwrap().remove("schedulingDomain")));
    assert!(
        removed
            .iter()
            .any(|line| line.contains("existingFieldRemoval: removed field : v1alpha1.^.spec.schedulingDomain")),
        "{removed:#?}"
    );
    let text = breaks(|crd| zone(crd)["type"] = json!("integer"));
    assert_eq!(text, r#"v1alpha1 - ^.spec.availabilityZone - type: type changed : "string" -> "integer""#);
    assert_eq!(breaks(|crd| version(crd)["name"] = json!("v1alpha2")), "the version v1alpha1 is gone");
    assert_eq!(breaks(|crd| version(crd)["served"] = json!(false)), "the version v1alpha1 is not served any more");
    let text = breaks(|crd| drop(version(crd).as_object_mut().unwrap().remove("subresources")));
    assert_eq!(text, "the version v1alpha1 has no subresource status any more");
    assert!(breaks(|crd| crd["spec"]["scope"] = json!("Namespaced")).starts_with("scope: scope changed"));
}

#[test]
fn a_rule_that_is_stricter_for_stored_objects_is_a_break() {
    let at = "v1alpha1 - ^.spec.availabilityZone - ";
    for (key, value, line) in [
        ("maxLength", json!(1), "maxLength: maximum decreased : 64 -> 1"),
        ("minLength", json!(9), "minLength: minimum constraint added when there was none previously : 9"),
        ("enum", json!(["a"]), r#"enum: enum constraint added when there was none previously : ["a"]"#),
        ("pattern", json!("^a"), "unhandled: unhandled changes found"),
        ("format", json!("date-time"), "unhandled: unhandled changes found"),
    ] {
        assert_eq!(breaks(|crd| zone(crd)[key] = value), format!("{at}{line}"));
    }
    let required = breaks(|crd| spec(crd)["required"].as_array_mut().unwrap().push(json!("targetHost")));
    assert_eq!(required, "v1alpha1 - ^.spec - required: new required fields: [targetHost]");
    let rule = breaks(|crd| spec(crd)["x-kubernetes-validations"] = json!([{ "rule": "false", "message": "never" }]));
    assert_eq!(rule, "v1alpha1 - ^.spec - unhandled: unhandled changes found");
}

#[test]
fn a_break_is_accepted_by_its_line_and_the_line_goes_with_it() {
    let line = "cortex.cloud_reservations: v1alpha1 - ^.spec.availabilityZone - unhandled: unhandled changes found";
    let accepted = format!("# It was never stored with another one.\n{line}\n");
    assert_eq!(found(&accepted, |crd| zone(crd)["pattern"] = json!("^a")), Vec::<String>::new());
    let stale = found(&accepted, |_| {});
    assert_eq!(stale, [format!("accepted.txt: {line:?} is not reported any more; remove the line")]);
}
