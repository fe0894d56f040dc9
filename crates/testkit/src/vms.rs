//! VMs in tests: on the hosts of a server, and as Nova's database knows them.

use std::collections::BTreeMap;

use berth_core::flavor::Flavor;
use berth_crds::hypervisor::Instance;
use berth_crds::{Hypervisor, testing};
use berth_vm_source::{VmRow, VmSnapshot};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::json;

use crate::seeds::{HALF_FLAVOR, SLOT_CORES, SLOT_GIB};
use crate::{Refusal, Server};

/// A host lists these VMs from now on, and no others. The size of a VM is in its name: it has the size of a slot, or of half
/// a slot if the name begins with `half`.
pub fn run(server: &Server, host: &str, vms: &[&str]) -> Result<(), Refusal> {
    let instances: Vec<_> =
        vms.iter().map(|vm| Instance { id: (*vm).to_owned(), name: (*vm).to_owned(), active: true }).collect();
    let halves: u64 = vms.iter().map(|vm| if is_half(vm) { 1 } else { 2 }).sum();
    let allocation = testing::size(&format!("{}Gi", halves * SLOT_GIB / 2), &(halves * SLOT_CORES / 2).to_string());
    let status = json!({ "instances": instances, "numInstances": vms.len(), "allocation": allocation });
    server.edit_status::<Hypervisor>(host, &json!({ "status": status })).map(drop)
}

/// All VMs that the hosts of a server list, as Nova knows them at this time. Those whose names begin with `foreign` belong to
/// another project than [`testing::PROJECT`].
pub fn snapshot(server: &Server, as_of: Timestamp) -> Result<VmSnapshot, Refusal> {
    let hosts: Vec<Hypervisor> = server.all()?;
    let rows = hosts.iter().flat_map(|host| {
        let instances = host.status.iter().flat_map(|status| &status.instances);
        instances.map(|vm| row(&vm.id, &host.name_any()))
    });
    Ok(VmSnapshot::new(rows.collect(), vec![flavor(testing::FLAVOR), flavor(HALF_FLAVOR)], as_of))
}

fn row(id: &str, host: &str) -> VmRow {
    VmRow {
        id: id.into(),
        project: if id.starts_with("foreign") { "another" } else { testing::PROJECT }.into(),
        zone: testing::ZONE.into(),
        host: host.into(),
        flavor: if is_half(id) { HALF_FLAVOR } else { testing::FLAVOR }.into(),
        ..VmRow::default()
    }
}

fn is_half(id: &str) -> bool {
    id.starts_with("half")
}

/// The flavor of a whole slot, with its sizes.
pub fn slot_flavor() -> Flavor {
    let (vcpus, memory_mib) = (u32::try_from(SLOT_CORES).unwrap_or(u32::MAX), SLOT_GIB * 1024);
    Flavor { vcpus, memory_mib, ..flavor(testing::FLAVOR) }
}

/// Only its name counts: sizes come from the flavor groups.
fn flavor(name: &str) -> Flavor {
    Flavor { name: name.into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: BTreeMap::new() }
}
