//! Every row of the rules, in their order, and what usable commitments become.

use berth_core::Quantity;
use berth_core::commitment::Spec;
use berth_core::liquid::conversion::convert;
use berth_openstack::limes::decode_commitments;
use berth_testkit::limes;
use serde_json::json;

use super::*;

const GROUP: &str = "2101";

fn groups() -> FlavorGroups {
    let flavor = json!({ "name": "f", "vcpus": 4, "memoryMB": 16384, "diskGB": 64,
        "extraSpecs": { "quota:hw_version": GROUP, "capabilities:hypervisor_type": "QEMU" } });
    let group = json!({ "features": [{ "name": GROUP, "ramCoreRatio": 4096, "flavors": [flavor],
        "largestFlavor": flavor, "smallestFlavor": flavor }] });
    FlavorGroups::parse(&group).unwrap().groups
}

/// The example of the list of Limes.
fn listed() -> ListedCommitment {
    let one = limes::commitment("ce3ac9b3-752b-4d03-81e4-c5ea104ca9a1", GROUP, "az-1", 5);
    let body = json!({ "commitments": [one] }).to_string();
    let read = decode_commitments(body.as_bytes()).unwrap().remove(0);
    ListedCommitment { unit: "16 GiB".to_owned(), expires_at: "2030-01-01T00:00:00Z".parse().ok(), ..read }
}

fn check(gib: u64, listed: &ListedCommitment) -> Result<UsableCommitment, SkipReason> {
    let (services, groups) = (["compute".to_owned()].into(), groups());
    let ram_unit = |_: &GroupName| RamUnit::new(gib).ok();
    let project = Project { id: "p-1".to_owned(), domain_id: "d-1".to_owned() };
    Filter { services: &services, groups: &groups, ram_unit: &ram_unit }.check(listed, &project)
}

fn converted(gib: u64, listed: &ListedCommitment) -> Spec {
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    convert(&check(gib, listed).unwrap().commitment, None, now, false)
}

fn reason(change: impl FnOnce(&mut ListedCommitment)) -> Option<SkipReason> {
    let mut one = listed();
    change(&mut one);
    check(16, &one).err()
}

#[test]
fn the_first_rule_that_matches_skips_a_commitment() {
    type Change = fn(&mut ListedCommitment);
    let rows: [(Change, Option<SkipReason>); 17] = [
        (|_| (), None),
        (|one| one.service_type = "volumev2".to_owned(), Some(SkipReason::NonCompute)),
        (|one| one.status = String::new(), Some(SkipReason::UnknownStatus)),
        (|one| one.status = "deleted".to_owned(), Some(SkipReason::UnknownStatus)),
        (|one| one.resource_name = "cores".to_owned(), Some(SkipReason::InvalidResourceName)),
        (|one| one.resource_name = "hw_version_ram".to_owned(), Some(SkipReason::InvalidResourceName)),
        (|one| one.resource_name = "hw_version__ram".to_owned(), Some(SkipReason::InvalidResourceName)),
        (|one| one.resource_name = "hw_version_2101_instances".to_owned(), Some(SkipReason::InvalidResourceName)),
        (|one| one.resource_name = "hw_version_2102_ram".to_owned(), Some(SkipReason::UnknownFlavorGroup)),
        (|one| one.unit = "GiB".to_owned(), Some(SkipReason::UnitMismatch)),
        (|one| one.unit = String::new(), None),
        (|one| one.uuid = String::new(), Some(SkipReason::EmptyUuid)),
        (|one| one.uuid = "short".to_owned(), Some(SkipReason::InvalidUuid)),
        (|one| one.uuid = "with space".to_owned(), Some(SkipReason::InvalidUuid)),
        (|one| one.uuid = "x".repeat(41), Some(SkipReason::InvalidUuid)),
        (|one| one.amount = u64::MAX, Some(SkipReason::AmountOverflow)),
        (|one| (one.service_type, one.status) = ("volumev2".to_owned(), String::new()), Some(SkipReason::NonCompute)),
    ];
    for (number, (change, expected)) in rows.into_iter().enumerate() {
        assert_eq!(reason(change), expected, "row {number}");
    }
}

#[test]
fn every_state_of_limes_is_known() {
    for status in ["planned", "pending", "guaranteed", "confirmed", "superseded", "expired"] {
        assert_eq!(reason(|one| one.status = status.to_owned()), None, "{status}");
    }
}

#[test]
fn the_unit_is_compared_as_text() {
    for (gib, unit, is_ours) in [
        (0, "GiB", true),
        (1, "GiB", true),
        (2, "2 GiB", true),
        (480, "480 GiB", true),
        (1024, "TiB", true),
        (1024, "1024 GiB", false),
        (1536, "1536 GiB", true),
        (2048, "2 TiB", true),
        (16, "GiB", false),
    ] {
        let checked = check(gib, &ListedCommitment { unit: unit.to_owned(), ..listed() });
        let expected = if is_ours { None } else { Some(SkipReason::UnitMismatch) };
        assert_eq!(checked.err(), expected, "{gib} {unit}");
    }
}

#[test]
fn cores_are_counted_in_pieces_or_without_a_unit() {
    for (unit, is_ours) in [("", true), ("piece", true), ("GiB", false), ("16 GiB", false)] {
        let (resource_name, unit) = ("hw_version_2101_cores".to_owned(), unit.to_owned());
        let checked = check(16, &ListedCommitment { resource_name, unit, amount: 40, ..listed() });
        let amount = checked.ok().map(|usable| (usable.commitment.resource, usable.commitment.amount));
        assert_eq!(amount, is_ours.then_some((ResourceType::Cores, Quantity::from_units(40))));
    }
}

#[test]
fn a_confirmed_commitment_becomes_a_spec_with_its_times() {
    let spec = converted(16, &listed());
    assert_eq!(spec.amount, Quantity::parse("80Gi").unwrap());
    let times = [spec.start, spec.end].map(|time| time.map(|time| time.to_string()));
    assert_eq!(times, [Some("2026-03-01T00:00:00Z".to_owned()), Some("2030-01-01T00:00:00Z".to_owned())]);
    let texts =
        [spec.uuid.as_str(), spec.group.as_str(), spec.zone.as_str(), spec.project.as_str(), spec.domain.as_str()];
    assert_eq!(texts, ["ce3ac9b3-752b-4d03-81e4-c5ea104ca9a1", "2101", "az-1", "p-1", "d-1"]);
    assert!(!spec.allow_rejection);
    assert_eq!(check(16, &listed()).unwrap().confirmed_at, listed().confirmed_at);
}

#[test]
fn a_commitment_without_confirmation_starts_with_its_creation_and_may_have_no_end() {
    let one =
        ListedCommitment { amount: 3, unit: "480 GiB".to_owned(), confirmed_at: None, expires_at: None, ..listed() };
    let spec = converted(480, &one);
    assert_eq!(spec.amount, Quantity::parse("1440Gi").unwrap());
    assert_eq!(spec.start.unwrap().to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(spec.end, None);
}

#[test]
fn without_a_unit_and_without_a_configuration_an_amount_is_in_gib() {
    let one = ListedCommitment { amount: 7, unit: String::new(), ..listed() };
    assert_eq!(converted(0, &one).amount, Quantity::parse("7Gi").unwrap());
}

#[test]
fn an_amount_of_zero_is_an_ordinary_value() {
    let one = ListedCommitment { amount: 0, unit: "GiB".to_owned(), ..listed() };
    assert_eq!(converted(1, &one).amount, Quantity::ZERO);
}
