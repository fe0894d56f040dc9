//! The worked examples: who counts where, and why not.

use super::*;

const NO_IDS: [&str; 0] = [];

fn time(text: &str) -> Timestamp {
    format!("{text}Z").parse().unwrap()
}

/// A VM of group `2101` in `az-1`, created on a day such as `02-01` of 2026.
fn vm(id: &str, day: &str, memory_mib: u64, vcpus: u32) -> ProjectVm {
    let created = Some(time(&format!("2026-{day}T08:00:00")));
    let (zone, group) = ("az-1".into(), Some("2101".into()));
    ProjectVm { id: id.into(), created, memory_mib, vcpus, zone, group, is_held: false }
}

fn memory(uuid: &str, start: Option<&str>, gib: i64) -> UsableCommitment {
    UsableCommitment {
        uuid: uuid.into(),
        resource: ResourceType::Memory,
        zone: "az-1".into(),
        group: "2101".into(),
        amount: gib << 30,
        start: start.map(|day| time(&format!("{day}T00:00:00"))),
    }
}

fn cores(uuid: &str, start: Option<&str>, count: i64) -> UsableCommitment {
    UsableCommitment { resource: ResourceType::Cores, amount: count, ..memory(uuid, start, 0) }
}

fn ids(usage: &CommitmentUsage) -> Vec<&str> {
    usage.vms.iter().map(VmId::as_str).collect()
}

/// The VMs of each commitment, its memory and its cores.
fn shown(assignment: &Assignment) -> Vec<(Vec<&str>, String, String)> {
    let text = |usage: &CommitmentUsage| (usage.used.memory.to_string(), usage.used.cpu.to_string());
    assignment.usages.iter().map(|usage| (ids(usage), text(usage).0, text(usage).1)).collect()
}

fn payg(assignment: &Assignment) -> Vec<(&str, PaygReason)> {
    assignment.payg.iter().map(|(id, reason)| (id.as_str(), *reason)).collect()
}

#[test]
fn the_oldest_and_largest_vm_takes_the_commitment_with_the_earliest_start_that_has_it_left() {
    let vms = [
        vm("vm-a", "02-01", 16_368, 4),
        vm("vm-b", "02-01", 32_752, 8),
        vm("vm-c", "02-02", 8176, 2),
        vm("vm-d", "02-03", 16_368, 4),
    ];
    let commitments = [memory("cr-0001", Some("2026-01-10"), 48), memory("cr-0002", Some("2026-01-05"), 16)];
    let result = assign(&commitments, &vms);
    assert_eq!(
        shown(&result),
        [
            (vec!["vm-b", "vm-c"], "40928Mi".to_owned(), "10".to_owned()),
            (vec!["vm-a"], "16368Mi".to_owned(), "4".to_owned())
        ]
    );
    assert_eq!(payg(&result), [("vm-d", PaygReason::NothingLeft)]);
    assert_eq!(result.usages.iter().map(|usage| usage.declared_gib).collect::<Vec<_>>(), [40, 16]);
}

#[test]
fn a_younger_and_smaller_vm_fills_the_gap_that_a_larger_one_does_not_fit_into() {
    let vms = [vm("vm-1", "03-01", 24_576, 6), vm("vm-2", "03-02", 16_384, 4), vm("vm-3", "03-03", 8192, 2)];
    let commitments = [memory("cr-000x", None, 32), memory("cr-000y", Some("2025-01-01"), 8)];
    let result = assign(&commitments, &vms);
    assert_eq!(
        shown(&result),
        [(vec!["vm-1", "vm-3"], "32Gi".to_owned(), "8".to_owned()), (NO_IDS.to_vec(), "0".to_owned(), "0".to_owned())]
    );
    assert_eq!(payg(&result), [("vm-2", PaygReason::NothingLeft)]);
}

#[test]
fn equal_vms_and_equal_commitments_are_taken_in_the_order_of_their_uuids() {
    let vms = [vm("vm-9", "02-01", 8192, 2), vm("vm-2", "02-01", 8192, 2)];
    let start = Some("2026-01-01");
    let result = assign(&[memory("cr-000b", start, 8), memory("cr-000a", start, 8)], &vms);
    assert_eq!(result.usages.iter().map(ids).collect::<Vec<_>>(), [["vm-9"], ["vm-2"]]);
}

/// The commitment of cores counts the VM too, without its memory.
#[test]
fn vms_of_another_zone_or_group_count_in_no_commitment_and_cores_do_not_take_from_memory() {
    let vms = [
        ProjectVm { zone: "az-2".into(), ..vm("vm-1", "02-01", 8192, 2) },
        ProjectVm { group: Some("2152".into()), ..vm("vm-2", "02-01", 8192, 2) },
        vm("vm-3", "02-01", 8192, 2),
    ];
    let commitments = [memory("cr-mem1", Some("2026-01-02"), 16), cores("cr-core", Some("2026-01-01"), 40)];
    let result = assign(&commitments, &vms);
    assert_eq!(
        shown(&result),
        [(vec!["vm-3"], "8Gi".to_owned(), "2".to_owned()), (vec!["vm-3"], "0".to_owned(), "2".to_owned())]
    );
    assert_eq!(payg(&result), [("vm-1", PaygReason::NoCommitment), ("vm-2", PaygReason::NoCommitment)]);
    assert_eq!(result.usages[1].declared_gib, 0);
}

