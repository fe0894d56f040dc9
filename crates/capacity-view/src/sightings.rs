//! Which hosts list a VM, kept with every row of a host. What follows from it is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::{HostName, VmId};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sightings(BTreeMap<VmId, BTreeSet<HostName>>);

impl Sightings {
    /// The VMs of a host are others now; `true` and `false` say whether they run.
    pub(crate) fn follow(&mut self, host: &HostName, old: &BTreeMap<VmId, bool>, new: &BTreeMap<VmId, bool>) {
        for vm in old.keys().filter(|vm| !new.contains_key(*vm)) {
            if let Some(hosts) = self.0.get_mut(vm) {
                hosts.remove(host);
                if hosts.is_empty() {
                    self.0.remove(vm);
                }
            }
        }
        for vm in new.keys().filter(|vm| !old.contains_key(*vm)) {
            self.0.entry(vm.clone()).or_default().insert(host.clone());
        }
    }

    /// The hosts that list a VM.
    pub(crate) fn of(&self, vm: &VmId) -> BTreeSet<HostName> {
        self.0.get(vm).cloned().unwrap_or_default()
    }
}
