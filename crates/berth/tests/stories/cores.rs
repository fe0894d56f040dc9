//! Commitments of cores: which are accepted, which wait for what, and the messages about invalid input. Runs the real
//! binary on real API servers.

use berth_crds::{CommittedResource, FlavorGroupCapacity, generate, names};
use serde_json::{Value, json};

use crate::support::objects::{GROUP, OTHER_ZONE, ZONE, capacity, cores};
use crate::support::two_clusters::Side::{Home, Remote};
use crate::support::two_clusters::{TwoClusters, of_remote};
use crate::support::waiting::{so, until};
use crate::support::world::World;

/// The name of the object that counts the cores of [`ZONE`].
fn counting() -> String {
    names::flavor_group_capacity(GROUP, ZONE)
}

fn of(cores: u64) -> Value {
    json!({ "status": { "totalCapacity": { "cores": cores.to_string() } } })
}

fn rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = cores(uuid, count);
    commitment.spec.allow_rejection = true;
    commitment
}

#[tokio::test]
async fn from_no_capacity_to_capacity_for_all() {
    let world = World::begin().await;
    world.create(&cores("patient-1", 40)).await;
    world.create(&rejectable("strict-1", 40)).await;
    let missing = "waiting for capacity data: no FlavorGroupCapacity object has spec.flavorGroup mem_v4";
    world.reported("patient-1", "Reserving", missing).await;
    world.reported("strict-1", "Reserving", missing).await;

    world.create(&capacity(ZONE, None)).await;
    world.reported("strict-1", "Reserving", "waiting for CPU capacity data").await;

    world.edit_status::<FlavorGroupCapacity>(&counting(), of(30)).await;
    world.reported("patient-1", "Reserving", "insufficient CPU cores: 30 available, 40 requested").await;
    world.reported("strict-1", "Rejected", "insufficient CPU cores: 30 available, 40 requested").await;

    world.edit_status::<FlavorGroupCapacity>(&counting(), of(80)).await;
    let seen = world.accepted("patient-1").await;
    assert!(seen.slots().next().is_none(), "commitments of cores have no slots");
    let object = seen.commitment("patient-1").unwrap();
    let status = object.status.as_ref().unwrap();
    assert_eq!((status.accepted_spec.as_ref(), &object.metadata.finalizers), (Some(&object.spec), &None));
    world.reported("strict-1", "Rejected", "insufficient CPU cores: 30 available, 40 requested").await;
    world.respec("strict-1", json!({ "amount": "39" })).await;
    world.accepted("strict-1").await;
    world.end().await;
}

#[tokio::test]
async fn two_commitments_for_one_headroom() {
    let world = World::begin().await;
    world.create(&capacity(ZONE, Some(100))).await;
    let new: Vec<_> = ["one-of-1", "one-of-2", "one-of-3"].map(|uuid| cores(uuid, 60)).into();
    futures::future::join_all(new.iter().map(|commitment| world.create(commitment))).await;
    let reasons = |seen: &crate::support::seen::Seen| {
        let ready = seen.commitments.iter().filter_map(crate::support::seen::ready);
        let mut reasons: Vec<_> = ready.map(|ready| ready.reason.clone()).collect();
        reasons.sort();
        reasons
    };
    let one = world.until("one is accepted, two wait", |seen| {
        so(reasons(seen) == ["Accepted", "Reserving", "Reserving"], || format!("{:?}", reasons(seen)))?;
        let accepted = seen.commitments.iter().find(|c| crate::support::seen::ready(c).unwrap().reason == "Accepted");
        Ok(accepted.unwrap().spec.commitment_uuid.clone())
    });
    let first = one.await;
    // The total grows, and a waiting commitment is served at once.
    world.edit_status::<FlavorGroupCapacity>(&counting(), of(120)).await;
    world
        .until("two are accepted", |seen| {
            so(reasons(seen) == ["Accepted", "Accepted", "Reserving"], || "no".to_owned())
        })
        .await;
    // Released cores go to a waiting commitment.
    world.delete_commitment(&first).await;
    world
        .until("both are accepted", |seen| so(reasons(seen) == ["Accepted", "Accepted"], || "not yet".to_owned()))
        .await;
    // A smaller total revokes nothing.
    world.edit_status::<FlavorGroupCapacity>(&counting(), of(1)).await;
    world.create(&cores("late-comer-1", 1)).await;
    world.reported("late-comer-1", "Reserving", "insufficient CPU cores: -119 available, 1 requested").await;
    assert_eq!(reasons(&world.now().await), ["Accepted", "Accepted", "Reserving"]);
    world.edit_status::<FlavorGroupCapacity>(&counting(), of(121)).await;
    world.accepted("late-comer-1").await;
    world.end().await;
}

