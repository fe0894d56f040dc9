//! A second assignment of VMs to commitments, to compare the first with: as plain as possible, with a walk through all
//! commitments for each VM.

use std::collections::BTreeMap;

use berth_invariants::testing::ExpectedUsage;
use jiff::Timestamp;

/// A VM with memory, where it is and of which group.
#[derive(Clone, Debug)]
pub struct PlainVm {
    pub id: String,
    pub created: Option<Timestamp>,
    pub memory_mib: u64,
    pub cpu: u64,
    pub zone: String,
    pub group: String,
}

/// An active commitment of memory in MiB, or of cores.
#[derive(Clone, Debug)]
pub struct PlainCommitment {
    pub uuid: String,
    pub is_of_cores: bool,
    pub amount: u64,
    pub start: Option<Timestamp>,
    pub zone: String,
    pub group: String,
}

/// The usage of each commitment. Those of cores list no VMs.
pub fn assign_plainly(commitments: &[PlainCommitment], vms: &[PlainVm]) -> BTreeMap<String, ExpectedUsage> {
    let mut usages: BTreeMap<String, ExpectedUsage> = BTreeMap::new();
    for is_of_cores in [false, true] {
        let mut open: Vec<&PlainCommitment> = commitments.iter().filter(|one| one.is_of_cores == is_of_cores).collect();
        open.sort_by(|a, b| a.uuid.cmp(&b.uuid));
        open.sort_by_key(|one| std::cmp::Reverse(one.amount));
        open.sort_by_key(|one| one.start);
        for one in &open {
            usages.insert(one.uuid.clone(), ExpectedUsage::default());
        }
        for vm in in_order(vms) {
            for one in &open {
                let usage = usages.entry(one.uuid.clone()).or_default();
                let (used, size) = if is_of_cores { (usage.cpu, vm.cpu) } else { (usage.memory_mib, vm.memory_mib) };
                let fits = vm.zone == one.zone && vm.group == one.group && size > 0 && used + size <= one.amount;
                if fits && vm.memory_mib > 0 {
                    usage.cpu += vm.cpu;
                    if !is_of_cores {
                        usage.memory_mib += vm.memory_mib;
                        usage.vms.push(vm.id.clone());
                    }
                    break;
                }
            }
        }
    }
    usages
}

fn in_order(vms: &[PlainVm]) -> Vec<&PlainVm> {
    let mut all: Vec<&PlainVm> = vms.iter().collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all.sort_by_key(|one| std::cmp::Reverse(one.memory_mib));
    all.sort_by_key(|one| one.created);
    all
}
