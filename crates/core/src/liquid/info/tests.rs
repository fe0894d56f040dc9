//! The form of the service info, its versions, and groups that must not vanish.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::resources::ResourceFlags;
use super::super::tests::{config, groups, time};
use super::*;
use crate::testing::amber;

fn session() -> ServiceInfo {
    let changed = SourceTimes { last_content_change: Some(time("2026-03-02T08:15:00Z")), ..SourceTimes::default() };
    ServiceInfo::after(None, build_resources(&groups(), &config()).unwrap(), changed)
}

fn resource(name: &str, unit: &str, handles_commitments: bool, attributes: &Value) -> Value {
    let mut info = json!({
        "displayName": name, "unit": unit, "topology": "az-separated", "hasCapacity": true,
        "needsResourceDemand": false, "hasQuota": true, "attributes": attributes,
    });
    if handles_commitments {
        info["handlesCommitments"] = json!(true);
    }
    info
}

#[test]
fn the_info_of_two_groups() {
    let gp = "(usable by: gp_v1_c8_m32, gp_v1_c4_m32, gp_v1_c2_m8)";
    let hana = "(usable by: hana_v3_c120_m1920, hana_v3_c60_m960, hana_v3_c30_m480)";
    let (variable, fixed) = (json!({"ramCoreRatioMin": 4, "ramCoreRatioMax": 8}), json!({"ramCoreRatio": 16}));
    let expected = json!({
        "version": 1_772_439_300, "displayName": "", "categories": null,
        "resources": {
            "hw_version_gp_v1_cores": resource(&format!("CPU cores {gp}"), "piece", true, &variable),
            "hw_version_gp_v1_instances": resource(&format!("instances {gp}"), "piece", false, &variable),
            "hw_version_gp_v1_ram": resource(&format!("GiB of RAM {gp}"), "GiB", true, &variable),
            "hw_version_hana_v3_cores": resource(&format!("CPU cores {hana}"), "piece", false, &fixed),
            "hw_version_hana_v3_instances": resource(&format!("instances {hana}"), "piece", false, &fixed),
            "hw_version_hana_v3_ram": resource(&format!("multiples of 480 GiB {hana}"), "480 GiB", true, &fixed),
        },
        "rates": null, "capacityMetricFamilies": null, "usageMetricFamilies": null,
        "quotaUpdateNeedsProjectMetadata": true, "commitmentHandlingNeedsProjectMetadata": true,
    });
    assert_eq!(serde_json::to_value(session()).unwrap(), expected);
}

#[test]
fn a_published_info_is_read_back_as_it_was() {
    let text = serde_json::to_string(&session()).unwrap();
    assert_eq!(serde_json::from_str::<ServiceInfo>(&text).unwrap(), session());
    assert_eq!(serde_json::to_string(&serde_json::from_str::<ServiceInfo>(&text).unwrap()).unwrap(), text);
}

#[test]
fn a_group_that_is_not_configured_is_announced_without_flags() {
    let resources = build_resources(&[amber()].into_iter().collect(), &ResourceConfig::default()).unwrap();
    let ram = &resources["hw_version_amber_ram"];
    assert_eq!((ram.has_capacity, ram.has_quota, ram.handles_commitments), (false, false, false));
    assert_eq!((resources.len(), ram.unit.as_str()), (3, "GiB"));
    assert!(build_resources(&FlavorGroups::default(), &config()).unwrap().is_empty());
}

#[test]
fn flavors_without_memory_are_named_last() {
    let mut group = amber();
    group.without_memory = vec![crate::flavor::Flavor { name: "amber_none".into(), ..group.flavors[0].clone() }];
    let resources = build_resources(&[group].into_iter().collect(), &ResourceConfig::default()).unwrap();
    let name = &resources["hw_version_amber_instances"].display_name;
    assert_eq!(name, "instances (usable by: amber_xl, amber_l, amber_s, amber_none)");
}

#[test]
fn ratios_are_rounded_to_gib_and_left_out_when_absent() {
    for (mib, gib) in [(16_383, 16), (4094, 4), (8188, 8), (1536, 2), (1535, 1), (511, 0), (u64::MAX, 1 << 54)] {
        assert_eq!(rounded_gib(mib), gib, "{mib}");
    }
    let mut group = amber();
    group.ratio_members = RatioMembers::default();
    let resources = build_resources(&[group].into_iter().collect(), &ResourceConfig::default()).unwrap();
    let json = serde_json::to_value(&resources["hw_version_amber_cores"]).unwrap();
    assert_eq!(json["attributes"], json!({}));
}

