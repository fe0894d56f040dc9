//! Which changes matter.

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::ClusterName;
use berth_crds::hypervisor::Instance;
use berth_crds::{CommitmentState, testing};

use super::*;

fn change<K: Clone>(old: Option<&K>, new: Option<&K>) -> Change<K> {
    let key = ObjectKey::new(ClusterName::home(), "object");
    Change { key, old: old.cloned().map(Arc::new), new: new.cloned().map(Arc::new) }
}

#[test]
fn hosts_matter_by_their_zone_and_their_amounts() {
    let host = testing::hypervisor("node", "100Gi", "10");
    let changed = |edit: &dyn Fn(&mut Hypervisor)| {
        let mut new = host.clone();
        edit(&mut new);
        map_host(&change(Some(&host), Some(&new)))
    };
    assert!(map_host(&change(None, Some(&host))) && map_host(&change(Some(&host), None)));
    assert!(!changed(&|_| {}));
    assert!(changed(&|new| new.status.as_mut().unwrap().allocation = testing::size("1Gi", "1")));
    assert!(changed(&|new| new.status.as_mut().unwrap().effective_capacity = testing::size("1Gi", "1")));
    assert!(changed(&|new| new.metadata.labels = None));
    let listed = Instance { id: "vm".to_owned(), name: "vm".to_owned(), active: true };
    assert!(!changed(&|new| new.status.as_mut().unwrap().instances = vec![listed.clone()]), "amounts follow");
    let mut without_zone = host.clone();
    without_zone.metadata.labels = None;
    assert!(!map_host(&change(None, Some(&without_zone))));
}

#[test]
fn commitments_matter_by_what_is_accepted_and_by_their_state() {
    let commitment = testing::commitment("uuid", "480Gi");
    let changed = |edit: &dyn Fn(&mut CommittedResource)| {
        let mut new = commitment.clone();
        edit(&mut new);
        map_commitment(&change(Some(&commitment), Some(&new)))
    };
    assert!(!changed(&|new| new.spec.amount = "960Gi".into()), "nothing is accepted yet");
    assert!(!changed(&|new| new.status.get_or_insert_default().used_declared_gib = Some(1)));
    assert!(changed(&|new| new.spec.state = CommitmentState::Superseded));
    assert!(changed(&|new| new.status.get_or_insert_default().accepted_spec = Some(new.spec.clone())));
    assert!(map_commitment(&change(Some(&commitment), None)));
}

#[test]
fn our_own_writes_do_not_matter() {
    let spec = berth_crds::FlavorGroupCapacitySpec { flavor_group: "g".to_owned(), availability_zone: "z".to_owned() };
    let object = FlavorGroupCapacity::new("g-z", spec);
    let mut written = object.clone();
    written.status.get_or_insert_default().exclusively_free_slots = Some(1);
    assert!(!map_capacity(&change(Some(&object), Some(&written))) && !map_capacity(&change(None, Some(&object))));
    assert!(map_capacity(&change(Some(&object), None)));
}
