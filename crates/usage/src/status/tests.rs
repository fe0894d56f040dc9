use berth_core::testing::at;
use berth_core::{Bytes, Cores, Resources};
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommitmentState, Time, testing};

use super::*;

fn times(seconds: i64) -> Times {
    Times { now: at(seconds), is_trusted: true }
}

fn object(uuid: &str) -> CommittedResource {
    let mut object = testing::commitment(uuid, "8Gi");
    let spec = object.spec.clone();
    let status = object.status.get_or_insert_default();
    status.accepted_spec = Some(spec);
    status.conditions = vec![ready_condition(Status::True, "Accepted", "", Some(3), at(0))];
    object
}

fn usable(uuid: &str) -> UsableCommitment {
    UsableCommitment {
        uuid: uuid.into(),
        resource: ResourceType::Memory,
        zone: testing::ZONE.into(),
        group: testing::GROUP.into(),
        amount: 8 << 30,
        start: None,
    }
}

fn usage() -> CommitmentUsage {
    let used = Resources::new(Bytes::from_mib(40_928), Cores::new(1000));
    CommitmentUsage { vms: vec!["vm-2".into(), "vm-1".into()], used, declared_gib: 40 }
}

fn written(object: &CommittedResource, seconds: i64) -> Option<CommittedResource> {
    with_usage(object, &usable(&object.spec.commitment_uuid), &usage(), times(seconds))
}

#[test]
fn usage_is_written_with_its_time_generation_and_summary() {
    let status = written(&object("uuid-1"), 7).unwrap().status.unwrap();
    assert_eq!(status.assigned_instances, ["vm-2", "vm-1"]);
    assert_eq!(status.used_resources, testing::size("40928Mi", "1k"));
    assert_eq!((status.used_declared_gib, status.usage_observed_generation), (Some(40), Some(3)));
    assert_eq!(status.last_usage_reconcile_at, Some(Time(at(7))));
    assert_eq!(status.status_summary.as_deref(), Some("Accepted · 2 VMs · no expiry"));
}

#[test]
fn a_commitment_of_cores_shows_its_cores_and_no_vms_because_each_vm_is_listed_once() {
    let mut of_cores = usage();
    of_cores.used.memory = Bytes::ZERO;
    let usable = UsableCommitment { resource: ResourceType::Cores, ..usable("uuid-1") };
    let status = with_usage(&object("uuid-1"), &usable, &of_cores, times(0)).unwrap().status.unwrap();
    assert_eq!(status.used_resources, testing::size("0", "1k"));
    assert!(status.assigned_instances.is_empty());
}

#[test]
fn the_generation_is_that_of_the_accepted_spec_and_stays_while_another_one_is_decided() {
    let mut first = written(&object("uuid-1"), 0).unwrap();
    first.status.as_mut().unwrap().conditions = vec![ready_condition(Status::False, "Reserving", "", Some(4), at(1))];
    assert!(written(&first, 1).is_none());
    first.status.as_mut().unwrap().conditions = vec![ready_condition(Status::True, "Accepted", "", Some(4), at(2))];
    assert_eq!(written(&first, 2).unwrap().status.unwrap().usage_observed_generation, Some(4));
}

#[test]
fn an_unchanged_usage_is_written_once_an_hour_and_not_at_the_same_time_as_that_of_others() {
    let mut minutes = std::collections::BTreeSet::new();
    for number in 0..50 {
        let mut object = written(&object(&format!("uuid-{number}")), 0).unwrap();
        let mut moments = Vec::new();
        for minute in 1..=180 {
            if let Some(new) = written(&object, 60 * minute) {
                (object, moments) = (new, [moments, vec![minute]].concat());
            }
        }
        assert_eq!(moments.len(), 3, "{moments:?}");
        assert!(moments.windows(2).all(|pair| pair[1] - pair[0] == 60), "{moments:?}");
        minutes.insert(moments[0]);
    }
    assert!(minutes.len() > 20, "{minutes:?}");
}

#[test]
fn nothing_is_written_because_of_a_time_that_is_not_trusted() {
    let object = written(&object("uuid-1"), 0).unwrap();
    let times = Times { is_trusted: false, ..times(86_400) };
    assert!(with_usage(&object, &usable("uuid-1"), &usage(), times).is_none());
}

#[test]
fn a_commitment_that_has_ended_loses_its_usage_once() {
    let mut ended = written(&object("uuid-1"), 0).unwrap();
    ended.spec.state = CommitmentState::Confirmed;
    ended.spec.end_time = Some(Time(at(59)));
    ended.status.as_mut().unwrap().accepted_spec.as_mut().unwrap().end_time = Some(Time(at(59)));
    let cleared = without_usage(&ended, at(60)).unwrap();
    let status = cleared.status.clone().unwrap();
    assert!(status.assigned_instances.is_empty() && status.used_resources.is_empty());
    assert_eq!((status.last_usage_reconcile_at, status.usage_observed_generation), (None, None));
    assert_eq!(status.status_summary.as_deref(), Some("Accepted · 0 VMs · expired"));
    assert!(without_usage(&cleared, at(61)).is_none());
}
