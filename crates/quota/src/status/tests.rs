use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::commitment::{ResourceType, State};
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::units::{RamUnit, UnitOf};
use berth_core::quota::{CommittedUsage, QuotaFacts, usage};
use berth_core::testing::at;
use berth_core::usage::ProjectVm;
use berth_crds::{ProjectQuotaSpec, Time};

use super::*;

const HOUR: i64 = 3600;
const RAM: &str = "hw_version_2101_ram";

fn unit_of() -> UnitOf {
    Arc::new(|_| RamUnit::new(16).unwrap())
}

fn object() -> ProjectQuota {
    let spec = ProjectQuotaSpec {
        project_id: "p".to_owned(),
        availability_zone: "az-1".to_owned(),
        quota: [(RAM.to_owned(), 80), ("hw_version_other_cores".to_owned(), 4)].into(),
        ..ProjectQuotaSpec::default()
    };
    let mut object = ProjectQuota::new("quota-p-az-1", spec);
    object.metadata.generation = Some(3);
    object
}

/// 16, 32 and 8 GiB; a commitment pays for so many.
fn three(committed: u64) -> ZoneUsage {
    let vm = |(memory_mib, vcpus)| ProjectVm {
        id: "vm".into(),
        created: None,
        memory_mib,
        vcpus,
        zone: "az-1".into(),
        group: Some("2101".into()),
        is_held: false,
    };
    let vms: Vec<ProjectVm> = [(16_368, 4), (32_752, 8), (8176, 2)].into_iter().map(vm).collect();
    let commitments = [CommittedUsage {
        zone: "az-1".into(),
        group: "2101".into(),
        resource: ResourceType::Memory,
        state: State::Confirmed,
        declared_gib: committed,
    }];
    let groups = FlavorGroups::default();
    let facts = QuotaFacts { vms: &vms, commitments: &commitments, states: &[State::Confirmed], groups: &groups };
    usage(&facts, |_| RamUnit::default()).remove("az-1").unwrap()
}

fn written(object: &ProjectQuota, usage: &ZoneUsage, second: i64) -> Option<ProjectQuota> {
    with_usage(object, usage, &unit_of(), Times { now: at(second), is_trusted: true })
}

#[test]
fn usage_is_written_with_its_time_generation_condition_and_summaries() {
    let status = written(&object(), &three(40), 7).unwrap().status.unwrap();
    assert_eq!((status.total_usage[RAM], status.payg_usage[RAM]), (56, 16));
    assert_eq!((status.total_usage["hw_version_other_cores"], status.payg_usage.len()), (0, 4));
    assert_eq!(status.observed_generation, Some(3));
    assert_eq!((status.last_reconcile_at, status.last_full_reconcile_at), (Some(Time(at(7))), Some(Time(at(7)))));
    let ready = conditions::ready(&status.conditions).unwrap();
    let expected = ("True", "Reconciled", "Quota usage successfully computed", Some(3));
    assert_eq!((&*ready.status, &*ready.reason, &*ready.message, ready.observed_generation), expected);
    let text = |summary: &Option<String>| summary.clone().unwrap();
    assert_eq!(text(&status.total_usage_summary), "2101: c=14 i=3 r=56; other: c=0 i=0 r=0");
    assert_eq!(text(&status.payg_usage_summary), "2101: c=14 i=3 r=16; other: c=0 i=0 r=0");
    assert_eq!(text(&status.limes_quota_summary), "2101: c=0 i=0 r=5; other: c=4 i=0 r=0");
}

#[test]
fn without_a_change_it_is_written_once_an_hour() {
    let first = written(&object(), &three(40), 0).unwrap();
    let second = (1..=HOUR).find(|second| written(&first, &three(40), *second).is_some()).unwrap();
    let untrusted = Times { now: at(second), is_trusted: false };
    assert_eq!(with_usage(&first, &three(40), &unit_of(), untrusted), None);
    let refreshed = written(&first, &three(40), second).unwrap();
    assert_eq!(written(&refreshed, &three(40), second + HOUR - 1), None);
    let [first, refreshed] = [first, refreshed].map(|object| object.status.unwrap());
    assert_eq!(
        ProjectQuotaStatus { last_reconcile_at: None, last_full_reconcile_at: None, ..refreshed },
        ProjectQuotaStatus { last_reconcile_at: None, last_full_reconcile_at: None, ..first }
    );
}

#[test]
fn what_differs_is_written_at_once() {
    let first = written(&object(), &three(40), 0).unwrap();
    assert!(written(&first, &three(32), 1).is_some(), "usage");
    let mut pushed = first.clone();
    (pushed.spec.quota, pushed.metadata.generation) = (BTreeMap::from([(RAM.to_owned(), 96)]), Some(4));
    let status = written(&pushed, &three(40), 1).unwrap().status.unwrap();
    assert_eq!((status.limes_quota_summary.as_deref(), status.total_usage.len()), (Some("2101: c=0 i=0 r=6"), 3));
    let mut edited = first;
    edited.status.as_mut().unwrap().payg_usage.clear();
    assert!(written(&edited, &three(40), 1).is_some(), "a number that somebody has removed");
}
