//! Cycles over one zone with the group `amber`, and what they write and delete.

use berth_core::capacity::{Occupied, ProbedFlavor};
use berth_core::host::Amounts;
use berth_core::testing::{amber, at, gib, spec};
use berth_core::{ClusterName, Cores, Resources};
use berth_crds::conditions;
use serde_json::{Value, json};

use super::*;

const ZONE: &str = "az-a";

fn size(memory: u64, cpu: i64) -> Resources {
    Resources::new(gib(memory), Cores::new(cpu))
}

/// Two hosts of 120 GiB, on which 60 and 30 GiB are free.
fn hosts() -> Vec<ProbedHost> {
    let host = |memory, cpu| ProbedHost { capacity: Amounts::from(size(120, 40)), free: size(memory, cpu) };
    vec![host(60, 20), host(30, 10)]
}

/// The scheduler takes both hosts for each flavor.
fn probed(group: &FlavorGroup) -> ProbedGroup {
    let flavor = |flavor: &berth_core::flavor::Flavor| ProbedFlavor {
        name: flavor.name.clone(),
        size: flavor.size(),
        on_empty_hosts: [0, 1].into(),
        at_present: [0, 1].into(),
    };
    let smallest = group.smallest().unwrap().name.clone();
    ProbedGroup { name: group.name.clone(), flavors: group.flavors.iter().map(flavor).collect(), smallest }
}

fn place(group: &str, zone: &str) -> Place {
    (group.into(), zone.into())
}

/// One running VM of 30 GiB, and an empty slot of 12 GiB.
fn cycle(group: &FlavorGroup) -> CycleFacts {
    let places = vec![PlaceFacts { group: group.name.clone(), probed: Some(probed(group)) }];
    let running = Occupied { instances: 1, resources: size(30, 10), units: 30 };
    let reserved = Occupied { instances: 1, resources: size(12, 4), units: 12 };
    CycleFacts {
        groups: Arc::new([group.clone()].into_iter().collect()),
        zones: vec![ZoneFacts { zone: ZONE.into(), hosts: hosts(), places }],
        unreadable: BTreeMap::new(),
        running: Ok([(place("amber", ZONE), running)].into()),
        reserved: [(place("amber", ZONE), reserved)].into(),
        accepted: [(place("amber", ZONE), vec![spec("36Gi")])].into(),
        stored: Vec::new(),
        is_complete: true,
        absent_before: BTreeSet::new(),
        now: at(0),
        trusted_now: Some(at(0)),
    }
}

fn stored(object: &FlavorGroupCapacity) -> StoredCapacity {
    let name = object.metadata.name.clone().unwrap();
    StoredCapacity { key: ObjectKey::new(ClusterName::home(), name), object: Arc::new(object.clone()) }
}

fn stored_for(group: &str, zone: &str) -> StoredCapacity {
    stored(&new_object(&place(group, zone)))
}

fn only(plan: &CapacityPlan) -> &CapacityWrite {
    assert_eq!(plan.writes.len(), 1);
    &plan.writes[0]
}

fn status(write: &CapacityWrite) -> Value {
    serde_json::to_value(write.object.status.as_ref().unwrap()).unwrap()
}

fn ready(write: &CapacityWrite) -> (String, String) {
    let conditions = &write.object.status.as_ref().unwrap().conditions;
    let ready = conditions::ready(conditions).unwrap();
    (ready.status.clone(), ready.message.clone())
}

