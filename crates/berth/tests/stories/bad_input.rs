//! Input that passes admission and cannot be served: a condition says what to change, everything else continues to
//! work, the log stays small, and correcting the input heals it. Runs the real binary on a real API server.

use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation, generate, names};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::http;
use crate::support::objects::{
    EMPTY_GROUP, OTHER_ZONE, flavor_groups, host, in_zone, mixed, non_rejectable, rejectable, slot_name,
};
use crate::support::seen::ready;
use crate::support::unreadable::{newer_crds, store_unreadable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

/// A commitment of another user is served as if nothing was wrong.
async fn others_are_served(world: &World) {
    world.create(&in_zone(host("healthy", 1), OTHER_ZONE)).await;
    let mut commitment = non_rejectable("healthy-1", 1);
    OTHER_ZONE.clone_into(&mut commitment.spec.availability_zone);
    world.create(&commitment).await;
    world.accepted("healthy-1").await;
}

/// A mistake in the input causes a few log lines, not a stream.
fn the_log_is_small(world: &World) {
    let log = world.operator().log();
    // The start logs 16 lines.
    assert!(log.lines().count() <= 40, "{} lines:\n{log}", log.lines().count());
}

#[tokio::test]
async fn an_unknown_flavor_group() {
    let world = World::begin().await;
    world.create(&host("node1", 2)).await;
    for (uuid, rejected) in [("group-patient", false), ("group-strict", true)] {
        let mut commitment = if rejected { rejectable(uuid, 1) } else { non_rejectable(uuid, 1) };
        "mem_v9".clone_into(&mut commitment.spec.flavor_group_name);
        world.create(&commitment).await;
    }
    let text = "flavor group not found: mem_v9; spec.flavorGroupName must be one of: empty_v1, gp_v5, mem_v4";
    world.reported("group-patient", "Reserving", text).await;
    world.reported("group-strict", "Rejected", text).await;
    others_are_served(&world).await;
    the_log_is_small(&world);

    let mut groups = flavor_groups();
    let mut new = groups["features"][0].clone();
    new["name"] = json!("mem_v9");
    groups["features"].as_array_mut().unwrap().push(new);
    world.publish_flavor_groups(groups).await;
    world.accepted("group-patient").await;
    world.respec("group-strict", json!({ "flavorGroupName": "mem_v4" })).await;
    world.accepted("group-strict").await;
    world.end().await;
}

#[tokio::test]
async fn a_flavor_group_without_flavors() {
    let world = World::begin().await;
    world.create(&host("node1", 1)).await;
    let mut commitment = non_rejectable("empty-1", 1);
    EMPTY_GROUP.clone_into(&mut commitment.spec.flavor_group_name);
    world.create(&commitment).await;
    let text = "flavor group empty_v1 has no flavors: add flavors with the extra spec quota:hw_version=empty_v1";
    world.reported("empty-1", "Reserving", text).await;
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.respec("empty-1", json!({ "flavorGroupName": "mem_v4" })).await;
    world.accepted("empty-1").await;
    world.end().await;
}

#[tokio::test]
async fn a_zone_without_hosts() {
    let world = World::begin().await;
    world.create(&non_rejectable("zone-1", 1)).await;
    others_are_served(&world).await;
    let text = "insufficient capacity: 0/1 reservation slots could be placed";
    world.reported("zone-1", "Reserving", text).await;
    let hint = "no host is in zone eu-test-1a, correct spec.availabilityZone or label hosts with it";
    // The message has the hint only once there are hosts to count.
    world.respec("zone-1", json!({ "allowRejection": true })).await;
    let seen = world.reported("zone-1", "Rejected", text).await;
    let message = &ready(seen.commitment("zone-1").unwrap()).unwrap().message;
    assert!(message.ends_with(hint), "{message}");
    the_log_is_small(&world);
    world.respec("zone-1", json!({ "allowRejection": false })).await;
    world.create(&host("node1", 1)).await;
    world.accepted("zone-1").await;
    // A typo in the zone of an accepted commitment costs it nothing.
    world.respec("zone-1", json!({ "availabilityZone": "eu-tset-1a" })).await;
    world.reported("zone-1", "Reserving", "no host is in zone eu-tset-1a").await;
    assert_eq!(world.rest().await.hosts_of("zone-1"), ["node1"]);
    world.respec("zone-1", json!({ "availabilityZone": "eu-test-1a" })).await;
    world.accepted("zone-1").await;
    world.end().await;
}

#[tokio::test]
async fn flavor_groups_that_cannot_be_read() {
    let mut world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("before-1", 1)).await;
    world.accepted("before-1").await;
    world.publish_flavor_groups(json!({ "features": "none" })).await;
    let mut unknown = rejectable("unknown-1", 1);
    "mem_v9".clone_into(&mut unknown.spec.flavor_group_name);
    world.create(&unknown).await;
    // Outdated data does not prove that a group does not exist.
    let outdated = "flavor knowledge not ready: failed to unbox flavor group features";
    world.reported("unknown-1", "Reserving", outdated).await;
    // The last valid flavor groups stay in effect for what exists, and nothing grows by them.
    world.create(&rejectable("newest-1", 1)).await;
    world.reported("newest-1", "Reserving", outdated).await;
    world.delete::<Reservation>(&slot_name("before-1", 0)).await;
    world.accepted("before-1").await;
    world.event_says("FlavorGroupsOutdated", "failed to unbox flavor group features").await;
    let (_, ready) = world.operator().probe("/readyz").await.unwrap();
    assert!(ready.contains("flavor groups: new and growing commitments wait: failed to unbox"), "{ready}");
    assert!(!world.operator().metrics().await.contains("berth_flavor_groups_age_seconds 0\n"));
    the_log_is_small(&world);

    // An extractor that found nothing proves nothing, either.
    world.publish_flavor_groups(json!({ "features": [] })).await;
    let empty = "flavor knowledge not ready: flavor groups knowledge is not ready: it has no flavor group";
    world.reported("newest-1", "Reserving", empty).await;
    world.reported("unknown-1", "Reserving", empty).await;
    world.publish_flavor_groups(json!({ "features": "none" })).await;

    // A new process has no last valid flavor groups: existing slots stay, and new commitments wait.
    world.stop().await;
    world.start().await;
    world.create(&rejectable("after-1", 1)).await;
    world.reported("after-1", "Reserving", "flavor knowledge not ready: failed to unbox flavor group features").await;
    assert_eq!(world.accepted("before-1").await.hosts_of("before-1"), ["node1"]);
    the_log_is_small(&world);

    world.delete::<Knowledge>(names::FLAVOR_GROUPS).await;
    let missing = "flavor knowledge not ready: failed to get flavor groups knowledge: knowledges.cortex.cloud \"flavor-groups\" not found";
    world.create(&rejectable("missing-1", 1)).await;
    world.reported("missing-1", "Reserving", missing).await;
    world.publish_usual_flavor_groups().await;
    for uuid in ["newest-1", "after-1", "missing-1", "before-1"] {
        world.accepted(uuid).await;
    }
    world.reported("unknown-1", "Rejected", "flavor group not found: mem_v9").await;
    world.until_metric("berth_flavor_groups_age_seconds", &[], 0).await;
    world.end().await;
}

