//! The worked examples of the usage report, and what bad data becomes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::liquid::info::build_resources;
use crate::liquid::tests::{UUID, config, groups};
use crate::liquid::wire::MAX_ZONES;

const VERSION: i64 = 1_772_439_300;

fn info() -> ServiceInfo {
    ServiceInfo::new(VERSION, build_resources(&groups(), &config()).unwrap())
}

fn flavor(name: &str, vcpus: u32, memory_mib: u64, disk_gib: u64) -> Flavor {
    let extra_specs = [(VIDEO_RAM.to_owned(), "16".to_owned())].into();
    Flavor { name: name.into(), vcpus, memory_mib, disk_gib, extra_specs }
}

fn vm<'a>(id: &'a str, name: &'a str, flavor: &'a Flavor, zone: &str) -> ReportedVm<'a> {
    ReportedVm { id, name, status: "ACTIVE", os_type: "unknown", flavor, zone: zone.into(), commitment: None }
}

fn zones(all: &[&str]) -> BTreeSet<Zone> {
    all.iter().map(|zone| Zone::new(*zone)).collect()
}

fn quota(zone: &str, all: &[(&str, i64)]) -> (Zone, BTreeMap<String, i64>) {
    (zone.into(), all.iter().map(|(name, quota)| (format!("hw_version_{name}"), *quota)).collect())
}

fn report(zones: &BTreeSet<Zone>, vms: &[ReportedVm<'_>], quota: &QuotaByZone) -> Value {
    let facts = UsageFacts { info: &info(), groups: &groups(), zones, vms, quota };
    serde_json::to_value(build_report(&facts)).unwrap()
}

fn quota_of_the_project() -> QuotaByZone {
    let all = [
        quota(
            "eu-x-1a",
            &[
                ("gp_v1_cores", 64),
                ("gp_v1_instances", 20),
                ("gp_v1_ram", 256),
                ("hana_v3_cores", 180),
                ("hana_v3_instances", 6),
                ("hana_v3_ram", 2880),
            ],
        ),
        quota(
            "eu-x-1b",
            &[
                ("gp_v1_cores", 16),
                ("gp_v1_instances", 5),
                ("gp_v1_ram", 64),
                ("hana_v3_cores", 0),
                ("hana_v3_instances", 0),
                ("hana_v3_ram", 0),
            ],
        ),
    ];
    all.into()
}

#[test]
fn the_report_of_a_project_with_three_vms_and_one_commitment() {
    let (large, medium) = (flavor("hana_v3_c60_m960", 60, 983_024, 100), flavor("hana_v3_c30_m480", 30, 491_504, 100));
    let small = flavor("gp_v1_c4_m32", 4, 32_752, 64);
    let vms = [
        ReportedVm {
            commitment: Some(UUID.into()),
            os_type: "sles15_64Guest",
            ..vm("0d6a3f5e-1111-4a7b-8c9d-000000000001", "hdb-01", &large, "eu-x-1a")
        },
        vm("0d6a3f5e-1111-4a7b-8c9d-000000000002", "hdb-02", &medium, "eu-x-1a"),
        ReportedVm {
            os_type: "ubuntu64Guest",
            ..vm("0d6a3f5e-1111-4a7b-8c9d-000000000003", "app-01", &small, "eu-x-1a")
        },
    ];
    let quota = quota_of_the_project();
    let subresource = |vm: &ReportedVm<'_>| {
        let flavor = vm.flavor;
        json!({"id": vm.id, "name": vm.name, "attributes": {
            "commitment_id": vm.commitment,
            "flavor": {"disk_gib": flavor.disk_gib, "name": flavor.name, "ram_mib": flavor.memory_mib,
                "vcpu": flavor.vcpus, "video_ram_mib": 16},
            "os_type": vm.os_type, "status": "ACTIVE"}})
    };
    let plain = |a: [u64; 2], b: [u64; 2]| {
        json!({"forbidden": false, "perAZ": {
            "eu-x-1a": {"usage": a[0], "quota": a[1]}, "eu-x-1b": {"usage": b[0], "quota": b[1]}}})
    };
    let mut hana = plain([2, 6], [0, 0]);
    hana["perAZ"]["eu-x-1a"]["subresources"] = json!([subresource(&vms[0]), subresource(&vms[1])]);
    let mut gp = plain([1, 20], [0, 5]);
    gp["perAZ"]["eu-x-1a"]["subresources"] = json!([subresource(&vms[2])]);
    let expected = json!({"infoVersion": VERSION, "resources": {
        "hw_version_gp_v1_cores": plain([4, 64], [0, 16]),
        "hw_version_gp_v1_instances": gp,
        "hw_version_gp_v1_ram": plain([32, 256], [0, 64]),
        "hw_version_hana_v3_cores": plain([90, 180], [0, 0]),
        "hw_version_hana_v3_instances": hana,
        "hw_version_hana_v3_ram": plain([3, 6], [0, 0]),
    }});
    assert_eq!(report(&zones(&["eu-x-1a", "eu-x-1b"]), &vms, &quota), expected);
}

#[test]
fn vms_in_other_zones_are_reported_as_unknown_without_a_quota() {
    let small = flavor("gp_v1_c4_m32", 4, 32_752, 64);
    let vms = [vm("a", "", &small, "eu-x-9z"), vm("b", "", &small, "")];
    let reported = report(&zones(&["eu-x-1a"]), &vms, &QuotaByZone::new());
    let instances = &reported["resources"]["hw_version_gp_v1_instances"]["perAZ"];
    assert_eq!(instances["eu-x-1a"], json!({"usage": 0, "quota": -1}));
    assert_eq!(instances["unknown"]["usage"], 2);
    assert_eq!(instances["unknown"].get("quota"), None);
    assert_eq!(instances["unknown"]["subresources"][0].get("name"), None, "an empty name is omitted");
    let other_group = &reported["resources"]["hw_version_hana_v3_cores"]["perAZ"];
    assert_eq!(other_group.get("unknown"), None, "only where it has VMs");
}