#[test]
fn a_first_cycle_creates_the_object_with_all_numbers() {
    let group = amber();
    let plan = plan(&cycle(&group));
    let write = only(&plan);
    assert!(write.stored.is_none() && plan.orphans.is_empty());
    assert_eq!(write.object.metadata.name.as_deref(), Some(&*names::flavor_group_capacity("amber", ZONE)));
    let mut status = status(write);
    status.as_object_mut().unwrap().remove("conditions");
    let expected = json!({
        "flavors": [
            {"flavorName": "amber_l", "placeableHosts": 2, "placeableVms": 3, "totalCapacityHosts": 2, "totalCapacityVmSlots": 8},
            {"flavorName": "amber_s", "placeableHosts": 2, "placeableVms": 7, "totalCapacityHosts": 2, "totalCapacityVmSlots": 20},
            {"flavorName": "amber_xl", "placeableHosts": 1, "placeableVms": 1, "totalCapacityHosts": 2, "totalCapacityVmSlots": 4},
        ],
        "smallestFlavorName": "amber_s",
        "committedCapacity": 3, "committedCapacityBytes": 36_u64 << 30,
        "totalCapacity": {"memory": "240Gi", "cores": "80"},
        "freeCapacity": {"memory": "84Gi", "cores": "28"},
        "exclusivelyFreeCapacity": {"memory": "84Gi", "cores": "28"}, "exclusivelyFreeSlots": 7,
        "runningInstances": 1, "runningResources": {"memory": "30Gi", "cores": "10"}, "runningUnits": 30,
        "reservedInstances": 1, "reservedResources": {"memory": "12Gi", "cores": "4"}, "reservedUnits": 12,
        "lastReconcileAt": "2026-03-01T12:00:00Z",
    });
    assert_eq!(status, expected);
    assert_eq!(ready(write), ("True".to_owned(), "capacity data is up-to-date".to_owned()));
}

#[test]
fn a_failed_probe_leaves_the_numbers_as_they_are() {
    let group = amber();
    let first = stored(&only(&plan(&cycle(&group))).object);
    let mut later = CycleFacts { stored: vec![first], now: at(300), ..cycle(&group) };
    later.zones[0].places[0].probed = None;
    let failed = plan(&later);
    let write = only(&failed);
    assert_eq!(ready(write).0, "False");
    let numbers = |write: &CapacityWrite| {
        let mut status = status(write);
        status.as_object_mut().unwrap().remove("conditions");
        status
    };
    assert_eq!(numbers(write), numbers(only(&plan(&cycle(&group)))), "also the time");
    later.stored.clear();
    assert!(plan(&later).writes.is_empty(), "nothing is created");
}

#[test]
fn running_vms_stay_while_they_are_not_known_and_the_message_says_so() {
    let group = amber();
    let first = stored(&only(&plan(&cycle(&group))).object);
    let away = CycleFacts { running: Err("the table is away".to_owned()), now: at(300), ..cycle(&group) };
    let plan_of = |stored| plan(&CycleFacts { stored, ..away.clone() });
    let kept = plan_of(vec![first]);
    let status = status(only(&kept));
    assert_eq!((&status["runningInstances"], &status["runningUnits"]), (&json!(1), &json!(30)));
    assert_eq!(status["lastReconcileAt"], "2026-03-01T12:05:00Z");
    let message = "capacity data is up-to-date, except for the running VMs: the table is away";
    assert_eq!(ready(only(&kept)), ("True".to_owned(), message.to_owned()));
    assert!(
        super::tests::status(only(&plan_of(Vec::new()))).get("runningInstances").is_none(),
        "not known is not zero"
    );
}

#[test]
fn a_group_without_vms_slots_and_hosts_has_explicit_zeros() {
    let group = amber();
    let mut empty = CycleFacts { running: Ok([].into()), reserved: [].into(), ..cycle(&group) };
    empty.zones[0].hosts.clear();
    let plan = plan(&empty);
    let status = status(only(&plan));
    for field in ["runningInstances", "runningUnits", "reservedInstances", "reservedUnits", "exclusivelyFreeSlots"] {
        assert_eq!(status[field], 0, "{field}");
    }
    let zeros = json!({"memory": "0", "cores": "0"});
    for field in ["freeCapacity", "exclusivelyFreeCapacity", "totalCapacity"] {
        assert_eq!(status[field], zeros, "{field}");
    }
    assert!(status.get("runningResources").or_else(|| status.get("reservedResources")).is_none());
}

#[test]
fn an_object_is_deleted_when_its_place_was_absent_in_two_cycles() {
    let group = amber();
    let all = vec![stored_for("gone", ZONE), stored_for("amber", "az-gone"), stored_for("amber", ZONE)];
    let first = plan(&CycleFacts { stored: all.clone(), ..cycle(&group) });
    assert!(first.orphans.is_empty());
    assert_eq!(first.absent, [place("gone", ZONE), place("amber", "az-gone")].into());
    let second = plan(&CycleFacts { stored: all.clone(), absent_before: first.absent.clone(), ..cycle(&group) });
    let orphans: Vec<_> = second.orphans.iter().map(|one| &one.key).collect();
    assert_eq!(orphans, [&all[0].key, &all[1].key]);
    assert_eq!(only(&second).stored.as_ref().map(|one| &one.key), Some(&all[2].key));
}