#[test]
fn a_unit_that_is_too_large_names_its_group() {
    let config = [("*".into(), GroupResources { ram_unit_gib: 1 << 34, ..GroupResources::default() })];
    let error = build_resources(&groups(), &config.into_iter().collect()).unwrap_err().to_string();
    assert!(
        error.starts_with("failed to create RAM unit for flavor group \"gp_v1\": a unit of 17179869184 GiB"),
        "{error}"
    );
}

#[test]
fn the_same_resources_keep_their_version() {
    let published = session();
    let later = SourceTimes { last_content_change: Some(time("2026-04-01T00:00:00Z")), ..SourceTimes::default() };
    assert_eq!(ServiceInfo::after(Some(&published), published.resources.clone(), later), published);
}

#[test]
fn other_resources_get_a_higher_version_than_before() {
    let (early, late) = (Some(time("2026-03-01T00:00:00Z")), Some(time("2026-04-01T00:00:00Z")));
    let published = session();
    let late_version = time("2026-04-01T00:00:00Z").as_second();
    for (last_content_change, configuration_changed, expected) in [
        (early, None, published.version + 1),
        (None, None, published.version + 1),
        (late, early, late_version),
        (early, late, late_version),
    ] {
        let times = SourceTimes { last_content_change, configuration_changed };
        assert_eq!(next_version(Some(&published), &ResourceInfos::new(), times), expected);
    }
}

#[test]
fn the_first_version_is_that_of_the_flavor_groups() {
    let changed = Some(time("2026-03-02T08:15:00Z"));
    let of = |last_content_change| SourceTimes { last_content_change, configuration_changed: None };
    assert_eq!(next_version(None, &ResourceInfos::new(), of(changed)), 1_772_439_300);
    assert_eq!(next_version(None, &ResourceInfos::new(), of(None)), -1, "no time is known");
}

#[test]
fn a_group_with_live_commitments_stays_as_it_was_published() {
    let published = session().resources;
    let fresh = || build_resources(&[amber()].into_iter().collect(), &ResourceConfig::default()).unwrap();
    let live = BTreeSet::from(["hana_v3".into(), "amber".into(), "never-published".into()]);
    let merged = merge_published(Some(&published), fresh(), &live);
    assert_eq!(merged.len(), 6, "gp_v1 is gone");
    assert_eq!(merged["hw_version_hana_v3_ram"], published["hw_version_hana_v3_ram"]);
    assert_eq!(merged["hw_version_amber_ram"], fresh()["hw_version_amber_ram"]);
    assert_eq!(merge_published(None, fresh(), &live), fresh());
}

#[test]
fn a_group_that_is_there_is_not_merged_with_what_was_published() {
    let flags = ResourceFlags { has_quota: true, ..ResourceFlags::default() };
    let config = |ram| [("*".into(), GroupResources { ram, ..GroupResources::default() })].into_iter().collect();
    let published = build_resources(&groups(), &config(flags)).unwrap();
    let fresh = build_resources(&groups(), &config(ResourceFlags::default())).unwrap();
    let live = BTreeSet::from(["hana_v3".into()]);
    assert_eq!(merge_published(Some(&published), fresh.clone(), &live), fresh);
}

proptest! {
    #[test]
    fn versions_never_decrease_and_differ_when_resources_differ(
        published in any::<i64>(),
        times in prop::collection::vec(prop::option::of(-1000_i64..4_000_000_000), 2),
        is_same in any::<bool>(),
    ) {
        let published = ServiceInfo::new(published, session().resources);
        let time = |second: Option<i64>| second.and_then(|second| Timestamp::from_second(second).ok());
        let times = SourceTimes { last_content_change: time(times[0]), configuration_changed: time(times[1]) };
        let resources = if is_same { published.resources.clone() } else { ResourceInfos::new() };
        let next = ServiceInfo::after(Some(&published), resources, times);
        prop_assert!(next.version >= published.version);
        prop_assert_eq!(next.version == published.version, is_same || published.version == i64::MAX);
    }
}
