use berth_cluster::indexes::COMMITMENT_INDEXES;
use berth_cluster::testing::filled;
use berth_core::ClusterName;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommitmentState, ResourceType, Time, testing};
use jiff::Timestamp;

use super::*;

fn home() -> ClusterName {
    ClusterName::home()
}

fn cores(uuid: &str, amount: &str, accepted: bool) -> CommittedResource {
    let mut object = testing::commitment(uuid, amount);
    object.spec.resource_type = ResourceType::Cores;
    let status = object.status.get_or_insert_default();
    let (word, reason) = if accepted { (Status::True, "Accepted") } else { (Status::False, "Reserving") };
    status.conditions = vec![ready_condition(word, reason, "", Some(1), Timestamp::UNIX_EPOCH)];
    status.accepted_spec = accepted.then(|| object.spec.clone());
    object
}

/// A waiting commitment here, one in another zone, one in another group, a served one, and one of memory.
fn store() -> Store<CommittedResource> {
    let (mut zone, mut group) = (cores("zone-1", "8", false), cores("group-1", "8", false));
    zone.spec.availability_zone = "elsewhere".to_owned();
    group.spec.flavor_group_name = "other".to_owned();
    let mut refused = cores("refused-1", "8", false);
    refused.status.get_or_insert_default().conditions =
        vec![ready_condition(Status::False, "Rejected", "", Some(1), Timestamp::UNIX_EPOCH)];
    let others = [cores("served-1", "8", true), testing::commitment("memory-1", "8Gi"), refused];
    filled(COMMITMENT_INDEXES, &home(), [cores("waiting-1", "8", false), zone, group].into_iter().chain(others))
}

fn names(keys: impl IntoIterator<Item = ObjectKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.name.to_string()).collect()
}

fn freed(old: &CommittedResource, new: Option<&CommittedResource>) -> Vec<String> {
    let key = ObjectKey::new(home(), "commitment-holder");
    let shared = |object: &CommittedResource| std::sync::Arc::new(object.clone());
    names(map_freed_cores(&Change { key, old: Some(shared(old)), new: new.map(shared) }, &store()))
}

#[test]
fn a_capacity_object_enqueues_who_waits_in_its_group_and_zone() {
    let mut object = FlavorGroupCapacity::default();
    object.spec.flavor_group = testing::GROUP.to_owned();
    object.spec.availability_zone = testing::ZONE.to_owned();
    let key = ObjectKey::new(home(), "capacity");
    let change = |new: Option<FlavorGroupCapacity>| Change { key: key.clone(), old: None, new: new.map(Into::into) };
    assert_eq!(names(map_capacity(&change(Some(object)), &store())), ["commitment-waiting-1"]);
    let all = names(map_capacity(&change(None), &store()));
    assert_eq!(
        all,
        ["commitment-group-1", "commitment-waiting-1", "commitment-zone-1"],
        "unreadable objects: all waiting commitments"
    );
}

#[test]
fn cores_that_become_free_enqueue_who_waits_for_them() {
    let held = cores("holder", "40", true);
    let change = |change: fn(&mut CommittedResource)| {
        let mut new = held.clone();
        change(&mut new);
        freed(&held, Some(&new))
    };
    let enqueued = ["commitment-waiting-1"];
    assert_eq!(freed(&held, None), enqueued, "the commitment is gone");
    assert_eq!(change(|new| new.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH))), enqueued);
    assert_eq!(change(|new| new.spec.state = CommitmentState::Superseded), enqueued);
    assert_eq!(change(|new| new.spec.state = CommitmentState::Planned), enqueued);
    assert_eq!(change(|new| accepted(new).amount = "39".into()), enqueued, "the commitment has shrunk");
    assert_eq!(
        change(|new| accepted(new).availability_zone = "elsewhere".to_owned()),
        enqueued,
        "the commitment has moved"
    );
    assert_eq!(change(|new| accepted(new).resource_type = ResourceType::Memory), enqueued);
    let ended = |new: &mut CommittedResource| {
        new.spec.end_time = Some(Time(Timestamp::UNIX_EPOCH));
        say(new, "expired");
    };
    assert_eq!(change(ended), enqueued, "the commitment has ended");
    assert_eq!(change(|new| say(new, "DuplicateUUID")), enqueued, "another object is served");
}

#[test]
fn cores_that_stay_taken_enqueue_no_commitment() {
    let held = cores("holder", "40", true);
    let mut desired = held.clone();
    desired.spec.amount = "8".into();
    assert_eq!(freed(&held, Some(&desired)), [""; 0], "a desired amount frees nothing before it is accepted");
    let mut larger = held.clone();
    accepted(&mut larger).amount = "41".into();
    assert_eq!(freed(&held, Some(&larger)), [""; 0]);
    assert_eq!(freed(&cores("holder", "40", false), None), [""; 0], "the commitment held nothing");
}

fn accepted(object: &mut CommittedResource) -> &mut berth_crds::CommittedResourceSpec {
    object.status.as_mut().unwrap().accepted_spec.as_mut().unwrap()
}

fn say(object: &mut CommittedResource, reason: &str) {
    object.status.as_mut().unwrap().conditions =
        vec![ready_condition(Status::False, reason, "", Some(1), Timestamp::UNIX_EPOCH)];
}
