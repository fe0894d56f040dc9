//! The printed configuration in effect is a valid configuration with the same meaning, and has every key.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use berth_telemetry::config::{Loaded, decode, keys};
use serde_json::{Value, json};

fn read(values: &Value) -> Loaded {
    decode(values.as_object().unwrap(), true).unwrap()
}

/// A configuration with one entry in each map and list, and values that are not the defaults.
fn full() -> Value {
    json!({
        "enabledControllers": ["capacity-controller"],
        "enabledTasks": ["commitments-sync-task"],
        "schedulerURL": "builtin:",
        "keystoneSecretRef": { "name": "keystone", "namespace": "berth" },
        "monitoring": { "port": 1, "labels": { "region": "r" } },
        "committedResourceTracking": false,
        "disruptionLimit": { "slots": 7 },
        "scheduler": { "tieBreak": "name", "token": "s3cret", "staleAfter": "0s" },
        "committedResourceReservationController": {
            "schedulerURL": "https://scheduler.example/x", "schedulerToken": "s3cret",
            "flavorGroupPipelines": { "*": "p" }, "oversubscriptionGracePeriod": "0s", "requeueIntervalRetry": "90s",
        },
        "roundTripCheck": { "az": "a", "testProjectID": "p" },
        "flavorGroupResourceConfig": { "old": { "ram": { "ramUnitGiB": 2 } } },
        "committedResourceAPI": { "flavorGroupResourceConfig": { "g": { "ram": { "hasQuota": true } } } },
        "apiservers": { "remotes": [{ "host": "https://remote", "gvks": ["v1/Secret"], "labels": {} }] },
        "failover": "of another program",
    })
}

fn tolerant(values: &Value) -> Loaded {
    decode(values.as_object().unwrap(), false).unwrap()
}

#[test]
fn what_nothing_reports_in_effect_reports_nothing_more() {
    let nothing = read(&json!({}));
    let printed = Value::Object(nothing.in_effect.clone());
    let again = read(&printed);
    assert_eq!(again.configuration, nothing.configuration);
    assert_eq!(again.findings.0, [], "{printed}");
    assert_eq!(again.in_effect, nothing.in_effect, "the printed configuration parses to the same");
    assert_eq!(printed["committedResourceReservationController"]["requeueIntervalRetry"], "1m0s");
    assert_eq!(printed["enabledControllers"][0], "committed-resource-reservations-controller");
    assert_eq!(printed["auth"]["mode"], "off");
}

#[test]
fn what_a_configuration_reports_in_effect_reports_the_same_but_for_secrets() {
    let full = tolerant(&full());
    let printed = Value::Object(full.in_effect.clone());
    let text = printed.to_string();
    assert!(!text.contains("s3cret") && !text.contains("another program"), "{text}");
    let controller = &printed["committedResourceReservationController"];
    assert_eq!(controller["schedulerToken"], "********");
    assert_eq!(
        (&controller["oversubscriptionGracePeriod"], &controller["requeueIntervalRetry"]),
        (&json!("2m0s"), &json!("1m30s"))
    );
    assert_eq!(printed["featureGates"]["committedResourceTracking"], false, "read from the old key");
    assert_eq!((&printed["auth"]["mode"], &printed["projectID"]), (&json!("keystone"), &json!("p")));

    let mut again = tolerant(&printed).configuration;
    let mut first = full.configuration;
    for configuration in [&mut again, &mut first] {
        configuration.scheduler.token = None;
        configuration.reservation_controller.scheduler_token = None;
    }
    assert_eq!(again, first);
}

#[test]
fn every_key_that_there_is_is_shown() {
    let printed = Value::Object(tolerant(&full()).in_effect);
    let missing: Vec<_> = keys()
        .into_iter()
        .map(|key| key.path.replace("<group>", "g").replace("[]", ".0"))
        .filter(|path| printed.pointer(&format!("/{}", path.replace('.', "/"))).is_none())
        .collect();
    assert_eq!(missing, [""; 0], "{printed}");
}
