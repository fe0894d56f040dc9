//! The usage of quota equals a second, plain computation in random worlds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;

use berth_core::commitment::{ResourceType, State};
use berth_core::flavor::{FlavorGroup, FlavorGroups, Ratio, RatioMembers};
use berth_core::liquid::units::RamUnit;
use berth_core::quota::{ByResource, CommittedUsage, ProjectUsage, QuotaFacts, limes_usage_summary, usage};
use berth_core::usage::ProjectVm;
use berth_testkit::{PlainCommitted, PlainQuotaUsage, PlainVm, Random, use_quota_plainly};

const WORLDS: u64 = 5000;
const ZONES: [&str; 3] = ["az-1", "az-2", ""];
const GROUPS: [&str; 2] = ["g_1", "g_2"];
const STATES: [State; 6] =
    [State::Planned, State::Pending, State::Guaranteed, State::Confirmed, State::Superseded, State::Expired];
const MEMORY: [u64; 9] = [0, 1, 1007, 1008, 8176, 16_368, 24_560, 32_752, 491_504];

struct Plain {
    vms: Vec<PlainVm>,
    commitments: Vec<PlainCommitted>,
    states: Vec<State>,
    unit: u64,
    has_fixed_ratio: bool,
}

/// Few places and sizes, so that they meet often.
fn world(random: &mut Random) -> Plain {
    let pick = |random: &mut Random, all: &[&str]| all[random.below(all.len())].to_owned();
    let vm = |random: &mut Random| PlainVm {
        id: "vm".to_owned(),
        created: None,
        memory_mib: MEMORY[random.below(MEMORY.len())],
        cpu: random.below(64) as u64,
        zone: pick(random, &ZONES),
        group: pick(random, &GROUPS),
    };
    let states: Vec<State> = STATES.into_iter().filter(|_| random.chance(400)).collect();
    let vms = (0..random.below(12)).map(|_| vm(random)).collect();
    let commitments = (0..random.below(6)).map(|_| PlainCommitted {
        is_of_cores: random.chance(200),
        counts: random.chance(600),
        declared_gib: i64::try_from(random.below(100)).unwrap(),
        zone: pick(random, &ZONES),
        group: pick(random, &GROUPS),
    });
    let commitments = commitments.collect();
    let unit = [1, 2, 16, 480][random.below(4)];
    Plain { vms, commitments, states, unit, has_fixed_ratio: random.chance(500) }
}

fn groups(has_fixed_ratio: bool) -> FlavorGroups {
    let ratio = if has_fixed_ratio { Ratio::Fixed(4096) } else { Ratio::Variable(1024, 8192) };
    let group = |name: &str| FlavorGroup {
        name: name.into(),
        flavors: Vec::new(),
        without_memory: Vec::new(),
        ratio,
        ratio_members: RatioMembers::default(),
    };
    GROUPS.map(group).into_iter().collect()
}

fn compute(plain: &Plain, random: &mut Random) -> ProjectUsage {
    let vms: Vec<ProjectVm> = plain
        .vms
        .iter()
        .map(|vm| ProjectVm {
            id: vm.id.as_str().into(),
            created: None,
            memory_mib: vm.memory_mib,
            vcpus: vm.cpu.try_into().unwrap(),
            zone: vm.zone.as_str().into(),
            group: Some(vm.group.as_str().into()),
            is_held: false,
        })
        .collect();
    let mut state_of = |counts: bool| {
        let fitting: Vec<State> = STATES.into_iter().filter(|one| plain.states.contains(one) == counts).collect();
        (!fitting.is_empty()).then(|| fitting[random.below(fitting.len())])
    };
    let committed = |one: &PlainCommitted| CommittedUsage {
        zone: one.zone.as_str().into(),
        group: one.group.as_str().into(),
        resource: if one.is_of_cores { ResourceType::Cores } else { ResourceType::Memory },
        state: state_of(one.counts).unwrap(),
        declared_gib: one.declared_gib.try_into().unwrap(),
    };
    let commitments: Vec<CommittedUsage> = plain.commitments.iter().map(committed).collect();
    let groups = groups(plain.has_fixed_ratio);
    let facts = QuotaFacts { vms: &vms, commitments: &commitments, states: &plain.states, groups: &groups };
    usage(&facts, |_| RamUnit::new(plain.unit).unwrap())
}

fn shown(usage: &ProjectUsage) -> BTreeMap<(String, String), PlainQuotaUsage> {
    let none = ByResource::new();
    let zones = usage.iter().flat_map(|(zone, usage)| {
        let (total, payg) = (usage.total(&none), usage.payg(&none));
        let declared: BTreeMap<String, i64> =
            usage.groups().map(|(group, one)| (format!("hw_version_{group}_ram"), one.declared_ram)).collect();
        let of = |(name, total): (String, i64)| {
            let declared = declared.get(&name).copied().unwrap_or(total);
            ((zone.to_string(), name.clone()), PlainQuotaUsage { total, payg: payg[&name], declared })
        };
        total.into_iter().map(of).collect::<Vec<_>>()
    });
    zones.collect()
}

#[test]
fn usage_of_quota_equals_a_plain_computation() {
    let mut covered = 0;
    for seed in 0..WORLDS {
        let mut random = Random::new(seed);
        let plain = world(&mut random);
        // In worlds where all states count, or none does, some commitments would have no state.
        if plain.states.is_empty() || plain.states.len() == STATES.len() {
            continue;
        }
        let unit = i64::try_from(plain.unit).unwrap();
        let expected = use_quota_plainly(&plain.vms, &plain.commitments, unit, plain.has_fixed_ratio);
        let found = compute(&plain, &mut random);
        assert_eq!(shown(&found), expected, "seed {seed}");
        covered += usize::from(expected.values().any(|one| one.payg > 0 && one.payg < one.total));
        for usage in found.values() {
            assert!(!limes_usage_summary(usage, &ByResource::new()).is_empty());
        }
    }
    assert!(covered > 500, "few worlds have commitments that pay for a part: {covered}");
}
