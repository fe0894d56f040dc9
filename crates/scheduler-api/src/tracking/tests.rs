//! Which VMs may use a slot, and how slots change.

use berth_core::flavor::{Flavor, FlavorGroups};
use berth_core::testing::{at, gib};
use berth_core::{Bytes, Resources};
use berth_crds::committed_resource::ResourceType;
use berth_crds::testing::{FLAVOR, GROUP, ZONE, commitment, slot};
use berth_crds::{CommitmentState, CommittedResource, Time};
use berth_scheduler::{Commitments, Guest, Request};
use serde_json::json;

use super::{Edit, enter, guest, leave};

const VM: &str = "11111111-2222-3333-4444-555555555555";

fn groups() -> FlavorGroups {
    let flavor = json!({ "name": FLAVOR, "vcpus": 4, "memoryMB": 16384 });
    let raw = json!({ "features": [{ "name": GROUP, "flavors": [flavor] }] });
    FlavorGroups::parse(&raw).unwrap().groups
}

/// A commitment of `amount` GiB, of which `used` are used.
fn of(amount: u64, used: u64) -> CommittedResource {
    let mut object = commitment("uuid-1", &format!("{amount}Gi"));
    object.status.get_or_insert_default().used_resources = berth_crds::testing::size(&format!("{used}Gi"), "1");
    object
}

fn request(flavor: &str) -> Request {
    let flavor = Flavor { name: flavor.into(), vcpus: 4, memory_mib: 16384, disk_gib: 0, extra_specs: [].into() };
    let owner = commitment("uuid-1", "1Gi").spec.project_id;
    Request { project: owner.as_str().into(), zone: ZONE.into(), ..Request::new(VM, flavor) }
}

/// The guest, if the commitments have something left.
fn asked(commitments: &[CommittedResource]) -> Option<Guest> {
    found(&request(FLAVOR), commitments)
}

fn found(request: &Request, commitments: &[CommittedResource]) -> Option<Guest> {
    guest(request, &groups(), commitments, Some(at(0))).filter(|guest| guest.commitments == Commitments::Left)
}

fn with(change: impl FnOnce(&mut CommittedResource)) -> Option<Guest> {
    let mut object = of(64, 0);
    change(&mut object);
    asked(&[object])
}

#[test]
fn a_project_with_capacity_in_its_commitment_has_a_guest() {
    let expected = Guest {
        group: GROUP.into(),
        size: Resources::new(gib(16), berth_core::Cores::new(4)),
        commitments: Commitments::Left,
    };
    assert_eq!(asked(&[of(64, 16)]), Some(expected.clone()));
    assert_eq!(asked(&[of(64, 0)]), Some(expected));
}

#[test]
fn a_commitment_that_is_used_up_is_none() {
    assert_eq!(asked(&[of(64, 64)]), None);
    assert!(asked(&[of(64, 64), of(16, 15)]).is_some(), "the sums decide");
    assert!(asked(&[of(64, 90), of(16, 0)]).is_none());
    assert!(asked(&[]).is_none());
}

#[test]
fn only_confirmed_and_guaranteed_commitments_count() {
    use CommitmentState::{Confirmed, Expired, Guaranteed, Pending, Planned, Superseded};
    for (state, counts) in [
        (Pending, false),
        (Planned, false),
        (Superseded, false),
        (Expired, false),
        (Confirmed, true),
        (Guaranteed, true),
    ] {
        assert_eq!(with(|object| object.spec.state = state).is_some(), counts, "{state}");
    }
}

