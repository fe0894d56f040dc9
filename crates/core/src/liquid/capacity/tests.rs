//! The worked examples of the capacity report, and what bad data becomes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::liquid::info::build_resources;
use crate::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use crate::liquid::tests::{config, groups};
use crate::liquid::wire::MAX_ZONES;

const VERSION: i64 = 1_772_439_300;

fn info() -> ServiceInfo {
    ServiceInfo::new(VERSION, build_resources(&groups(), &config()).unwrap())
}

fn size(mib: u64, cores: i64) -> Resources {
    Resources::new(Bytes::from_mib(mib), Cores::new(cores))
}

fn occupied(instances: u64, mib: u64, cores: i64, units: u64) -> Occupied {
    Occupied { instances, resources: size(mib, cores), units }
}

fn free(running: Occupied, free_slots: u64, mib: u64, cores: i64) -> PlaceCapacity {
    PlaceCapacity { running, reserved: Occupied::default(), free_slots, free: size(mib, cores) }
}

/// Ten small VMs and two double ones of a fixed ratio, and eight free slots.
fn hana() -> PlaceCapacity {
    free(occupied(12, 6_881_088, 420, 14), 8, 8 * 491_504, 240)
}

fn zones(names: &[&str]) -> BTreeSet<Zone> {
    names.iter().map(|name| Zone::new(*name)).collect()
}

type Places = BTreeMap<(GroupName, Zone), PlaceCapacity>;

fn report_of(
    info: &ServiceInfo,
    groups: &FlavorGroups,
    asked: &[&str],
    places: &[(&str, &str, PlaceCapacity)],
) -> Value {
    let places: Places =
        places.iter().map(|(group, zone, place)| (((*group).into(), (*zone).into()), *place)).collect();
    let zones = zones(asked);
    serde_json::to_value(build_report(&CapacityFacts { info, groups, zones: &zones, places: &places })).unwrap()
}

fn report(asked: &[&str], places: &[(&str, &str, PlaceCapacity)]) -> Value {
    report_of(&info(), &groups(), asked, places)
}

/// Capacity and usage of RAM, cores and instances of a group in a zone.
fn numbers(report: &Value, group: &str, zone: &str) -> [(u64, Option<u64>); 3] {
    ["ram", "cores", "instances"].map(|kind| {
        let found = &report["resources"][format!("hw_version_{group}_{kind}")]["perAZ"][zone];
        (found["capacity"].as_u64().unwrap(), found.get("usage").map(|usage| usage.as_u64().unwrap()))
    })
}

#[test]
fn the_report_of_two_groups_in_two_zones() {
    let gp = free(occupied(100, 1_800_640, 320, 1760), 110, 899_360, 500);
    let gp_b = free(occupied(10, 327_520, 40, 320), 40, 327_040, 160);
    let places = [("hana_v3", "eu-x-1a", hana()), ("gp_v1", "eu-x-1a", gp), ("gp_v1", "eu-x-1b", gp_b)];
    let expected = json!({
        "infoVersion": VERSION,
        "resources": {
            "hw_version_gp_v1_cores": { "perAZ":
                { "eu-x-1a": { "capacity": 820, "usage": 320 }, "eu-x-1b": { "capacity": 200, "usage": 40 } } },
            "hw_version_gp_v1_instances": { "perAZ":
                { "eu-x-1a": { "capacity": 210, "usage": 100 }, "eu-x-1b": { "capacity": 50, "usage": 10 } } },
            "hw_version_gp_v1_ram": { "perAZ":
                { "eu-x-1a": { "capacity": 2640, "usage": 1760 }, "eu-x-1b": { "capacity": 640, "usage": 320 } } },
            "hw_version_hana_v3_cores": { "perAZ":
                { "eu-x-1a": { "capacity": 660, "usage": 420 }, "eu-x-1b": { "capacity": 0 } } },
            "hw_version_hana_v3_instances": { "perAZ":
                { "eu-x-1a": { "capacity": 20, "usage": 12 }, "eu-x-1b": { "capacity": 0 } } },
            "hw_version_hana_v3_ram": { "perAZ":
                { "eu-x-1a": { "capacity": 22, "usage": 14 }, "eu-x-1b": { "capacity": 0 } } },
        },
    });
    assert_eq!(report(&["eu-x-1a", "eu-x-1b"], &places), expected);
}