/// The usual flavor groups and so many without flavors that all take about this many bytes.
fn large_flavor_groups(bytes: usize) -> Value {
    let mut groups = flavor_groups();
    let more = (0..bytes / 64).map(|number| json!({ "name": format!("{number:0>32}"), "flavors": [] }));
    groups["features"].as_array_mut().unwrap().extend(more);
    groups
}

/// The API server refuses requests of more than 3 MiB, and etcd objects of more than 1.5 MiB.
#[tokio::test]
async fn flavor_groups_of_ten_mib_are_not_stored_and_the_largest_that_are_serve_all() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("before-1", 1)).await;
    world.accepted("before-1").await;
    for mib in [2, 10] {
        let patch = Patch::Merge(json!({ "status": { "raw": large_flavor_groups(mib << 20) } }));
        let api = world.raw::<Knowledge>();
        let refused = api.patch_status(names::FLAVOR_GROUPS, &PatchParams::default(), &patch).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("too large"), "{mib} MiB: {error}");
    }
    world.publish_flavor_groups(large_flavor_groups(1300 << 10)).await;
    world.create(&non_rejectable("after-1", 1)).await;
    world.accepted("after-1").await;
    assert_eq!(world.rest().await.hosts_of("before-1"), ["node1"]);
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.end().await;
}

