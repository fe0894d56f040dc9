use berth_core::ClusterName;
use berth_core::testing::at;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommitmentState, Time, testing};
use serde_json::json;

use super::*;

const NOW: Times = Times { now: Timestamp::UNIX_EPOCH, is_trusted: true };
const UNTRUSTED: Times = Times { is_trusted: false, ..NOW };

fn second(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

/// An accepted commitment after this change of it, its condition and its accepted spec.
fn accepted(uuid: &str, edit: impl FnOnce(&mut CommittedResource)) -> StoredCommitment {
    let mut object = testing::commitment(uuid, "8Gi");
    let spec = object.spec.clone();
    let status = object.status.get_or_insert_default();
    status.accepted_spec = Some(spec);
    status.conditions = vec![ready_condition(Status::True, "Accepted", "", Some(1), NOW.now)];
    edit(&mut object);
    let key = ObjectKey::new(ClusterName::home(), format!("commitment-{uuid}"));
    StoredCommitment { key, object: Arc::new(object), others: Vec::new() }
}

fn edit_accepted(object: &mut CommittedResource, edit: impl FnOnce(&mut berth_crds::CommittedResourceSpec)) {
    edit(object.status.as_mut().unwrap().accepted_spec.as_mut().unwrap());
}

fn is_not_ready(object: &mut CommittedResource, reason: &str, generation: i64) {
    let ready = ready_condition(Status::False, reason, "", Some(generation), NOW.now);
    object.status.as_mut().unwrap().conditions = vec![ready];
}

fn word(edit: impl FnOnce(&mut CommittedResource), times: Times) -> &'static str {
    match standing(&accepted("uuid-1", edit), times) {
        Standing::Active(_) => "active",
        Standing::Inactive => "inactive",
        Standing::Kept => "kept",
    }
}

#[test]
fn vms_count_in_what_is_accepted_and_active() {
    assert_eq!(word(|_| (), NOW), "active");
    assert_eq!(word(|object| object.status = None, NOW), "inactive");
    assert_eq!(word(|object| edit_accepted(object, |spec| spec.state = CommitmentState::Pending), NOW), "inactive");
    assert_eq!(word(|object| edit_accepted(object, |spec| spec.state = CommitmentState::Guaranteed), NOW), "active");
    assert_eq!(word(|object| edit_accepted(object, |spec| spec.commitment_uuid = "no".to_owned()), NOW), "inactive");
    assert_eq!(word(|object| object.metadata.deletion_timestamp = Some(second(0)), NOW), "inactive");
}

#[test]
fn a_start_that_is_now_has_passed_and_an_end_that_is_now_has_not() {
    let start = |at| word(|object| edit_accepted(object, |spec| spec.start_time = Some(second(at))), NOW);
    assert_eq!([start(-1), start(0), start(1)], ["active", "active", "inactive"]);
    let end = |at| word(|object| edit_accepted(object, |spec| spec.end_time = Some(second(at))), NOW);
    assert_eq!([end(-1), end(0), end(1)], ["inactive", "active", "active"]);
    let shortened = |at| word(|object| object.spec.end_time = Some(second(at)), NOW);
    assert_eq!([shortened(-1), shortened(0)], ["inactive", "active"], "it need not be accepted");
}

#[test]
fn a_replaced_commitment_counts_until_its_controller_has_released_it() {
    let replaced = |edit: fn(&mut CommittedResource)| {
        move |object: &mut CommittedResource| {
            object.spec.state = CommitmentState::Superseded;
            object.metadata.generation = Some(2);
            edit(object);
        }
    };
    assert_eq!(word(replaced(|_| ()), NOW), "active");
    assert_eq!(word(replaced(|object| is_not_ready(object, "superseded", 1)), NOW), "active", "about another spec");
    assert_eq!(word(replaced(|object| is_not_ready(object, "superseded", 2)), NOW), "inactive");
}

#[test]
fn a_change_that_was_not_accepted_leaves_the_accepted_amount_in_force() {
    for reason in ["Rejected", "Reserving"] {
        let commitment = accepted("uuid-1", |object| {
            object.spec.amount = "16Gi".into();
            object.metadata.generation = Some(2);
            is_not_ready(object, reason, 2);
        });
        assert_eq!(standing(&commitment, NOW).usable().map(|usable| usable.amount), Some(8 << 30), "{reason}");
    }
}