#[test]
fn a_quota_that_is_not_set_is_infinite_in_every_unit() {
    let reported = report(&zones(&["eu-x-1a"]), &[], &QuotaByZone::new());
    for (name, resource) in reported["resources"].as_object().unwrap() {
        assert_eq!(resource["perAZ"], json!({"eu-x-1a": {"usage": 0, "quota": -1}}), "{name}");
    }
}

#[test]
fn a_request_without_zones_gets_every_resource_without_zones() {
    let reported = report(&zones(&[]), &[], &QuotaByZone::new());
    assert_eq!(reported["resources"]["hw_version_gp_v1_ram"], json!({"forbidden": false, "perAZ": {}}));
}

#[test]
fn vms_of_flavors_without_a_group_are_left_out() {
    let other = flavor("m1.small", 1, 2048, 0);
    let reported = report(&zones(&["eu-x-1a"]), &[vm("a", "a", &other, "eu-x-1a")], &QuotaByZone::new());
    assert!(!reported.to_string().contains("m1.small"));
}

#[test]
fn a_group_that_has_left_the_flavors_is_reported_while_it_is_published() {
    let facts = UsageFacts {
        info: &info(),
        groups: &FlavorGroups::default(),
        zones: &zones(&["az"]),
        vms: &[],
        quota: &QuotaByZone::new(),
    };
    let reported = serde_json::to_value(build_report(&facts)).unwrap();
    assert_eq!(reported["resources"].as_object().unwrap().len(), 6);
}

#[test]
fn the_memory_of_the_video_card_is_reported_only_if_it_is_a_number() {
    let small = flavor("gp_v1_c4_m32", 4, 32_752, 64);
    for (text, expected) in
        [("16", json!(16)), ("+16", Value::Null), ("-1", Value::Null), ("16.5", Value::Null), ("", Value::Null)]
    {
        let odd = Flavor { extra_specs: [(VIDEO_RAM.to_owned(), text.to_owned())].into(), ..small.clone() };
        let reported = report(&zones(&["az"]), &[vm("a", "a", &odd, "az")], &QuotaByZone::new());
        let first = &reported["resources"]["hw_version_gp_v1_instances"]["perAZ"]["az"]["subresources"][0];
        assert_eq!(first["attributes"]["flavor"]["video_ram_mib"], expected, "{text:?}");
    }
}

#[test]
fn requests_are_read_leniently() {
    let read = |body: &str| UsageRequest::decode(body.as_bytes()).map(|request| request.zones);
    assert_eq!(
        read(r#"{"allAZs": ["b", "a", "b"], "projectMetadata": {}, "serializedState": 1} rest"#),
        Ok(zones(&["a", "b"]))
    );
    for empty in ["{}", r#"{"allAZs": null}"#, "null"] {
        assert_eq!(read(empty), Ok(zones(&[])), "{empty}");
    }
    for (body, text) in
        [("", "EOF"), ("[]", "expected an object"), (r#"{"allAZs": 1}"#, "allAZs"), (r#"{"allAZs": [1]}"#, "allAZs[0]")]
    {
        let error = read(body).unwrap_err().to_string();
        assert!(error.contains(text), "{body}: {error}");
    }
}

#[test]
fn the_number_of_zones_is_bounded() {
    let decode = |zones: usize| {
        let zones: Vec<String> = (0..zones).map(|number| format!("z-{number}")).collect();
        UsageRequest::decode(json!({ "allAZs": zones }).to_string().as_bytes())
    };
    assert_eq!(decode(MAX_ZONES).unwrap().zones.len(), MAX_ZONES);
    let error = decode(MAX_ZONES + 1).unwrap_err().to_string();
    assert!(error.starts_with("allAZs: more than 100 availability zones"), "{error}");
}

proptest! {
    #[test]
    fn every_vm_of_a_known_flavor_is_counted_once(placed in proptest::collection::vec((0_usize..3, 0_usize..4), 0..40)) {
        let flavors = [flavor("gp_v1_c4_m32", 4, 32_752, 1), flavor("hana_v3_c30_m480", 30, 491_504, 1), flavor("x", 1, 1, 1)];
        let ids: Vec<String> = (0..placed.len()).map(|number| format!("{number:03}")).collect();
        let names = ["az-0", "az-1", "az-2", ""];
        let vms: Vec<_> =
            placed.iter().zip(&ids).map(|((which, zone), id)| vm(id, id, &flavors[*which], names[*zone])).collect();
        let reported = report(&zones(&["az-0", "az-1"]), &vms, &QuotaByZone::new());
        let sum = |resource: &str| -> u64 {
            let zones = reported["resources"][resource]["perAZ"].as_object().unwrap();
            zones.values().map(|zone| zone["usage"].as_u64().unwrap()).sum()
        };
        let known = placed.iter().filter(|(which, _)| *which < 2).count() as u64;
        prop_assert_eq!(sum("hw_version_gp_v1_instances") + sum("hw_version_hana_v3_instances"), known);
        let ids = reported.to_string().matches("\"id\":").count() as u64;
        prop_assert_eq!(ids, known);
    }
}
