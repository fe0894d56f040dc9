//! What hosts list, compared with the snapshot: VMs that it lacks, and VMs that no host lists.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::{VmId, Zone};

use crate::snapshot::VmSnapshot;

/// VMs without a host in one of the zones that hosts have: their rows may have any text, which must not become a label.
const OTHER_ZONE: &str = "unknown";

/// The VMs that hosts list.
pub trait ListedVms: Send + Sync + 'static {
    /// Whether all hosts are known.
    fn is_complete(&self) -> bool;

    /// Calls `visit` with each VM of each host, and the zone of the host.
    fn visit(&self, visit: &mut dyn FnMut(&str, &str));
}

/// How the lists of the hosts and a snapshot differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// VMs that hosts list and the snapshot lacks.
    pub lacking: BTreeSet<VmId>,
    /// The number of VMs of the snapshot that no host lists, by zone. `None` while not all hosts are known.
    pub unlisted: Option<BTreeMap<Zone, u64>>,
}

/// Compares them.
pub(crate) fn differences(listed: &dyn ListedVms, snapshot: &VmSnapshot) -> Differences {
    let mut lacking = BTreeSet::new();
    let mut is_listed = vec![false; snapshot.vms().len()];
    let mut unlisted: BTreeMap<Zone, u64> = BTreeMap::new();
    let is_complete = listed.is_complete();
    listed.visit(&mut |vm, zone| {
        if !unlisted.contains_key(zone) {
            unlisted.insert(zone.into(), 0);
        }
        match snapshot.position(vm) {
            Some(position) => is_listed[position] = true,
            None => _ = lacking.insert(vm.into()),
        }
    });
    for (vm, _) in snapshot.vms().iter().zip(is_listed).filter(|(_, is_listed)| !is_listed) {
        match unlisted.get_mut(&vm.zone) {
            Some(count) => *count += 1,
            None => *unlisted.entry(OTHER_ZONE.into()).or_default() += 1,
        }
    }
    Differences { lacking, unlisted: is_complete.then_some(unlisted) }
}

/// The VMs that are read next: those behind `last` first, so that each has its turn.
pub(crate) fn next_batch(lacking: &BTreeSet<VmId>, last: Option<&VmId>, most: usize) -> Vec<VmId> {
    let is_behind = |id: &&VmId| last.is_none_or(|last| *id > last);
    let (behind, before) = (lacking.iter().filter(is_behind), lacking.iter().filter(|id| !is_behind(id)));
    behind.chain(before).take(most).cloned().collect()
}

#[cfg(test)]
mod tests {
    use berth_core::flavor::Flavor;
    use jiff::Timestamp;

    use super::*;
    use crate::snapshot::VmRow;

    struct Hosts(&'static [(&'static str, &'static str)], bool);

    impl ListedVms for Hosts {
        fn is_complete(&self) -> bool {
            self.1
        }

        fn visit(&self, visit: &mut dyn FnMut(&str, &str)) {
            self.0.iter().for_each(|(vm, zone)| visit(vm, zone));
        }
    }

    fn snapshot(vms: &[(&str, &str)]) -> VmSnapshot {
        let row = |(id, zone): &(&str, &str)| VmRow {
            id: (*id).into(),
            zone: (*zone).into(),
            host: "h".into(),
            ..VmRow::default()
        };
        let flavor = Flavor { name: "".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: BTreeMap::new() };
        VmSnapshot::new(vms.iter().map(row).collect(), vec![flavor], Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn vms_that_either_side_lacks_are_found() {
        let snapshot = snapshot(&[("a", "az-1"), ("b", "az-1"), ("c", "az-2"), ("d", "Any text\n")]);
        let hosts = Hosts(&[("a", "az-1"), ("x", "az-2"), ("a", "az-2")], true);
        let found = differences(&hosts, &snapshot);
        assert_eq!(found.lacking, ["x".into()].into());
        let unlisted: Vec<_> = found.unlisted.unwrap().into_iter().map(|(zone, n)| (zone.to_string(), n)).collect();
        assert_eq!(unlisted, [("az-1".to_owned(), 1), ("az-2".to_owned(), 1), ("unknown".to_owned(), 1)]);
    }

    #[test]
    fn what_no_host_lists_is_not_counted_before_all_hosts_are_known() {
        let found = differences(&Hosts(&[("x", "az-1")], false), &snapshot(&[("a", "az-1")]));
        assert_eq!(found, Differences { lacking: ["x".into()].into(), unlisted: None });
    }

    #[test]
    fn every_lacking_vm_has_its_turn() {
        let lacking: BTreeSet<VmId> = ["a", "b", "c"].map(VmId::from).into();
        let mut last = None;
        let mut batch = || {
            let batch = next_batch(&lacking, last.as_ref(), 2);
            last = batch.last().cloned();
            batch.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!([batch(), batch(), batch()], [["a", "b"], ["c", "a"], ["b", "c"]]);
    }
}