#[test]
fn a_clock_that_is_not_trusted_starts_and_ends_nothing() {
    let timed = |object: &mut CommittedResource| edit_accepted(object, |spec| spec.end_time = Some(second(-1)));
    assert_eq!(word(timed, UNTRUSTED), "kept");
    assert_eq!(word(|object| edit_accepted(object, |spec| spec.start_time = Some(second(9))), UNTRUSTED), "kept");
    assert_eq!(word(|_| (), UNTRUSTED), "active", "no time decides");
    let expired = |object: &mut CommittedResource| {
        timed(object);
        is_not_ready(object, "expired", 1);
    };
    assert_eq!(word(expired, UNTRUSTED), "inactive", "its end was decided before");
}

fn vm(id: &str, minute: i64) -> ProjectVm {
    ProjectVm {
        id: id.into(),
        created: Some(at(60 * minute)),
        memory_mib: 4096,
        vcpus: 2,
        zone: testing::ZONE.into(),
        group: Some(testing::GROUP.into()),
        is_held: false,
    }
}

fn lists(object: &mut CommittedResource, vms: &[&str]) {
    object.status.as_mut().unwrap().assigned_instances = vms.iter().map(|vm| (*vm).to_owned()).collect();
}

fn names(plan: &UsagePlan) -> Vec<(&str, Vec<&str>)> {
    let listed = |change| -> Vec<&str> { vms_of(change).map(String::as_str).collect() };
    plan.changes.iter().map(|change| (&*change.key.name, listed(&change.new))).collect()
}

#[test]
fn two_objects_with_one_uuid_are_not_written_and_keep_their_vms() {
    let double = StoredCommitment {
        others: vec![ObjectKey::new(ClusterName::home(), "another")],
        ..accepted("uuid-1", |object| lists(object, &["vm-1"]))
    };
    let result = plan(&[double, accepted("uuid-2", |_| ())], vec![vm("vm-1", 1), vm("vm-2", 2)], NOW);
    assert_eq!(names(&result), [("commitment-uuid-2", vec!["vm-2"])]);
    assert_eq!(result.standings[0], Standing::Kept);
    assert_eq!(result.assignment.payg, [], "the VM of the other two is not paid as it goes");
}

/// It is not known which VMs the first one counts.
#[test]
fn commitments_of_cores_beside_one_that_is_kept_are_kept() {
    let cores = |object: &mut CommittedResource| {
        edit_accepted(object, |spec| {
            (spec.resource_type, spec.amount) = (berth_crds::ResourceType::Cores, "8".into());
        });
    };
    let timed = accepted("uuid-1", |object| {
        cores(object);
        edit_accepted(object, |spec| spec.end_time = Some(second(9)));
    });
    let elsewhere = accepted("uuid-3", |object| {
        cores(object);
        edit_accepted(object, |spec| spec.availability_zone = "other".to_owned());
    });
    let all = [timed, accepted("uuid-2", cores), elsewhere];
    let words: Vec<bool> =
        plan(&all, Vec::new(), UNTRUSTED).standings.iter().map(|one| *one == Standing::Kept).collect();
    assert_eq!(words, [true, true, false]);
}

#[test]
fn a_vm_leaves_one_commitment_before_it_is_shown_in_the_next() {
    let first = accepted("uuid-1", |_| ());
    let second = accepted("uuid-2", |object| lists(object, &["vm-1"]));
    let third = accepted("uuid-3", |object| lists(object, &["vm-3"]));
    let result = plan(&[first, second, third], vec![vm("vm-1", 1)], NOW);
    let order: Vec<_> = names(&result).into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, ["commitment-uuid-2", "commitment-uuid-3", "commitment-uuid-1"]);
}

#[test]
fn the_next_run_is_at_the_first_start_or_just_after_the_first_end() {
    let next = |edit: fn(&mut CommittedResource), times| plan(&[accepted("uuid-1", edit)], Vec::new(), times).next;
    let milliseconds = |count| Some(Timestamp::from_millisecond(count).unwrap());
    assert_eq!(next(|_| (), NOW), None);
    let both: fn(&mut CommittedResource) = |object| {
        object.spec.end_time = Some(second(7));
        edit_accepted(object, |spec| (spec.start_time, spec.end_time) = (Some(second(-1)), Some(second(9))));
    };
    assert_eq!(next(both, NOW), milliseconds(7001));
    assert_eq!(next(both, UNTRUSTED), None);
    assert_eq!(next(|object| edit_accepted(object, |spec| spec.start_time = Some(second(5))), NOW), milliseconds(5000));
    assert_eq!(next(|object| object.spec.end_time = Some(second(0)), NOW), milliseconds(1), "it ends now");
}

#[test]
fn a_commitment_that_was_never_accepted_is_not_written() {
    let result = plan(&[accepted("uuid-1", |object| object.status = None)], vec![vm("vm-1", 1)], NOW);
    assert!(result.changes.is_empty(), "{:?}", json!(names(&result)));
}