#[tokio::test]
async fn an_unknown_group_and_two_objects_about_one_place() {
    let world = World::begin().await;
    let mut unknown = rejectable("unknown-1", 4);
    "mem_v9".clone_into(&mut unknown.spec.flavor_group_name);
    world.create(&unknown).await;
    let text = "flavor group not found: mem_v9; spec.flavorGroupName must be one of: empty_v1, gp_v5, mem_v4";
    world.reported("unknown-1", "Rejected", text).await;

    let (mut first, mut second) = (capacity(ZONE, Some(4)), capacity(ZONE, Some(400)));
    (first.metadata.name, second.metadata.name) = (Some("a-first".to_owned()), Some("b-second".to_owned()));
    world.create(&second).await;
    world.create(&first).await;
    world.create(&cores("ambiguous-1", 5)).await;
    world.reported("ambiguous-1", "Reserving", "insufficient CPU cores: 4 available, 5 requested").await;
    let reported =
        |log: String| log.lines().filter(|line| line.contains("several FlavorGroupCapacity objects")).count();
    world.create(&cores("ambiguous-2", 6)).await;
    world.reported("ambiguous-2", "Reserving", "insufficient CPU cores: 4 available, 6 requested").await;
    assert_eq!(reported(world.operator().log()), 1, "{}", world.operator().log());
    world.delete::<FlavorGroupCapacity>("a-first").await;
    world.accepted("ambiguous-1").await;
    world.accepted("ambiguous-2").await;
    world.end().await;
}

#[tokio::test]
async fn old_objects_that_make_no_sense() {
    let mut world = World::without_operator().await;
    world.install(generate::without_rules()).await;
    let mut negative = serde_json::to_value(cores("negative-1", 4)).unwrap();
    negative["spec"]["amount"] = json!("-4");
    let mut changed = serde_json::to_value(crate::support::objects::non_rejectable("changed-1", 1)).unwrap();
    changed["spec"]["resourceType"] = json!("cores");
    changed["spec"]["amount"] = json!("7500m");
    for object in [negative, changed] {
        until(async || world.create_raw::<CommittedResource>(object.clone()).await).await.unwrap();
    }
    let mut senseless = serde_json::to_value(capacity(ZONE, None)).unwrap();
    senseless["spec"]["flavorGroup"] = json!("");
    senseless["metadata"]["name"] = json!("senseless");
    world.create_raw::<FlavorGroupCapacity>(senseless).await.unwrap();
    world.install_all().await;
    world.create(&capacity(ZONE, Some(10))).await;
    world.start().await;
    let text = "unexpected commitment format: spec.amount is -4, it must not be negative";
    world.reported("negative-1", "Rejected", text).await;
    world.accepted("changed-1").await;
    world.create(&cores("beside-it-1", 3)).await;
    world.reported("beside-it-1", "Reserving", "insufficient CPU cores: 2 available, 3 requested").await;
    world.respec("beside-it-1", json!({ "amount": "2" })).await;
    world.accepted("beside-it-1").await;
    world.delete_commitment("negative-1").await;
    world.end().await;
}

#[tokio::test]
async fn each_cluster_counts_the_cores_of_its_zone() {
    let two = TwoClusters::begin().await;
    two.at(Home).create(&capacity(ZONE, Some(40))).await;
    two.at(Home).create(&cores("at-home-1", 40)).await;
    two.at(Remote).create(&of_remote(cores("remote-1", 40))).await;
    two.accepted(Home, "at-home-1").await;
    two.reported(Remote, "remote-1", "Reserving", "waiting for capacity data").await;
    two.at(Remote).create(&capacity(OTHER_ZONE, Some(60))).await;
    two.accepted(Remote, "remote-1").await;
    two.at(Remote).create(&of_remote(cores("remote-2", 40))).await;
    two.reported(Remote, "remote-2", "Reserving", "insufficient CPU cores: 20 available, 40 requested").await;
    two.at(Remote).delete_commitment("remote-1").await;
    two.accepted(Remote, "remote-2").await;
    two.end().await;
}

#[tokio::test]
async fn while_capacities_cannot_be_listed_no_commitment_is_rejected() {
    let mut two = TwoClusters::without_operator().await;
    two.at(Remote).create(&capacity(OTHER_ZONE, Some(10))).await;
    two.deny("flavorgroupcapacities", "list").await;
    two.start().await;
    two.at(Remote).create(&of_remote(rejectable("strict-2", 40))).await;
    two.reported(Remote, "strict-2", "Reserving", "").await;
    two.grant().await;
    two.reported(Remote, "strict-2", "Rejected", "insufficient CPU cores: 10 available, 40 requested").await;
    two.end().await;
}