#[test]
fn memory_in_the_zone_active_in_time_as_accepted() {
    let time = |seconds| Some(Time(at(seconds)));
    assert!(with(|object| object.spec.resource_type = ResourceType::Cores).is_none());
    assert!(with(|object| object.spec.availability_zone = "elsewhere".to_owned()).is_none());
    assert!(with(|object| object.spec.start_time = time(1)).is_none());
    assert!(with(|object| object.spec.start_time = time(0)).is_some());
    assert!(with(|object| object.spec.end_time = time(-1)).is_none());
    assert!(with(|object| object.spec.end_time = time(1)).is_some());
    assert!(with(|object| object.metadata.deletion_timestamp = time(0)).is_none());

    let accepted = |amount: u64, used: u64| {
        let mut object = of(64, used);
        object.status.get_or_insert_default().accepted_spec = Some(of(amount, 0).spec);
        asked(&[object])
    };
    assert!(accepted(32, 40).is_none(), "the desired 64 are not accepted");
    assert!(accepted(48, 40).is_some());
    let any = Request { zone: "".into(), ..request(FLAVOR) };
    assert!(found(&any, &[of(64, 0)]).is_some(), "no zone means any");
}

#[test]
fn the_project_is_that_of_the_vm() {
    assert!(with(|object| object.spec.project_id = "other".to_owned()).is_none());
    let without_project = Request { project: "".into(), ..request(FLAVOR) };
    let mut object = of(64, 0);
    object.spec.project_id = String::new();
    assert!(found(&without_project, &[object]).is_none());
}

#[test]
fn while_the_clock_cannot_be_trusted_the_states_of_commitments_count_alone() {
    let mut ended = of(64, 0);
    ended.spec.end_time = Some(Time(at(-1)));
    let commitments = |now| guest(&request(FLAVOR), &groups(), [&ended], now).unwrap().commitments;
    assert_eq!((commitments(Some(at(0))), commitments(None)), (Commitments::None, Commitments::Left));
}

#[test]
fn pay_as_you_go_is_no_guest() {
    assert_eq!(guest(&request("small"), &groups(), &[of(64, 0)], Some(at(0))), None, "in no group");
}

#[test]
fn what_the_commitments_have() {
    let commitments =
        |all: &[CommittedResource]| guest(&request(FLAVOR), &groups(), all, Some(at(0))).unwrap().commitments;
    assert_eq!(commitments(&[]), Commitments::None);
    assert_eq!(commitments(&[of(64, 64)]), Commitments::UsedUp);
    assert_eq!(commitments(&[of(0, 0)]), Commitments::UsedUp);
    assert_eq!(commitments(&[of(64, 63)]), Commitments::Left);
}

#[test]
fn slot_gets_one_more_vm() {
    let size = Resources::new(Bytes::from_mib(16384), berth_core::Cores::new(4));
    let old = slot("uuid-1", 1);
    let Edit::Write(new) = enter(&old, &VM.into(), size, at(0)) else { panic!("nothing to write") };
    let patch = berth_cluster::difference(&serde_json::to_value(&old).unwrap(), &serde_json::to_value(&new).unwrap());
    let allocation =
        json!({ "creationTimestamp": "2026-03-01T12:00:00Z", "resources": { "memory": "16Gi", "cpu": "4" } });
    assert_eq!(
        patch,
        Some(json!({ "spec": { "committedResourceReservation": { "allocations": { VM: allocation } } } }))
    );
    assert_eq!(enter(&new, &VM.into(), size, at(60)), Edit::Nothing);

    let Edit::Write(without) = leave(&new, &VM.into()) else { panic!("the VM stays") };
    assert_eq!((*without, leave(&old, &VM.into())), (old.clone(), Edit::Nothing));
    let mut bare = old;
    bare.spec.committed_resource_reservation = None;
    assert_eq!(enter(&bare, &VM.into(), size, at(0)), Edit::Gone);
}

#[test]
fn a_vm_that_was_seen_on_its_host_stays_in_its_slot() {
    let Edit::Write(mut slot) = enter(&slot("uuid-1", 1), &VM.into(), Resources::default(), at(0)) else { panic!() };
    let status = slot.status.get_or_insert_default().committed_resource_reservation.get_or_insert_default();
    status.allocations.insert(VM.to_owned(), "host".to_owned());
    assert_eq!(leave(&slot, &VM.into()), Edit::Nothing);
}