#[test]
fn memory_for_video_counts_as_declared() {
    let raw = json!({"features": [{
        "name": "2101", "ramCoreRatioMin": 1, "ramCoreRatioMax": 2,
        "flavors": [{"name": "s", "vcpus": 2, "memoryMB": 8176}],
        "smallestFlavor": {"name": "s", "vcpus": 2, "memoryMB": 8176},
    }]});
    let groups = FlavorGroups::parse(&raw).unwrap().groups;
    let capacity = ResourceFlags { has_capacity: true, ..ResourceFlags::default() };
    let all = GroupResources { ram: capacity, cores: capacity, instances: capacity, ram_unit_gib: 1 };
    let config: ResourceConfig = [("2101".into(), all)].into_iter().collect();
    let info = ServiceInfo::new(VERSION, build_resources(&groups, &config).unwrap());
    // VMs of 8176, 16368 and 32752 MiB.
    let place = free(occupied(3, 57_296, 14, 56), 6, 6 * 8176, 12);
    let report = report_of(&info, &groups, &["az-1", "az-2"], &[("2101", "az-1", place)]);
    assert_eq!(numbers(&report, "2101", "az-1"), [(104, Some(56)), (26, Some(14)), (9, Some(3))]);
    assert_eq!(numbers(&report, "2101", "az-2"), [(0, None); 3], "no object");
}

#[test]
fn free_slots_of_a_fixed_ratio_count_in_whole_units() {
    let small_vms = free(occupied(5, 5 * 491_504, 150, 5), 4, 4 * 491_504, 120);
    let found = numbers(&report(&["az"], &[("hana_v3", "az", small_vms)]), "hana_v3", "az");
    assert_eq!(found, [(9, Some(5)), (270, Some(150)), (9, Some(5))]);
    let found = numbers(&report(&["az"], &[("hana_v3", "az", hana())]), "hana_v3", "az");
    assert_eq!(found, [(22, Some(14)), (660, Some(420)), (20, Some(12))]);
}

#[test]
fn units_of_several_gib_are_rounded_down() {
    let mut info = info();
    info.resources.get_mut("hw_version_gp_v1_ram").unwrap().unit = "4 GiB".to_owned();
    let place = free(occupied(5, 5 * 4080, 5, 5), 7, 7 * 4080, 7);
    let found = report_of(&info, &groups(), &["az"], &[("gp_v1", "az", place)]);
    assert_eq!(numbers(&found, "gp_v1", "az")[0], (12, Some(5)));
    let odd = free(Occupied::default(), 3, 3 * 2048, 3);
    let found = report_of(&info, &groups(), &["az"], &[("gp_v1", "az", odd)]);
    assert_eq!(numbers(&found, "gp_v1", "az")[0], (1, Some(0)), "6 GiB");
}

#[test]
fn what_slots_hold_is_capacity_and_no_usage() {
    let reserved = occupied(2, 2 * 491_504, 60, 2);
    let sold = PlaceCapacity { reserved, free_slots: 6, free: size(6 * 491_504, 180), ..hana() };
    let before = report(&["az"], &[("hana_v3", "az", hana())]);
    assert_eq!(report(&["az"], &[("hana_v3", "az", sold)]), before, "a sale of two slots changes nothing");
}

#[test]
fn only_published_resources_with_capacity_are_reported() {
    let mut info = info();
    for (name, resource) in &mut info.resources {
        resource.has_capacity = name == "hw_version_gp_v1_cores";
    }
    let only_cores = report_of(&info, &groups(), &["az"], &[("gp_v1", "az", hana())]);
    assert_eq!(
        only_cores["resources"],
        json!({"hw_version_gp_v1_cores": {"perAZ": {"az": {"capacity": 660, "usage": 420}}}})
    );
    assert_eq!(groups_with_capacity(&info), ["gp_v1".into()].into());
    for resource in info.resources.values_mut() {
        resource.has_capacity = false;
    }
    assert_eq!(report_of(&info, &groups(), &["az"], &[]), json!({"infoVersion": VERSION}));
}

