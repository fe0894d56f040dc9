use std::sync::Arc;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::ClusterName;
use berth_core::flavor::Flavor;
use berth_crds::hypervisor::Instance;
use berth_crds::{labels, testing};
use berth_telemetry::clock::SystemClock;
use berth_vm_source::{VmRow, VmSnapshot};
use jiff::Timestamp;

use super::*;

fn change<K>(old: Option<K>, new: Option<K>) -> Change<K> {
    let key = ObjectKey::new(ClusterName::home(), names::FLAVOR_GROUPS);
    Change { key, old: old.map(Arc::new), new: new.map(Arc::new) }
}

fn texts(keys: &BTreeSet<ProjectKey>) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// The VMs `v-p` and `v-q` of the projects `p` and `q`.
fn vms() -> VmSource {
    let row = |id: &str, project: &str| VmRow {
        id: id.into(),
        project: project.into(),
        host: "h".into(),
        flavor: "m1".into(),
        ..VmRow::default()
    };
    let flavor = Flavor { name: "m1".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
    let source = VmSource::new(Arc::new(SystemClock), Duration::MAX);
    source.publish(VmSnapshot::new(vec![row("v-p", "p"), row("v-q", "q")], vec![flavor], Timestamp::now()));
    source
}

fn host(vms: &[(&str, bool)], zone: &str) -> Hypervisor {
    let mut host = testing::hypervisor("h", "1Gi", "1");
    host.metadata.labels = Some([(labels::ZONE.to_owned(), zone.to_owned())].into());
    let instance =
        |(id, active): &(&str, bool)| Instance { id: (*id).to_owned(), name: String::new(), active: *active };
    host.status.get_or_insert_default().instances = vms.iter().map(instance).collect();
    host
}

#[test]
fn a_host_requests_the_projects_of_vms_that_came_or_went_only() {
    let mapped = |old, new| texts(&map_host(&change(old, new), &vms()));
    let (both, one) = ([("v-p", true), ("v-q", true)], [("v-p", true)]);
    assert_eq!(mapped(None, Some(host(&both, "a"))), ["p", "q"]);
    assert_eq!(mapped(Some(host(&both, "a")), Some(host(&one, "a"))), ["q"]);
    assert_eq!(mapped(Some(host(&both, "a")), None), ["p", "q"]);
    assert_eq!(mapped(Some(host(&one, "a")), Some(host(&[("v-p", false)], "a"))), ["p"], "it has stopped");
    assert_eq!(mapped(Some(host(&one, "a")), Some(host(&one, "b"))), ["p"], "the host has another zone");
    assert_eq!(mapped(Some(host(&[], "a")), Some(host(&[("unknown", true)], "a"))), [""; 0]);
    let mut busy = host(&both, "a");
    busy.status.as_mut().unwrap().num_instances = 9;
    assert_eq!(mapped(Some(host(&both, "a")), Some(busy)), [""; 0], "something else has changed");
}

#[test]
fn flavor_groups_that_change_request_all_projects() {
    let all = || ["p", "q"].map(ProjectKey::from).into();
    let groups = change(None, Some(testing::flavor_groups()));
    assert_eq!(texts(&map_knowledge(&groups, all)), ["p", "q"]);
    let other = Change { key: ObjectKey::new(ClusterName::home(), "other"), ..groups };
    assert_eq!(map_knowledge(&other, all), BTreeSet::new());
}
