//! Pushes of quota: bodies that are read or refused, and what is stored.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{ANALYTICS, config};
use super::*;

const DOMAIN: &str = "5f1e0d00aa5e4d0f8a6b2c3d4e5f6000";

fn decode(body: &Value) -> QuotaRequest {
    QuotaRequest::decode(body.to_string().as_bytes()).unwrap()
}

/// A request for these values by resource and zone, with the prefix of names left out.
fn body(values: &[(&str, &str, u64)]) -> Value {
    let mut resources = json!({});
    for (resource, zone, quota) in values {
        resources[format!("hw_version_{resource}")]["perAZ"][*zone]["quota"] = json!(quota);
    }
    json!({ "resources": resources })
}

/// The configured units: 480 GiB for `hana_v3`, else what is given.
fn push_in(body: &Value, other: u64, served: &[&str]) -> Result<QuotaPush, String> {
    let config = config();
    let unit = |group: &GroupName| match group.as_str() {
        "hana_v3" | "gp_v1" => config.of(group).ram_unit().ok(),
        _ => RamUnit::new(other).ok(),
    };
    let served = served.iter().map(|zone| Zone::from(*zone)).collect();
    let checked = decode(body).check("p1".into());
    checked.and_then(|checked| checked.into_push(unit, &served)).map_err(|error| error.to_string())
}

fn push(body: &Value) -> Result<QuotaPush, String> {
    push_in(body, 1, &[])
}

/// The stored values, with the prefix of names left out.
fn stored(push: &QuotaPush) -> Value {
    let short = |name: &String| name.strip_prefix("hw_version_").unwrap_or(name).to_owned();
    let of_zone = |quota: &BTreeMap<String, i64>| -> BTreeMap<String, i64> {
        quota.iter().map(|(name, value)| (short(name), *value)).collect()
    };
    json!(push.zones.iter().map(|(zone, quota)| (zone.to_string(), of_zone(quota))).collect::<BTreeMap<_, _>>())
}

fn first() -> Value {
    body(&[("hana_v3_ram", "1a", 6), ("hana_v3_ram", "1b", 0), ("gp_v1_ram", "1a", 256), ("hana_v3_cores", "1a", 180)])
}

#[test]
fn memory_is_stored_in_gib_and_other_resources_as_they_are() {
    let expected = json!({
        "1a": { "hana_v3_ram": 2880, "gp_v1_ram": 256, "hana_v3_cores": 180 }, "1b": { "hana_v3_ram": 0 }
    });
    assert_eq!(stored(&push(&first()).unwrap()), expected);
    for (unit, values, expected) in [
        (1, vec![("g_ram", "z", 60)], json!({ "z": { "g_ram": 60 } })),
        (16, vec![("g_ram", "z", 5)], json!({ "z": { "g_ram": 80 } })),
        (
            480,
            vec![("g_ram", "z", 3), ("g_cores", "z", 96), ("g_instances", "z", 3)],
            json!({ "z": { "g_ram": 1440, "g_cores": 96, "g_instances": 3 } }),
        ),
    ] {
        assert_eq!(stored(&push_in(&body(&values), unit, &[]).unwrap()), expected, "a unit of {unit} GiB");
    }
    assert_eq!(RamUnit::new(16).unwrap().units(80), 5, "what the usage report says later");
}

#[test]
fn names_of_other_services_are_stored_as_they_are() {
    let body = json!({ "resources": { "ram": { "perAZ": { "z": { "quota": 5 } } }, "hw_version__ram": { "perAZ": {
        "z": { "quota": 7 } } } } });
    let push = push_in(&body, 16, &[]).unwrap();
    assert_eq!(push.zones["z"], BTreeMap::from([("hw_version__ram".to_owned(), 7), ("ram".to_owned(), 5)]));
}

#[test]
fn only_served_zones_are_stored() {
    let body = body(&[("hana_v3_ram", "eu-x-1a", 6), ("hana_v3_ram", "eu-x-1b", 1)]);
    assert_eq!(stored(&push_in(&body, 1, &["eu-x-1a"]).unwrap()), json!({ "eu-x-1a": { "hana_v3_ram": 2880 } }));
    assert_eq!(stored(&push_in(&body, 1, &["other"]).unwrap()), json!({}));
}

