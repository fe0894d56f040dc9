//! A second computation of what a project uses of its quota, to compare the first with: as plain as possible, with a walk
//! through all VMs for each number.

use std::collections::{BTreeMap, BTreeSet};

use crate::usage::PlainVm;

/// The RAM of the VMs in a commitment, where it is and of which group.
#[derive(Clone, Debug)]
pub struct PlainCommitted {
    pub is_of_cores: bool,
    /// Whether its state is one that pays for VMs.
    pub counts: bool,
    pub declared_gib: i64,
    pub zone: String,
    pub group: String,
}

/// The numbers of one resource in one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainQuotaUsage {
    pub total: i64,
    pub payg: i64,
    /// The total in the unit of Limes.
    pub declared: i64,
}

/// By zone and name of the resource. A unit has so many GiB; with a fixed ratio each VM counts in whole units.
pub fn use_quota_plainly(
    vms: &[PlainVm],
    commitments: &[PlainCommitted],
    unit: i64,
    has_fixed_ratio: bool,
) -> BTreeMap<(String, String), PlainQuotaUsage> {
    let places: BTreeSet<(&String, &String)> = vms.iter().map(|vm| (&vm.zone, &vm.group)).collect();
    let mut usages = BTreeMap::new();
    for (zone, group) in places {
        let (mut ram, mut units, mut cores, mut instances) = (0, 0, 0, 0);
        for vm in vms.iter().filter(|vm| vm.zone == *zone && vm.group == *group) {
            let gib = gib(vm.memory_mib);
            ram += gib;
            units += match (gib * 2 + unit) / (unit * 2) {
                0 if vm.memory_mib > 0 => 1,
                rounded => rounded,
            };
            cores += i64::try_from(vm.cpu).unwrap_or(i64::MAX);
            instances += 1;
        }
        let mut payg = ram;
        for one in commitments {
            if one.counts && !one.is_of_cores && one.zone == *zone && one.group == *group {
                payg -= one.declared_gib;
            }
        }
        let declared = if has_fixed_ratio { units } else { ram / unit };
        for (kind, usage) in [
            ("ram", PlainQuotaUsage { total: ram, payg: payg.max(0), declared }),
            ("cores", PlainQuotaUsage { total: cores, payg: cores, declared: cores }),
            ("instances", PlainQuotaUsage { total: instances, payg: instances, declared: instances }),
        ] {
            usages.insert((zone.clone(), format!("hw_version_{group}_{kind}")), usage);
        }
    }
    usages
}

/// Flavors lack a few MiB of whole GiB, which the video card has.
fn gib(mib: u64) -> i64 {
    let mib = i64::try_from(mib).unwrap_or(i64::MAX / 2);
    if mib % 1024 >= 1008 { mib / 1024 + 1 } else { mib / 1024 }
}
