//! Which slots are enqueued by a hypervisor, and which objects are reconciled at all.

use std::collections::BTreeMap;

use berth_cluster::indexes::{HYPERVISOR_INDEXES, RESERVATION_INDEXES};
use berth_cluster::testing::filled;
use berth_core::ClusterName;
use berth_core::flavor::Flavor;
use berth_crds::hypervisor::Instance;
use berth_crds::reservation::Allocation;
use berth_crds::{Time, names, testing};
use berth_vm_source::{VmRow, VmSnapshot};

use super::super::*;

/// Slot 0 is ready on `node1`, slot 1 is to go there, slot 2 is elsewhere with a VM in its allocations; a fail-over
/// block is on `node1`, too.
fn store() -> Store<Reservation> {
    let mut slots = [0, 1, 2].map(|number| testing::slot("one", number));
    for slot in &mut slots[..2] {
        slot.spec.target_host = Some("node1".to_owned());
    }
    slots[0].status.get_or_insert_default().host = Some("node1".to_owned());
    slots[2].spec.target_host = Some("node2".to_owned());
    let vm = Allocation { creation_timestamp: Time(jiff::Timestamp::UNIX_EPOCH), resources: [].into() };
    slots[2].spec.committed_resource_reservation.get_or_insert_default().allocations.insert("vm-1".to_owned(), vm);
    let mut failover = testing::slot("block", 0);
    failover.spec.type_ = ReservationType::FailoverReservation;
    failover.spec.target_host = Some("node1".to_owned());
    filled(RESERVATION_INDEXES, &ClusterName::home(), slots.into_iter().chain([failover]))
}

fn host(vms: &[&str]) -> Hypervisor {
    let mut host = testing::hypervisor("node1", "480Gi", "30");
    let instance = |vm: &&str| Instance { id: (*vm).to_owned(), ..Instance::default() };
    host.status.get_or_insert_default().instances = vms.iter().map(instance).collect();
    host
}

fn enqueued(old: Option<Hypervisor>, new: Option<Hypervisor>) -> Vec<u64> {
    let key = ObjectKey::new(ClusterName::home(), "node1");
    let change = Change { key, old: old.map(Into::into), new: new.map(Into::into) };
    let keys = map_hypervisor(&change, &store());
    let numbers = (0..3).filter(|n| keys.iter().any(|key| *key.name == *names::slot("commitment-one", *n)));
    let numbers: Vec<u64> = numbers.collect();
    assert_eq!(keys.len(), numbers.len(), "blocks of other types are ignored here");
    numbers
}

/// Also a slot that is only to go to the host, and those with a VM that appeared or disappeared.
#[test]
fn host_enqueues_the_slots_that_it_concerns() {
    assert_eq!(enqueued(None, Some(host(&[]))), [0, 1], "the VM appears");
    assert_eq!(enqueued(Some(host(&[])), None), [0, 1], "the VM disappears");
    assert_eq!(enqueued(Some(host(&["vm-2"])), Some(host(&["vm-2"]))), [0; 0], "no relevant change");
    let mut started = host(&["vm-2"]);
    started.status.as_mut().unwrap().instances[0].active = true;
    assert_eq!(enqueued(Some(host(&["vm-2"])), Some(started)), [0, 1], "the VM starts");
    assert_eq!(enqueued(Some(host(&[])), Some(host(&["vm-1"]))), [0, 1, 2], "slot 2 expects that VM");
    assert_eq!(enqueued(Some(host(&["vm-1"])), Some(host(&[]))), [0, 1, 2]);
    let mut elsewhere = host(&[]);
    elsewhere.metadata.labels = None;
    assert_eq!(enqueued(Some(host(&[])), Some(elsewhere)), [0, 1], "another zone");
}

#[test]
fn only_slots_are_reconciled() {
    let enqueued = |object: Reservation| {
        let key = ObjectKey::new(ClusterName::home(), "r");
        map_reservation(&Change { key, old: None, new: Some(object.into()) }, &Retries::default()).is_some()
    };
    assert!(enqueued(testing::slot("one", 0)));
    let mut failover = testing::slot("one", 0);
    failover.spec.type_ = ReservationType::FailoverReservation;
    assert!(!enqueued(failover.clone()), "for any data");
    // The newest state of a valid object that becomes invalid is the last valid one.
    let (key, last) = (ObjectKey::new(ClusterName::home(), "r"), Arc::new(failover));
    let invalid = Change { key, old: Some(last.clone()), new: Some(last) };
    assert!(map_reservation(&invalid, &Retries::default()).is_some(), "it is reported");
}

fn vm_row(id: &str, project: &str) -> VmRow {
    VmRow {
        id: id.into(),
        project: project.into(),
        host: "node1".into(),
        flavor: testing::FLAVOR.into(),
        ..VmRow::default()
    }
}

fn vms_of(rows: Vec<VmRow>) -> Arc<VmSnapshot> {
    let flavor =
        Flavor { name: testing::FLAVOR.into(), vcpus: 30, memory_mib: 1, disk_gib: 0, extra_specs: BTreeMap::new() };
    Arc::new(VmSnapshot::new(rows, vec![flavor], jiff::Timestamp::UNIX_EPOCH))
}

#[test]
fn a_vm_that_becomes_known_enqueues_the_slots_of_its_project_on_its_host() {
    let hosts = filled(HYPERVISOR_INDEXES, &ClusterName::home(), [host(&["vm-2", "vm-3"])]);
    let own = |id: &str| vm_row(id, testing::PROJECT);
    let enqueued = |former: Vec<VmRow>, present: Vec<VmRow>| {
        let change = SnapshotChange { former: vms_of(former), present: vms_of(present) };
        let keys = map_vms(&change, &hosts, &store());
        keys.iter().map(|key| key.name.to_string()).collect::<Vec<_>>()
    };
    let on_node1 = [0, 1].map(|number| names::slot("commitment-one", number));
    assert_eq!(enqueued(vec![own("a")], vec![own("a"), own("vm-2")]), on_node1);
    assert_eq!(enqueued(vec![own("a")], vec![own("a"), own("nowhere")]), [""; 0]);
    assert_eq!(enqueued(vec![own("a")], vec![own("a"), vm_row("vm-2", "another")]), [""; 0]);
    assert_eq!(enqueued(vec![own("vm-2")], vec![own("vm-2")]), [""; 0], "nothing has changed");
    let resized = VmRow { status: "RESIZED".into(), ..own("vm-2") };
    assert_eq!(enqueued(vec![own("vm-2"), own("vm-3")], vec![resized, own("vm-3")]), on_node1);
    assert_eq!(enqueued(vec![], vec![own("nowhere")]).len(), 3, "the first snapshot concerns all slots on hosts");
}