#[test]
fn the_sum_over_zones_does_not_count() {
    let body = json!({
        "resources": {
            "hw_version_2101_ram": { "quota": 12, "perAZ": { "az-1": { "quota": 8 }, "az-2": { "quota": 4 } } },
            "hw_version_2101_cores": { "quota": 40, "perAZ": { "az-1": { "quota": 40 } } },
            "hw_version_2101_instances": { "quota": 7 },
        },
        "projectMetadata": { "uuid": "p1", "name": "prod", "domain": { "uuid": "d-1", "name": "corp" } },
    });
    let push = push(&body).unwrap();
    let expected = json!({ "az-1": { "2101_ram": 8, "2101_cores": 40 }, "az-2": { "2101_ram": 4 } });
    assert_eq!(stored(&push), expected);
    let zone = push.zone_quota(&"az-2".into(), None);
    let quota = BTreeMap::from([("hw_version_2101_ram".to_owned(), 4)]);
    let (project_name, domain_name) = ("prod".to_owned(), "corp".to_owned());
    assert_eq!(zone, ZoneQuota { project_name, domain: "d-1".into(), domain_name, quota });
}

#[test]
fn the_push_of_the_session_is_stored() {
    let of =
        |a: u64, b: u64| json!({ "quota": a + b, "perAZ": { "eu-x-1a": { "quota": a }, "eu-x-1b": { "quota": b } } });
    let body = json!({
        "resources": {
            "hw_version_gp_v1_cores": of(64, 16), "hw_version_gp_v1_instances": of(20, 5),
            "hw_version_gp_v1_ram": of(256, 64), "hw_version_hana_v3_cores": of(180, 0),
            "hw_version_hana_v3_instances": of(6, 0), "hw_version_hana_v3_ram": of(6, 0),
        },
        "projectMetadata": { "uuid": ANALYTICS, "name": "analytics-prod", "domain": { "uuid": DOMAIN, "name": "acme" } },
    });
    let config = config();
    let checked = decode(&body).check(ANALYTICS.into()).unwrap();
    let push = checked.into_push(|group| config.of(group).ram_unit().ok(), &BTreeSet::new()).unwrap();
    let expected = json!({
        "eu-x-1a": { "gp_v1_cores": 64, "gp_v1_instances": 20, "gp_v1_ram": 256,
            "hana_v3_cores": 180, "hana_v3_instances": 6, "hana_v3_ram": 2880 },
        "eu-x-1b": { "gp_v1_cores": 16, "gp_v1_instances": 5, "gp_v1_ram": 64,
            "hana_v3_cores": 0, "hana_v3_instances": 0, "hana_v3_ram": 0 },
    });
    assert_eq!(stored(&push), expected);
    let zone = push.zone_quota(&"eu-x-1b".into(), None);
    assert_eq!((&*zone.project_name, zone.domain.as_str(), &*zone.domain_name), ("analytics-prod", DOMAIN, "acme"));
}

#[test]
fn an_update_replaces_the_quota_and_keeps_what_is_not_said() {
    let mut body = body(&[("hana_v3_ram", "1a", 4)]);
    let former = ZoneQuota {
        project_name: "prod".to_owned(),
        domain: "d-1".into(),
        domain_name: "corp".to_owned(),
        quota: push(&first()).unwrap().zones["1a"].clone(),
    };
    let quota = BTreeMap::from([("hw_version_hana_v3_ram".to_owned(), 1920)]);
    let updated = push(&body).unwrap().zone_quota(&"1a".into(), Some(&former));
    assert_eq!(updated, ZoneQuota { quota: quota.clone(), ..former.clone() });
    body["projectMetadata"] = json!({ "name": "renamed", "domain": { "uuid": "d-2" } });
    let renamed = push(&body).unwrap().zone_quota(&"1a".into(), Some(&former));
    let expected = ZoneQuota { project_name: "renamed".to_owned(), domain: "d-2".into(), quota, ..former };
    assert_eq!(renamed, expected);
    assert_eq!(push(&body).unwrap().zone_quota(&"1a".into(), Some(&renamed)), renamed, "once more");
}

#[test]
fn a_request_without_resources_is_refused() {
    for body in [json!({}), json!(null), json!({ "resources": {} }), json!({ "resources": null })] {
        assert_eq!(push(&body), Err("quota request contains no resources".to_owned()), "{body}");
    }
    let without_zones = json!({ "resources": { "hw_version_a_ram": null, "hw_version_b_ram": { "perAZ": null } } });
    assert_eq!(stored(&push(&without_zones).unwrap()), json!({}));
}

#[test]
fn the_project_of_the_metadata_is_that_of_the_path() {
    let mut body = first();
    body["projectMetadata"] = json!({ "uuid": "p2" });
    assert_eq!(push(&body), Err("Project UUID mismatch: URL has \"p1\" but metadata has \"p2\"".to_owned()));
    body["resources"] = json!({});
    assert!(push(&body).unwrap_err().starts_with("Project UUID mismatch"), "it is checked first");
    body = first();
    body["projectMetadata"] = json!({ "uuid": "", "name": "n" });
    assert!(push(&body).is_ok());
}

#[test]
fn zones_that_are_sums_are_refused() {
    for zone in ["any", "unknown", "total", ""] {
        let body = body(&[("a_ram", "1a", 1), ("b_cores", zone, 0)]);
        let text = format!(
            "Quota value for resource \"hw_version_b_cores\" is for AZ \"{zone}\", which is not a real availability zone"
        );
        assert_eq!(push_in(&body, 1, &["1a"]), Err(text));
    }
}

