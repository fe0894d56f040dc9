use std::sync::Arc;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::COMMITMENT_INDEXES;
use berth_cluster::testing::filled;
use berth_core::ClusterName;
use berth_core::flavor::Flavor;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::hypervisor::Instance;
use berth_crds::{CommitmentState, labels, testing};
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

fn of_project(project: &str) -> CommittedResource {
    let mut object = testing::commitment("uuid-1", "8Gi");
    object.spec.project_id = project.to_owned();
    object
}

fn mapped(edit: impl FnOnce(&mut CommittedResource)) -> Vec<String> {
    let (old, mut new) = (of_project("p"), of_project("p"));
    edit(&mut new);
    texts(&map_commitment(&change(Some(old), Some(new))))
}

#[test]
fn a_commitment_requests_its_project_when_the_assignment_may_differ() {
    assert_eq!(texts(&map_commitment(&change(None, Some(of_project("p"))))), ["p"]);
    assert_eq!(texts(&map_commitment(&change(Some(of_project("p")), None))), ["p"]);
    assert_eq!(mapped(|object| object.spec.state = CommitmentState::Superseded), ["p"]);
    assert_eq!(mapped(|object| object.spec.project_id = "q".to_owned()), ["p", "q"], "both");
    assert_eq!(mapped(|object| object.status.get_or_insert_default().accepted_spec = Some(object.spec.clone())), ["p"]);
    let ready = ready_condition(Status::True, "Accepted", "", Some(1), Timestamp::UNIX_EPOCH);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().conditions = vec![ready]), ["p"]);
}

#[test]
fn usage_that_is_written_and_a_spec_that_is_not_accepted_request_nothing() {
    assert_eq!(mapped(|object| object.spec.amount = "9Gi".into()), [""; 0]);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().used_declared_gib = Some(1)), [""; 0]);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().status_summary = Some("x".into())), [""; 0]);
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
fn flavor_groups_that_change_request_all_projects_with_commitments() {
    let mut other = of_project("q");
    other.metadata.name = Some("other".to_owned());
    let known = filled(COMMITMENT_INDEXES, &ClusterName::home(), [of_project("p"), other]);
    let groups = change(None, Some(testing::flavor_groups()));
    assert_eq!(texts(&map_knowledge(&groups, &known)), ["p", "q"]);
    let other = Change { key: ObjectKey::new(ClusterName::home(), "other"), ..groups };
    assert_eq!(map_knowledge(&other, &known), BTreeSet::new());
}