#[test]
fn a_group_that_is_kept_for_its_commitments_is_reported_like_one_without_a_ratio() {
    let found = report_of(
        &info(),
        &FlavorGroups::default(),
        &["az"],
        &[("gp_v1", "az", free(occupied(1, 8176, 2, 8), 1, 8176, 2))],
    );
    assert_eq!(numbers(&found, "gp_v1", "az"), [(16, Some(8)), (4, Some(2)), (2, Some(1))]);
}

#[test]
fn the_lines_of_a_report_name_resource_and_zone() {
    let (info, groups, zones) = (info(), groups(), zones(&["a", "b"]));
    let places = [(("gp_v1".into(), "b".into()), hana())].into();
    let report = build_report(&CapacityFacts { info: &info, groups: &groups, zones: &zones, places: &places });
    let lines: Vec<_> = report.capacities().take(2).map(|line| (line.resource, line.zone, line.capacity)).collect();
    assert_eq!(lines, [("hw_version_gp_v1_cores", "a", 0), ("hw_version_gp_v1_cores", "b", 660)]);
}

fn decoded(body: &str) -> Result<Vec<String>, String> {
    let request = CapacityRequest::decode(body.as_bytes()).map_err(|error| error.to_string())?;
    Ok(request.zones.iter().map(ToString::to_string).collect())
}

#[test]
fn an_empty_body_is_an_empty_request_and_another_one_must_decode() {
    for empty in ["", " \n", "{}", "null", r#"{"allAZs": null, "demandByResource": {"x": 1}}"#] {
        assert_eq!(decoded(empty), Ok(Vec::new()), "{empty:?}");
    }
    assert_eq!(decoded(r#"{"allAZs": ["b", "a", "b"]} rest"#), Ok(vec!["a".to_owned(), "b".to_owned()]), "once each");
    for wrong in ["{", "[]", "7", r#"{"allAZs": "az"}"#, r#"{"allAZs": [1]}"#] {
        let error = decoded(wrong).unwrap_err();
        assert!(!error.is_empty() && !error.contains('\n'), "{wrong}: {error}");
    }
}

#[test]
fn the_number_of_zones_is_bounded() {
    let body = |zones: usize| json!({ "allAZs": (0..2 * zones).map(|n| format!("z-{}", n / 2)).collect::<Vec<_>>() });
    assert_eq!(decoded(&body(MAX_ZONES).to_string()).unwrap().len(), MAX_ZONES, "each of them twice");
    let error = decoded(&body(MAX_ZONES + 1).to_string()).unwrap_err();
    assert!(error.starts_with("allAZs: more than 100 availability zones"), "{error}");
}

fn any_occupied() -> impl Strategy<Value = Occupied> {
    (any::<u64>(), any::<i64>(), any::<i64>(), any::<u64>()).prop_map(|(instances, memory, cores, units)| Occupied {
        instances,
        resources: Resources::new(Bytes::new(memory), Cores::new(cores)),
        units,
    })
}

proptest! {
    #[test]
    fn no_object_makes_a_report_panic_and_the_capacity_is_at_least_the_usage(
        running in any_occupied(), reserved in any_occupied(), free_slots in any::<u64>(), memory in any::<i64>(), cores in any::<i64>(),
    ) {
        let free = Resources::new(Bytes::new(memory), Cores::new(cores));
        let place = PlaceCapacity { running, reserved, free_slots, free };
        let report = report(&["az"], &[("gp_v1", "az", place), ("hana_v3", "az", place)]);
        for group in ["gp_v1", "hana_v3"] {
            for (capacity, usage) in numbers(&report, group, "az") {
                prop_assert!(usage.is_some_and(|usage| usage <= capacity));
            }
        }
    }
}
