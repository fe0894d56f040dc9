//! The assignment equals a second, plain one in random worlds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use berth_core::commitment::ResourceType;
use berth_core::usage::{Assignment, CommitmentUsage, ProjectVm, UsableCommitment, assign};
use berth_invariants::testing::ExpectedUsage;
use berth_testkit::{PlainCommitment, PlainVm, assign_plainly};
use jiff::Timestamp;
use proptest::prelude::*;

const ZONES: [&str; 2] = ["az-1", "az-2"];
const GROUPS: [&str; 2] = ["g-1", "g-2"];

fn time(second: Option<i64>) -> Option<Timestamp> {
    second.map(|second| Timestamp::from_second(second).unwrap())
}

/// Few times and sizes, so that ties and gaps are frequent.
fn vms() -> impl Strategy<Value = Vec<PlainVm>> {
    let place = (prop::sample::select(&ZONES[..]), prop::sample::select(&GROUPS[..]));
    let one = (prop::option::of(0..3_i64), 0..6_u64, 0..4_u64, place);
    prop::collection::vec(one, 0..40).prop_map(|all| {
        let vm = |(at, (created, memory_mib, cpu, (zone, group))): (usize, (_, _, _, (&str, &str)))| PlainVm {
            // Neither ascending nor descending.
            id: format!("vm-{:03}", at * 37 % 101),
            created: time(created),
            memory_mib,
            cpu,
            zone: zone.to_owned(),
            group: group.to_owned(),
        };
        all.into_iter().enumerate().map(vm).collect()
    })
}

fn commitments() -> impl Strategy<Value = Vec<PlainCommitment>> {
    let place = (prop::sample::select(&ZONES[..]), prop::sample::select(&GROUPS[..]));
    let one = (any::<bool>(), 0..12_u64, prop::option::of(0..3_i64), place);
    prop::collection::vec(one, 0..14).prop_map(|all| {
        let commitment = |(at, (is_of_cores, amount, start, (zone, group))): (usize, (_, _, _, (&str, &str)))| {
            let (zone, group) = (zone.to_owned(), group.to_owned());
            PlainCommitment {
                uuid: format!("cr-{:04}", at * 5 % 17),
                is_of_cores,
                amount,
                start: time(start),
                zone,
                group,
            }
        };
        all.into_iter().enumerate().map(commitment).collect()
    })
}

fn usable(plain: &PlainCommitment) -> UsableCommitment {
    let amount = i64::try_from(plain.amount).unwrap();
    UsableCommitment {
        uuid: plain.uuid.as_str().into(),
        resource: if plain.is_of_cores { ResourceType::Cores } else { ResourceType::Memory },
        zone: plain.zone.as_str().into(),
        group: plain.group.as_str().into(),
        amount: if plain.is_of_cores { amount } else { amount << 20 },
        start: plain.start,
    }
}

fn project_vm(plain: &PlainVm) -> ProjectVm {
    ProjectVm {
        id: plain.id.as_str().into(),
        created: plain.created,
        memory_mib: plain.memory_mib,
        vcpus: plain.cpu.try_into().unwrap(),
        zone: plain.zone.as_str().into(),
        group: Some(plain.group.as_str().into()),
        is_held: false,
    }
}

fn shown(commitments: &[UsableCommitment], assignment: &Assignment) -> BTreeMap<String, ExpectedUsage> {
    let usage = |(one, usage): (&UsableCommitment, &CommitmentUsage)| {
        let is_of_cores = one.resource == ResourceType::Cores;
        let vms = if is_of_cores { Vec::new() } else { usage.vms.iter().map(ToString::to_string).collect() };
        let memory_mib = u64::try_from(usage.used.memory.mib_down()).unwrap();
        (one.uuid.to_string(), ExpectedUsage { vms, memory_mib, cpu: usage.used.cpu.get().try_into().unwrap() })
    };
    commitments.iter().zip(&assignment.usages).map(usage).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_assignments_are_equal_and_each_vm_counts_once_or_has_a_reason(
        plain_commitments in commitments(),
        plain_vms in vms(),
    ) {
        let commitments: Vec<_> = plain_commitments.iter().map(usable).collect();
        let vms: Vec<_> = plain_vms.iter().map(project_vm).collect();
        let assignment = assign(&commitments, &vms);
        prop_assert_eq!(shown(&commitments, &assignment), assign_plainly(&plain_commitments, &plain_vms));

        let of_memory = commitments.iter().zip(&assignment.usages).filter(|(one, _)| one.resource == ResourceType::Memory);
        let counted: Vec<_> = of_memory.flat_map(|(_, usage)| &usage.vms).collect();
        let payg: Vec<_> = assignment.payg.iter().map(|(vm, _)| vm).collect();
        let all: BTreeSet<_> = counted.iter().chain(&payg).copied().collect();
        prop_assert_eq!(all.len(), counted.len() + payg.len(), "none counts twice");
        prop_assert_eq!(all.len(), vms.len(), "none is forgotten");
    }
}
