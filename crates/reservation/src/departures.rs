//! Since when VMs that slots expect are missing: counted, like the absence of a host, on the time in which the hosts could
//! be read. A restart begins anew, because nobody watched in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use berth_cluster::ObjectKey;
use berth_core::VmId;
use parking_lot::Mutex;

/// The VMs that are missing, by slot, with the reading on the clock when that was first noticed.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    noticed: Mutex<BTreeMap<ObjectKey, BTreeMap<VmId, Duration>>>,
}

impl Departures {
    /// These VMs of the slot are missing now, and no others; for how long each has been. `clock` is the time in which the
    /// hosts were followed.
    pub(crate) fn missing(&self, slot: &ObjectKey, vms: &BTreeSet<VmId>, clock: Duration) -> BTreeMap<VmId, Duration> {
        let mut noticed = self.noticed.lock();
        let before = noticed.remove(slot).unwrap_or_default();
        let since = |vm: &VmId| (vm.clone(), before.get(vm).copied().unwrap_or(clock));
        let now: BTreeMap<_, _> = vms.iter().map(since).collect();
        let times = now.iter().map(|(vm, since)| (vm.clone(), clock.saturating_sub(*since))).collect();
        if !now.is_empty() {
            noticed.insert(slot.clone(), now);
        }
        times
    }

    /// Nobody asks for the VMs of this slot any more.
    pub(crate) fn forget(&self, slot: &ObjectKey) {
        self.noticed.lock().remove(slot);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    #[test]
    fn time_counts_for_each_vm_from_the_first_look_that_missed_it() {
        let (departures, slot) = (Departures::default(), ObjectKey::new(ClusterName::home(), "slot"));
        let missing = |vms: &[&str], seconds| {
            let vms = vms.iter().map(|vm| (*vm).into()).collect();
            let times = departures.missing(&slot, &vms, Duration::from_secs(seconds));
            times.into_values().map(|time| time.as_secs()).collect::<Vec<_>>()
        };
        assert_eq!(missing(&["a"], 100), [0]);
        assert_eq!(missing(&["a", "b"], 130), [30, 0]);
        assert_eq!(missing(&["b"], 140), [10], "a is there again");
        assert_eq!(missing(&["a", "b"], 150), [0, 20]);
        departures.forget(&slot);
        assert_eq!(missing(&["b"], 160), [0]);
        assert_eq!(missing(&[], 170), [0; 0]);
        assert!(departures.noticed.lock().is_empty(), "nothing is kept of a slot without missing VMs");
    }
}