#[tokio::test]
async fn a_hypervisor_with_quantities_that_make_no_sense() {
    let mut odd = host("node1", 4);
    odd.status.as_mut().unwrap().effective_capacity.insert("memory".to_owned(), "-5Gi".into());
    let world = World::with_hosts(&[odd]).await;
    world.create(&rejectable("strange-1", 1)).await;
    let text = "insufficient capacity: 0/1 reservation slots could be placed: 1 host; unreadable capacity 1";
    let seen = world.reported("strange-1", "Rejected", text).await;
    let message = &ready(seen.commitment("strange-1").unwrap()).unwrap().message;
    assert!(message.contains("node1") && message.contains("status.effectiveCapacity.memory is \"-5Gi\""), "{message}");
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.create(&non_rejectable("strange-2", 1)).await;
    world.reported("strange-2", "Reserving", "insufficient capacity: 0/1").await;
    let right = json!({ "status": { "effectiveCapacity": { "memory": "1920Gi" } } });
    world.edit_status::<Hypervisor>("node1", right).await;
    world.accepted("strange-2").await;
    world.end().await;
}

#[tokio::test]
async fn a_reservation_that_cannot_be_read() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    world.install(newer_crds()).await;
    store_unreadable(&world, "future-1", "node1").await;
    store_unreadable(&world, &slot_name("future-own", 0), "elsewhere").await;
    world.install_all().await;
    world.start().await;
    // Its host is not offered, because its usage there is unknown.
    world.create(&rejectable("future-2", 1)).await;
    world.reported("future-2", "Rejected", "insufficient capacity: 0/1 reservation slots could be placed").await;
    // A commitment that may own it cannot be counted.
    world.create(&non_rejectable("future-own", 1)).await;
    let text = "Reservation commitment-future-own-0 cannot be read, correct or delete it: ";
    world.reported("future-own", "Reserving", text).await;
    others_are_served(&world).await;
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, "berth_store_invalid_objects", &["Reservation"]), 2, "{metrics}");
    the_log_is_small(&world);

    world.delete::<Reservation>("future-1").await;
    world.delete::<Reservation>(&slot_name("future-own", 0)).await;
    world.accepted("future-own").await;
    world.respec("future-2", json!({ "startTime": "2026-03-01T08:00:00Z" })).await;
    world.accepted("future-2").await;
    world.end().await;
}

/// An object of old data: its name does not follow from its UUID.
fn old(name: &str, uuid: &str) -> Value {
    let mut object = serde_json::to_value(non_rejectable(uuid, 1)).unwrap();
    object["metadata"] = json!({ "name": name });
    object
}

