//! Usage of small projects, and its texts.

use super::*;
use crate::flavor::{FlavorGroup, Ratio, RatioMembers};

const RAM: &str = "hw_version_2101_ram";

fn vm(zone: &str, group: Option<&str>, memory_mib: u64, vcpus: u32) -> ProjectVm {
    ProjectVm {
        id: "vm".into(),
        created: None,
        memory_mib,
        vcpus,
        zone: zone.into(),
        group: group.map(GroupName::from),
        is_held: false,
    }
}

fn committed(declared_gib: u64) -> CommittedUsage {
    CommittedUsage {
        zone: "az-1".into(),
        group: "2101".into(),
        resource: ResourceType::Memory,
        state: State::Confirmed,
        declared_gib,
    }
}

fn groups(ratio: Ratio) -> FlavorGroups {
    let group = |name: &str| FlavorGroup {
        name: name.into(),
        flavors: Vec::new(),
        without_memory: Vec::new(),
        ratio,
        ratio_members: RatioMembers::default(),
    };
    ["2101", "other"].map(group).into_iter().collect()
}

fn usage_in(unit: u64, ratio: Ratio, vms: &[ProjectVm], commitments: &[CommittedUsage]) -> ProjectUsage {
    let groups = groups(ratio);
    let states = &[State::Confirmed, State::Guaranteed];
    let facts = QuotaFacts { vms, commitments, states, groups: &groups };
    usage(&facts, |_| RamUnit::new(unit).unwrap())
}

/// 16, 32 and 8 GiB with 4, 8 and 2 cores.
fn three() -> Vec<ProjectVm> {
    [(16_368, 4), (32_752, 8), (8176, 2)].map(|(mib, vcpus)| vm("az-1", Some("2101"), mib, vcpus)).to_vec()
}

fn of_three(commitments: &[CommittedUsage]) -> ZoneUsage {
    usage_in(1, Ratio::None, &three(), commitments).remove("az-1").unwrap()
}

/// RAM, cores and instances.
fn amounts(values: &ByResource) -> [i64; 3] {
    ["ram", "cores", "instances"].map(|kind| values[&format!("hw_version_2101_{kind}")])
}

#[test]
fn a_commitment_pays_for_the_memory_of_its_vms_only() {
    // It has the VMs of 32 and 8 GiB.
    let zone = of_three(&[committed(40)]);
    assert_eq!(amounts(&zone.total(&ByResource::new())), [56, 14, 3], "rounded per VM as it is declared");
    assert_eq!(amounts(&zone.committed()), [40, 0, 0]);
    assert_eq!(amounts(&zone.payg(&ByResource::new())), [16, 14, 3]);
}

#[test]
fn a_commitment_that_does_not_count_pays_for_nothing() {
    let none = of_three(&[]);
    for (what, one) in [
        ("pending", CommittedUsage { state: State::Pending, ..committed(40) }),
        ("cores", CommittedUsage { resource: ResourceType::Cores, ..committed(40) }),
        ("another group", CommittedUsage { group: "other".into(), ..committed(40) }),
        ("another zone", CommittedUsage { zone: "az-2".into(), ..committed(40) }),
        ("unused", committed(0)),
    ] {
        assert_eq!(of_three(&[one]), none, "{what}");
    }
    let guaranteed = CommittedUsage { state: State::Guaranteed, ..committed(30) };
    assert_eq!(of_three(&[guaranteed, committed(10)]), of_three(&[committed(40)]), "they add up");
}

#[test]
fn more_committed_than_used_leaves_nothing_to_pay() {
    for gib in [56, 60, u64::MAX] {
        assert_eq!(amounts(&of_three(&[committed(gib), committed(gib)]).payg(&ByResource::new())), [0, 14, 3], "{gib}");
    }
}

