//! Which commitments are enqueued by which changes.

use berth_cluster::indexes::COMMITMENT_INDEXES;
use berth_cluster::testing::{applied, filled};
use berth_crds::{names, testing};

use super::super::*;

/// A commitment, and another one whose name does not follow from its UUID `one`.
fn store() -> Store<CommittedResource> {
    let mut duplicate = testing::commitment("one", "480Gi");
    duplicate.metadata.name = Some("another-name".to_owned());
    let all = [testing::commitment("one", "480Gi"), testing::commitment("two", "480Gi"), duplicate];
    filled(COMMITMENT_INDEXES, &ClusterName::home(), all)
}

fn change<K>(name: String, old: Option<K>, new: Option<K>) -> Change<K> {
    let key = ObjectKey::new(ClusterName::home(), name);
    Change { key, old: old.map(Into::into), new: new.map(Into::into) }
}

fn names(keys: BTreeSet<ObjectKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.name.to_string()).collect()
}

/// The reference slows down with age and generation; we do not.
#[test]
fn slot_enqueues_every_commitment_that_it_names_or_named() {
    let (store, slot) = (store(), || testing::slot("one", 0));
    let enqueued = |old, new| names(map_reservation(&change(names::slot("x", 0), old, new), &store));
    let both = ["another-name", "commitment-one"];
    assert_eq!(enqueued(None, Some(slot())), both, "all objects with the UUID");
    assert_eq!(enqueued(Some(slot()), None), both);
    assert_eq!(enqueued(Some(slot()), Some(testing::slot("two", 0))), [both[0], both[1], "commitment-two"]);
    assert_eq!(enqueued(None, Some(testing::slot("three", 0))), [""; 0], "no object has that UUID");
    assert_eq!(enqueued(Some(slot()), Some(slot())), [""; 0], "commitments do not see the text of a condition");
    let mut other = slot();
    other.spec.committed_resource_reservation = None;
    assert_eq!(enqueued(None, Some(other)), [""; 0]);
}

#[test]
fn a_commitment_enqueues_its_duplicates_when_it_comes_or_goes_and_not_when_its_status_changes() {
    let store = store();
    let object = || testing::commitment("one", "480Gi");
    let enqueued = |old, new| names(map_commitment(&change("commitment-one".to_owned(), old, new), &store));
    assert_eq!(enqueued(Some(object()), Some(object())), ["commitment-one"]);
    assert_eq!(enqueued(Some(object()), None), ["another-name", "commitment-one"]);
    let mut moved = object();
    moved.spec.availability_zone = "elsewhere".to_owned();
    applied(&store, &ClusterName::home(), moved.clone());
    assert_eq!(enqueued(Some(object()), Some(moved)), ["another-name", "commitment-one"]);
}