fn hana(created: [&str; 3], starts: [Option<&str>; 2]) -> Vec<Vec<String>> {
    let sizes = [983_024, 491_504, 491_504];
    let numbered = ["v1", "v2", "v3"].into_iter().zip(created).zip(sizes);
    let vms: Vec<ProjectVm> = numbered.map(|((id, day), mib)| vm(id, day, mib, 1)).collect();
    let result = assign(&[memory("x", starts[0], 960), memory("y", starts[1], 480)], &vms);
    let payg = result.payg.iter().map(|(id, _)| id.to_string()).collect();
    let owned = |usage: &CommitmentUsage| ids(usage).into_iter().map(str::to_owned).collect();
    result.usages.iter().map(owned).chain([payg]).collect()
}

#[test]
fn a_few_mib_that_are_left_fit_nothing() {
    let starts = [Some("2026-01-01"), Some("2026-02-01")];
    assert_eq!(hana(["01-10", "01-11", "01-12"], starts), [["v1"], ["v2"], ["v3"]]);
}

#[test]
fn of_vms_of_the_same_second_the_larger_one_comes_first() {
    let starts = [Some("2026-01-01"), Some("2026-02-01")];
    assert_eq!(hana(["01-10", "01-10", "01-12"], starts), [["v1"], ["v2"], ["v3"]]);
}

#[test]
fn a_commitment_without_a_start_comes_first_and_is_passed_by_a_vm_that_is_too_large() {
    assert_eq!(hana(["01-10", "01-11", "01-12"], [Some("2026-01-01"), None]), [["v1"], ["v2"], ["v3"]]);
}

#[test]
fn each_vm_without_a_commitment_has_a_reason() {
    let vms = [
        vm("a-empty", "02-01", 0, 2),
        ProjectVm { group: None, ..vm("b-flavor", "02-01", 1024, 1) },
        ProjectVm { zone: Zone::default(), ..vm("c-zone", "02-01", 1024, 1) },
        ProjectVm { zone: "az-9".into(), ..vm("d-place", "02-01", 1024, 1) },
        vm("e-large", "02-01", 9 * 1024, 1),
    ];
    let result = assign(&[memory("cr-0001", None, 8)], &vms);
    let mut reasons = payg(&result);
    reasons.sort_unstable();
    let expected = [
        ("a-empty", PaygReason::NoMemory),
        ("b-flavor", PaygReason::NoGroup),
        ("c-zone", PaygReason::UnknownZone),
        ("d-place", PaygReason::NoCommitment),
        ("e-large", PaygReason::NothingLeft),
    ];
    assert_eq!(reasons, expected);
    let texts: Vec<String> = expected.iter().map(|(_, reason)| reason.to_string()).collect();
    assert!(texts.iter().all(|text| !text.is_empty()), "{texts:?}");
}

#[test]
fn a_vm_without_memory_counts_in_no_commitment_and_one_without_a_creation_time_is_the_oldest() {
    let oldest = ProjectVm { created: None, ..vm("vm-2", "02-01", 4096, 1) };
    let result = assign(
        &[memory("cr-0001", None, 4), cores("cr-0002", None, 8)],
        &[vm("vm-0", "02-01", 0, 4), vm("vm-1", "01-01", 4096, 1), oldest],
    );
    assert_eq!(ids(&result.usages[0]), ["vm-2"]);
    assert_eq!(ids(&result.usages[1]), ["vm-2", "vm-1"]);
}

#[test]
fn a_commitment_of_cores_takes_the_first_vms_whose_cores_are_left() {
    let vms = [vm("vm-1", "02-01", 1024, 6), vm("vm-2", "02-02", 1024, 4), vm("vm-3", "02-03", 1024, 2)];
    let result = assign(&[cores("cr-0001", None, 8)], &vms);
    assert_eq!(shown(&result), [(vec!["vm-1", "vm-3"], "0".to_owned(), "8".to_owned())]);
    assert_eq!(payg(&result).len(), 3, "they are in no commitment of memory");
}

#[test]
fn a_held_vm_takes_nothing_from_other_commitments_of_memory() {
    let held = ProjectVm { is_held: true, ..vm("vm-1", "02-01", 4096, 1) };
    let result =
        assign(&[memory("cr-0001", None, 4), cores("cr-0002", None, 8)], &[held, vm("vm-2", "02-02", 4096, 1)]);
    assert_eq!(result.usages.iter().map(ids).collect::<Vec<_>>(), [vec!["vm-2"], vec!["vm-1", "vm-2"]]);
    assert_eq!(payg(&result), []);
}
