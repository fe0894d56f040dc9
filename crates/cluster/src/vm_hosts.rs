//! Where VMs run: what the hosts list, which counts more than the row of a VM in a database.

use std::collections::BTreeSet;

use berth_core::{HostName, Zone};
use berth_crds::hypervisor::Instance;
use berth_crds::{Hypervisor, labels};
use kube::ResourceExt as _;

use crate::indexes::HYPERVISOR_BY_VM;
use crate::{Change, Store};

/// The host that lists a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmHost {
    pub host: HostName,
    /// The zone label of the host; empty without one.
    pub zone: Zone,
    pub is_active: bool,
}

/// The host that lists the VM: one on which it is active, else the first by name.
pub fn host_of_vm(hosts: &Store<Hypervisor>, vm: &str) -> Option<VmHost> {
    let mut listed: Vec<VmHost> =
        hosts.select(&HYPERVISOR_BY_VM, vm).iter().map(|entry| listed_on(&entry.object, vm)).collect();
    listed.sort_by(|a, b| (!a.is_active, &a.host).cmp(&(!b.is_active, &b.host)));
    listed.into_iter().next()
}

/// The zone of the host that lists the VM, if it is known.
pub fn zone_of_vm(hosts: &Store<Hypervisor>, vm: &str) -> Option<Zone> {
    host_of_vm(hosts, vm).map(|found| found.zone).filter(|zone| !zone.is_empty())
}

/// The VMs that came to a host, went, started or stopped; all of them when it has another zone.
pub fn changed_vms(change: &Change<Hypervisor>) -> BTreeSet<&str> {
    let [old, new] = [&change.old, &change.new].map(|host| host.as_deref().map(instances).unwrap_or_default());
    let [old_zone, new_zone] = [&change.old, &change.new].map(|host| host.as_deref().and_then(zone_label));
    if old == new && old_zone == new_zone {
        return BTreeSet::new();
    }
    let [old, new] = [old, new].map(|all| all.iter().map(|vm| (vm.id.as_str(), vm.active)).collect::<BTreeSet<_>>());
    let changed = if old_zone == new_zone { &old ^ &new } else { &old | &new };
    changed.into_iter().map(|(vm, _)| vm).collect()
}

fn instances(host: &Hypervisor) -> &[Instance] {
    host.status.as_ref().map(|status| status.instances.as_slice()).unwrap_or_default()
}

fn zone_label(host: &Hypervisor) -> Option<&str> {
    host.labels().get(labels::ZONE).map(String::as_str)
}

fn listed_on(host: &Hypervisor, vm: &str) -> VmHost {
    VmHost {
        host: host.name_any().into(),
        zone: zone_label(host).unwrap_or_default().into(),
        is_active: instances(host).iter().filter(|instance| instance.id == vm).any(|instance| instance.active),
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;
    use serde_json::json;

    use super::*;
    use crate::indexes::HYPERVISOR_INDEXES;
    use crate::testing::filled;

    fn host(name: &str, zone: &str, vms: &[(&str, bool)]) -> Hypervisor {
        let instances: Vec<_> =
            vms.iter().map(|(id, active)| json!({"id": id, "name": id, "active": active})).collect();
        serde_json::from_value(json!({
            "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
            "spec": {}, "status": {"instances": instances},
        }))
        .unwrap()
    }

    #[test]
    fn of_several_hosts_the_one_where_the_vm_is_active_counts_else_the_first_by_name() {
        let all = [
            host("a", "az-1", &[("v1", false), ("v2", false)]),
            host("b", "az-2", &[("v1", true), ("v2", false)]),
            host("c", "az-3", &[("v1", true)]),
        ];
        let hosts = filled(HYPERVISOR_INDEXES, &ClusterName::home(), all);
        let found =
            |vm| host_of_vm(&hosts, vm).map(|found| (found.host.to_string(), found.zone.to_string(), found.is_active));
        assert_eq!(found("v1"), Some(("b".into(), "az-2".into(), true)));
        assert_eq!(found("v2"), Some(("a".into(), "az-1".into(), false)));
        assert_eq!(found("v3"), None);
    }
}