#[test]
fn nothing_is_deleted_while_a_cluster_is_away_and_its_objects_are_not_ready() {
    let group = amber();
    let all = vec![stored_for("amber", "az-away")];
    let absent_before: BTreeSet<Place> = [place("amber", "az-away")].into();
    let plan = plan(&CycleFacts { stored: all, absent_before, is_complete: false, ..cycle(&group) });
    assert!(plan.orphans.is_empty() && plan.absent.is_empty());
    let written: Vec<_> =
        plan.writes.iter().map(|one| (one.object.spec.availability_zone.as_str(), ready(one).0)).collect();
    assert_eq!(written, [(ZONE, "True".to_owned()), ("az-away", "False".to_owned())], "the other zone is computed");
}

#[test]
fn the_message_says_why_the_numbers_may_be_old() {
    let mut group = amber();
    let all = vec![stored_for("amber", "az-away"), stored_for("amber", "az-gone"), stored_for("bare", ZONE)];
    let unreadable = [("az-away".into(), "no route to host".to_owned())].into();
    let mut facts = CycleFacts { stored: all, is_complete: false, unreadable, ..cycle(&group) };
    (group.name, group.flavors) = ("bare".into(), Vec::new());
    facts.groups = Arc::new([amber(), group].into_iter().collect());
    let messages = |plan: &CapacityPlan| plan.writes.iter().skip(1).map(|write| ready(write).1).collect::<Vec<_>>();
    let no_flavor = "the flavor group has no flavor with memory; capacity data may be stale";
    assert_eq!(
        messages(&plan(&facts)),
        [
            "the zone cannot be read: no route to host; capacity data may be stale",
            "not all clusters can be read; capacity data may be stale",
            no_flavor
        ]
    );
    facts.stored.drain(..2);
    facts.is_complete = true;
    facts.absent_before = [place("bare", ZONE)].into();
    let complete = plan(&facts);
    assert!(complete.orphans.is_empty() && complete.absent.is_empty(), "a group that cannot be probed is not absent");
    assert_eq!(messages(&complete), [no_flavor]);
}

#[test]
fn without_a_trusted_time_a_commitment_that_may_have_ended_counts() {
    let group = amber();
    let ended = berth_core::commitment::Spec { end: Some(at(-1)), ..spec("36Gi") };
    let accepted: AcceptedByPlace = [(place("amber", ZONE), vec![ended])].into();
    for (trusted_now, expected) in [(Some(at(0)), 0), (None, 3)] {
        let plan = plan(&CycleFacts { accepted: accepted.clone(), trusted_now, ..cycle(&group) });
        assert_eq!(status(only(&plan))["committedCapacity"], expected);
    }
}

#[test]
fn the_first_status_is_that_of_the_first_generation() {
    let plan = plan(&cycle(&amber()));
    let conditions = &only(&plan).object.status.as_ref().unwrap().conditions;
    assert_eq!(conditions::ready(conditions).unwrap().observed_generation, Some(1));
}

#[test]
fn of_two_objects_of_a_place_the_first_by_name_is_written() {
    let group = amber();
    let mut copy = new_object(&place("amber", ZONE));
    copy.metadata.name = Some("a-copy".to_owned());
    let plan = plan(&CycleFacts { stored: vec![stored_for("amber", ZONE), stored(&copy)], ..cycle(&group) });
    assert_eq!(&*only(&plan).stored.as_ref().unwrap().key.name, "a-copy");
}

#[test]
fn a_cycle_with_the_same_facts_changes_only_the_time() {
    let group = amber();
    let first = plan(&cycle(&group));
    let again = plan(&CycleFacts { stored: vec![stored(&only(&first).object)], now: at(300), ..cycle(&group) });
    let mut expected = only(&first).object.clone();
    expected.status.as_mut().unwrap().last_reconcile_at = Some(conditions::whole_seconds(at(300)));
    assert_eq!(only(&again).object, expected);
}