#[test]
fn vms_count_in_their_zone_and_group() {
    let mut vms = three();
    vms.extend([vm("az-2", Some("2101"), 1007, 1), vm("az-1", Some("other"), 1008, 2), vm("az-1", None, 1 << 20, 64)]);
    vms.push(vm("", Some("2101"), 0, 1));
    let project = usage_in(1, Ratio::None, &vms, &[committed(40)]);
    let all: Vec<_> =
        project.iter().map(|(zone, usage)| (zone.as_str(), summary(&usage.total(&ByResource::new())))).collect();
    let expected =
        [("", "2101: c=1 i=1 r=0"), ("az-1", "2101: c=14 i=3 r=56; other: c=2 i=1 r=1"), ("az-2", "2101: c=1 i=1 r=0")];
    assert_eq!(all, expected.map(|(zone, text)| (zone, text.to_owned())));
    assert!(usage_in(1, Ratio::None, &[], &[committed(40)]).is_empty());
}

#[test]
fn what_has_a_quota_and_is_not_used_is_zero() {
    let quota = ByResource::from([(RAM.to_owned(), 80), ("hw_version_b_cores".to_owned(), 5), ("ram".to_owned(), 1)]);
    let zone = of_three(&[committed(60)]);
    for values in [zone.total(&quota), zone.payg(&quota)] {
        assert_eq!((values["hw_version_b_cores"], values["ram"], values.len()), (0, 0, 5));
    }
    assert_eq!((zone.total(&quota)[RAM], zone.payg(&quota)[RAM]), (56, 0));
    let unused = ZoneUsage::default();
    assert_eq!(unused.total(&quota), quota.keys().map(|name| (name.clone(), 0)).collect());
}

#[test]
fn a_summary_has_one_part_for_each_group_by_name() {
    let values =
        |all: &[(&str, i64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<ByResource>();
    assert_eq!(summary(&of_three(&[]).total(&ByResource::new())), "2101: c=14 i=3 r=56");
    let mixed = values(&[("hw_version_b_2_ram", 8), ("hw_version_a_cores", 4), ("foo_ram", 9), ("hw_version__ram", 1)]);
    assert_eq!(summary(&mixed), "a: c=4 i=0 r=0; b_2: c=0 i=0 r=8");
    assert_eq!((summary(&values(&[("foo_ram", 9)])), summary(&ByResource::new())), (String::new(), String::new()));
}

#[test]
fn limes_sees_memory_in_its_unit() {
    let zone = |ratio| usage_in(16, ratio, &three(), &[]).remove("az-1").unwrap();
    let none = ByResource::new();
    assert_eq!(limes_usage_summary(&zone(Ratio::Fixed(4096)), &none), "2101: c=14 i=3 r=4", "1, 2 and at least 1");
    assert_eq!(limes_usage_summary(&zone(Ratio::None), &none), "2101: c=14 i=3 r=3", "56 / 16");
    let quota = ByResource::from([(RAM.to_owned(), 80), ("hw_version_2101_cores".to_owned(), 7)]);
    let unit = |group: &GroupName| RamUnit::new(if group.as_str() == "2101" { 16 } else { 1 }).unwrap();
    assert_eq!(limes_quota_summary(&quota, unit), "2101: c=7 i=0 r=5");
    assert_eq!(limes_usage_summary(&ZoneUsage::default(), &quota), "2101: c=0 i=0 r=0");
}

#[test]
fn a_summary_of_many_groups_is_cut_between_two_of_them() {
    let of = |count: usize| (0..count).map(|number| (format!("hw_version_group-{number:04}_ram"), 1)).collect();
    // 23 bytes each, and two between them.
    assert_eq!(summary(&of(41)).len(), 41 * 25 - 2);
    assert!(summary(&of(42)).ends_with("group-0039: c=0 i=0 r=1; ..."), "{}", summary(&of(42)));
    let long = summary(&of(5000));
    assert!(long.len() <= 1024 && long.ends_with("r=1; ..."), "{}", long.len());
    let name = ByResource::from([(format!("hw_version_{}_ram", "g".repeat(2000)), 1)]);
    assert_eq!(summary(&name), "...");
}

#[test]
fn the_largest_amounts_saturate() {
    let vms = [vm("az-1", Some("2101"), u64::MAX, u32::MAX), vm("az-1", Some("2101"), u64::MAX, u32::MAX)];
    let zone = usage_in(1, Ratio::None, &vms, &[committed(u64::MAX)]).remove("az-1").unwrap();
    assert!(amounts(&zone.total(&ByResource::new()))[0] > 0);
}