#[test]
fn the_number_of_zones_is_bounded() {
    let names: Vec<String> = (0..=MAX_ZONES).map(|number| format!("z-{number}")).collect();
    let values: Vec<_> = names.iter().map(|zone| ("a_ram", zone.as_str(), 1)).collect();
    assert_eq!(push(&body(&values)), Err("quota request has more than 100 availability zones".to_owned()));
    assert_eq!(push(&body(&values[1..])).unwrap().zones.len(), MAX_ZONES);
}

#[test]
fn values_beyond_64_bits_are_refused_before_and_after_the_conversion() {
    const MOST: u64 = i64::MAX.unsigned_abs();
    let text = |resource| format!("Quota value for resource \"hw_version_{resource}\" in AZ \"1a\" exceeds int64 max");
    for (resource, value) in [
        ("hana_v3_ram", 1 << 63),
        ("hana_v3_ram", MOST / 480 + 1),
        ("hana_v3_ram", u64::MAX),
        ("gp_v1_ram", MOST + 1),
        ("gp_v1_cores", MOST + 1),
    ] {
        let body = body(&[(resource, "1a", value)]);
        assert_eq!(push(&body), Err(text(resource)), "{value}");
        assert_eq!(push_in(&body, 1, &["1b"]), Err(text(resource)), "also in zones that are not served");
    }
    for (resource, value) in [("hana_v3_ram", MOST / 480), ("gp_v1_ram", MOST), ("gp_v1_cores", MOST)] {
        assert!(push(&body(&[(resource, "1a", value)])).is_ok(), "{resource} {value}");
    }
}

#[test]
fn a_body_that_does_not_decode_names_the_member() {
    let with = |value: Value| json!({ "resources": { "r": { "perAZ": { "z": { "quota": value } } } } });
    for (body, reason) in [
        (with(json!(-1)), "resources.r.perAZ.z.quota: invalid value: integer `-1`"),
        (with(json!(1.5)), "floating point `1.5`"),
        (with(json!("1")), "string \"1\""),
        (json!({ "resources": { "r": { "quota": -1 } } }), "resources.r.quota: invalid value: integer `-1`"),
        (json!({ "resources": [] }), "resources: invalid type: sequence"),
        (json!({ "projectMetadata": { "name": 1 }, "resources": {} }), "projectMetadata.name"),
        (json!([]), "expected an object"),
    ] {
        let text = QuotaRequest::decode(body.to_string().as_bytes()).unwrap_err().to_string();
        assert!(text.contains(reason), "{body}: {text}");
    }
    assert!(QuotaRequest::decode(b"").unwrap_err().to_string().contains("EOF"));
    assert_eq!(QuotaRequest::decode(br#"{"other": [1]} trailing"#), Ok(QuotaRequest::default()));
}

#[test]
fn nothing_is_left_over_while_a_zone_has_failed() {
    let outcomes = |b: ZoneOutcome<&'static str>| -> BTreeMap<Zone, ZoneOutcome<&'static str>> {
        [("a", ZoneOutcome::Stored), ("b", b), ("c", ZoneOutcome::NotServed)]
            .map(|(zone, one)| (zone.into(), one))
            .into()
    };
    let stored = StoredZones::of(outcomes(ZoneOutcome::Stored)).unwrap();
    assert_eq!(["a", "b", "c", "d"].map(|zone| stored.leaves_over(zone)), [false, false, true, true]);
    assert_eq!(StoredZones::of(outcomes(ZoneOutcome::Failed("why"))), Err(vec![("b".into(), "why")]));
}

proptest! {
    /// Everything that is stored is reported as it was sent.
    #[test]
    fn what_is_stored_is_reported_as_it_was_sent(gib in 1..2000_u64, value in any::<u64>()) {
        let unit = RamUnit::new(gib).unwrap();
        let sent = body(&[("a_ram", "z", value), ("a_cores", "z", value)]);
        let checked = decode(&sent).check("p".into()).unwrap();
        match checked.into_push(|_| Some(unit), &BTreeSet::new()) {
            Ok(push) => {
                let quota = &push.zones["z"];
                prop_assert_eq!(u64::try_from(unit.units(quota["hw_version_a_ram"])), Ok(value));
                prop_assert_eq!(u64::try_from(quota["hw_version_a_cores"]), Ok(value));
            }
            Err(_) => prop_assert!(u128::from(value) * u128::from(gib) > i64::MAX.unsigned_abs().into()),
        }
    }

    #[test]
    fn any_body_is_read_without_panic(body in ".{0,60}") {
        let _ = QuotaRequest::decode(body.as_bytes());
    }
}
