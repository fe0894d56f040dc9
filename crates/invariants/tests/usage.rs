//! The invariants about usage find their violations, and nothing in a usage that is right.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::collections::BTreeMap;

use berth_crds::{CommittedResource, Time};
use berth_invariants::Invariant;
use berth_invariants::testing::{ExpectedUsage, ReportedVm, UsageFacts, VmSize, broken_usage};
use jiff::Timestamp;

use world::{UUID, World, commitment, cores, uses};

const GIB: u64 = 1024;

/// Two VMs of 16 and 32 GiB that count in a commitment of 480 GiB.
fn facts() -> UsageFacts {
    let size = |memory_mib, cpu| VmSize { memory_mib, cpu };
    UsageFacts {
        now: Timestamp::UNIX_EPOCH,
        vms: [("vm-1".to_owned(), size(16 * GIB, 4)), ("vm-2".to_owned(), size(32 * GIB, 8))].into(),
        expected: [(UUID.to_owned(), usage(&["vm-1", "vm-2"], 48 * GIB, 12))].into(),
        reported: None,
    }
}

fn usage(vms: &[&str], memory_mib: u64, cpu: u64) -> ExpectedUsage {
    ExpectedUsage { vms: vms.iter().map(|vm| (*vm).to_owned()).collect(), memory_mib, cpu }
}

fn found(object: CommittedResource, facts: &UsageFacts) -> Vec<Invariant> {
    let world = World { commitments: vec![("home".into(), object)], ..World::default() };
    broken_usage(&world.snapshot(), facts).into_iter().map(|violation| violation.invariant).collect()
}

fn used(vms: &[&str], memory: &str, cpu: &str, declared_gib: i64) -> CommittedResource {
    let mut object = commitment(UUID, 1);
    uses(&mut object, vms, memory, cpu, declared_gib);
    object
}

#[test]
fn a_usage_that_is_right_breaks_nothing() {
    assert_eq!(found(used(&["vm-1", "vm-2"], "48Gi", "12", 48), &facts()), []);
    assert_eq!(found(commitment("another", 1), &facts()), [], "it is not active");
    let mut of_cores = cores(UUID, 12);
    uses(&mut of_cores, &[], "0", "12", 0);
    let facts = UsageFacts { expected: [(UUID.to_owned(), usage(&[], 0, 12))].into(), ..facts() };
    assert_eq!(found(of_cores, &facts), []);
}

#[test]
fn a_usage_that_is_no_sum_over_the_vms_is_found() {
    for (memory, cpu, declared) in [("47Gi", "12", 48), ("48Gi", "11", 48), ("48Gi", "12", 47)] {
        let all = found(used(&["vm-1", "vm-2"], memory, cpu, declared), &facts());
        assert!(all.contains(&Invariant::UsageSum), "{memory} {cpu} {declared}: {all:?}");
    }
}

#[test]
fn more_usage_than_was_accepted_is_found() {
    let mut object = used(&["vm-1", "vm-2"], "48Gi", "12", 48);
    object.status.as_mut().unwrap().accepted_spec.as_mut().unwrap().amount = "47Gi".into();
    assert_eq!(found(object, &facts()), [Invariant::UsageAboveAccepted]);
    let mut of_cores = cores(UUID, 11);
    uses(&mut of_cores, &[], "0", "12", 0);
    let facts = UsageFacts { expected: [(UUID.to_owned(), usage(&[], 0, 12))].into(), ..facts() };
    assert_eq!(found(of_cores, &facts), [Invariant::UsageAboveAccepted]);
}

#[test]
fn usage_after_the_end_is_found() {
    let mut object = used(&["vm-1", "vm-2"], "48Gi", "12", 48);
    object.spec.end_time = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(found(object.clone(), &facts()), [], "the end has not passed");
    let facts = UsageFacts { now: Timestamp::from_second(1).unwrap(), ..facts() };
    assert_eq!(found(object, &facts), [Invariant::UsageAfterEnd]);
}

#[test]
fn a_usage_that_another_computation_does_not_find_is_found() {
    let vms = ["vm-2", "vm-1"];
    assert_eq!(found(used(&vms, "48Gi", "12", 48), &facts()), [Invariant::UsageUntrue], "another order");
    assert_eq!(found(commitment(UUID, 1), &facts()), [Invariant::UsageUntrue], "no usage");
    let nothing = UsageFacts { expected: [].into(), ..facts() };
    assert_eq!(found(used(&vms, "48Gi", "12", 48), &nothing), [Invariant::UsageUntrue], "it is not active");
}

type ReportedVms = BTreeMap<String, ReportedVm>;

#[test]
fn a_report_that_says_something_else_than_the_object_is_found() {
    let object = used(&["vm-1", "vm-2"], "48Gi", "12", 48);
    let vm =
        |commitment: Option<&str>, memory_mib| ReportedVm { commitment: commitment.map(str::to_owned), memory_mib };
    let sizes = ["vm-1", "vm-2"].map(|name| (name, facts().vms[name].memory_mib));
    let reported = |change: &dyn Fn(&mut ReportedVms)| {
        let mut vms: BTreeMap<_, _> =
            sizes.iter().map(|(name, mib)| ((*name).to_owned(), vm(Some(UUID), *mib))).collect();
        vms.insert("vm-9".to_owned(), vm(None, 1024));
        change(&mut vms);
        UsageFacts { reported: Some(vms), ..facts() }
    };
    assert_eq!(found(object.clone(), &reported(&|_| ())), []);
    let differing: [&dyn Fn(&mut ReportedVms); 4] = [
        &|vms| _ = vms.remove("vm-1"),
        &|vms| vms.get_mut("vm-2").unwrap().commitment = None,
        &|vms| vms.get_mut("vm-9").unwrap().commitment = Some(UUID.to_owned()),
        &|vms| vms.get_mut("vm-1").unwrap().memory_mib += 1024,
    ];
    for change in differing {
        assert_eq!(found(object.clone(), &reported(change)), [Invariant::UsageReportDiffers]);
    }
}