#[tokio::test]
async fn two_objects_with_one_uuid() {
    let mut world = World::without_operator().await;
    world.install(generate::without_rules()).await;
    world.create(&host("node1", 2)).await;
    for name in ["commitment-double-1", "aaa-first-by-name"] {
        let object = old(name, "double-1");
        until(async || world.create_raw::<CommittedResource>(object.clone()).await).await.unwrap();
    }
    world.install_all().await;
    world.start().await;
    // The object with the canonical name is served, whatever the order.
    world.accepted("double-1").await;
    let text = "commitment is not served: commitment-double-1 has the same spec.commitmentUUID and is served; delete one of the two";
    let seen = world.object_says("aaa-first-by-name", "DuplicateUUID", text).await;
    assert_eq!(seen.slots_of("double-1").len(), 1);
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.holds_invariants().await;

    // The other one is served as soon as the served one is deleted, and has its own slots.
    world.delete_commitment("double-1").await;
    world.object_says("aaa-first-by-name", "Accepted", "").await;
    let after = world.rest().await;
    let slots: Vec<_> = after.slots_of("double-1").iter().map(|slot| slot.name_any()).collect();
    assert_eq!(slots, ["aaa-first-by-name-0"]);
    world.end().await;
}

#[tokio::test]
async fn an_old_object_that_makes_no_sense() {
    let mut world = World::without_operator().await;
    world.install(generate::without_rules()).await;
    let mut objects = vec![];
    for (name, key, value) in [
        ("commitment-old-negative", "amount", json!("-5Gi")),
        ("commitment-old-short", "commitmentUUID", json!("x")),
        ("commitment-old-empty", "commitmentUUID", json!("")),
        ("commitment-old-huge", "amount", json!("9999999999999Ei")),
    ] {
        let mut object = old(name, name.trim_start_matches("commitment-"));
        object["spec"][key] = value;
        objects.push(object);
    }
    for object in objects {
        until(async || world.create_raw::<CommittedResource>(object.clone()).await).await.unwrap();
    }
    world.install_all().await;
    world.start().await;
    let invalid = "unexpected commitment format";
    world.object_says("commitment-old-short", "Rejected", invalid).await;
    world.object_says("commitment-old-empty", "Rejected", invalid).await;
    let reported = |name: &'static str| {
        let world = &world;
        async move {
            world
                .until("the object has a condition", |seen| {
                    let reported =
                        seen.named(name).and_then(ready).map(|ready| format!("{}: {}", ready.reason, ready.message));
                    reported.ok_or_else(|| format!("{name} has no condition"))
                })
                .await
        }
    };
    let (negative, huge) = (reported("commitment-old-negative").await, reported("commitment-old-huge").await);
    assert!(!negative.starts_with("Accepted") && !huge.starts_with("Accepted"), "{negative}\n{huge}");
    others_are_served(&world).await;
    the_log_is_small(&world);
    let held = world.now().await.slots().count();
    so(held == 1, || format!("{held} slots")).unwrap();
    // Deletion works for all of them.
    for name in ["commitment-old-negative", "commitment-old-short", "commitment-old-empty", "commitment-old-huge"] {
        world.delete::<CommittedResource>(name).await;
    }
    world.until("they are gone", |seen| so(seen.commitments.len() == 1, || "not yet".to_owned())).await;
    world.end().await;
}

#[tokio::test]
async fn a_commitment_of_more_slots_than_anybody_has() {
    let world = World::begin().await;
    world.create(&host("node1", 1)).await;
    world.create(&mixed("giant-1", "8Ei")).await;
    world.create(&rejectable("giant-2", 1_000_000)).await;
    let text = "commitment would create";
    world.reported("giant-1", "Reserving", text).await;
    world.reported("giant-2", "Rejected", text).await;
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.respec("giant-1", json!({ "amount": "0" })).await;
    world.accepted("giant-1").await;
    world.end().await;
}

/// A commitment of many slots that do not fit must not keep the operator from other commitments.
#[tokio::test]
async fn a_commitment_of_which_hardly_anything_fits() {
    let world = World::begin().await;
    world.create(&host("node1", 1)).await;
    world.create(&non_rejectable("many-1", 1500)).await;
    world.reported("many-1", "Reserving", "insufficient capacity: 1/1500").await;
    others_are_served(&world).await;
    the_log_is_small(&world);
    world.delete_commitment("many-1").await;
    world
        .until("its slots are gone", |seen| {
            so(seen.slot("commitment-many-1-7").is_none(), || "one is there".to_owned())
        })
        .await;
    world.end().await;
}
