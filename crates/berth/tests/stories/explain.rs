//! What `explain` says about commitments and slots: the real binary on a real API server, while an operator runs.

use berth_crds::{CommittedResource, generate};
use serde_json::json;

use crate::support::desk::{Desk, json_of};
use crate::support::nova::{ask, hosts_are_known_at, of_another_project, starts, wants};
use crate::support::objects::{OTHER_ZONE, ZONE, host, in_zone, non_rejectable, slot_name};
use crate::support::replicas::{Replicas, TWO};
use crate::support::unreadable::{newer_crds, store_unreadable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const READ: &str = "--verb=get,list";

/// An account with rights to get and list these kinds, and no more.
async fn reader(world: &mut World, name: &str, kinds: &[&str]) -> Desk {
    let kubeconfig = world.control_plane().service_account("berth-system", name).await.unwrap();
    let kinds = format!("--resource={}", kinds.join(","));
    let account = format!("--serviceaccount=berth-system:{name}");
    world.kubectl(&["create", "clusterrole", name, READ, &kinds]).await;
    world.kubectl(&["create", "clusterrolebinding", name, &format!("--clusterrole={name}"), &account]).await;
    Desk::of(&kubeconfig)
}

const KINDS: [&str; 8] = [
    "committedresources.cortex.cloud",
    "reservations.cortex.cloud",
    "knowledges.cortex.cloud",
    "flavorgroupcapacities.cortex.cloud",
    "commitmentchanges.cortex.cloud",
    "pipelines.cortex.cloud",
    "hypervisors.kvm.cloud.sap",
    "configmaps",
];

/// Rights take effect a moment after they are written.
async fn reported(desk: &Desk, arguments: &[&str], part: &str) -> String {
    let reported = until(async || {
        let ended = desk.berth(arguments, "").await;
        so(ended.stdout.contains(part), || format!("{part:?} is missing: {ended:#?}"))
    });
    reported.await.unwrap();
    desk.shown(arguments).await
}

#[tokio::test]
async fn people_are_reported_why_a_commitment_waits_and_that_it_does_no_more() {
    let mut world = World::with_hosts(&[host("node1", 1), in_zone(host("node2", 9), OTHER_ZONE)]).await;
    let desk = reader(&mut world, "reader", &KINDS).await;
    world.create(&non_rejectable("early-1", 2)).await;
    world.reported("early-1", "Reserving", "insufficient capacity: 1/2").await;
    world.create(&non_rejectable("story-1", 1)).await;
    world.reported("story-1", "Reserving", "insufficient capacity: 0/1").await;
    let before = world.rest().await.versions();

    let text = reported(&desk, &["explain", "commitment", "story-1"], "NOT READY: Reserving").await;
    for part in [
        &format!("Commitment commitment-story-1 in zone {ZONE}, cluster home"),
        "Its only slot is not in force: there is no free capacity for it. Candidates: 2 hosts; zone 1, capacity 1.",
        "number 2 of 2 that wait in zone",
        "first, where they fit: 1 slot of commitment-early-1",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let json = json_of(&desk.shown(&["explain", "commitment", "commitment-story-1", "-o", "json"]).await);
    assert_eq!((&json["ready"]["status"], &json["slots"][0]["waiting"]["number"]), (&json!("False"), &json!(2)));
    // It may not read Leases, and this operator has none.
    let failure = json["operator"]["failure"].as_str().unwrap();
    assert!(failure.starts_with("the Lease berth cannot be read (") && failure.contains("forbidden"), "{failure}");
    assert!(text.contains("Not included, because the Lease berth cannot be read ("), "{text}");
    let operator = format!("--operator=http://{}", world.operator().api());
    let text = desk.shown(&["explain", "commitment", "story-1", &operator]).await;
    assert!(
        text.contains("  1 of its slots is tried again\n") && text.contains("was asked for what only it"),
        "{text}"
    );
    let text = desk.shown(&["explain", "slot", &format!("home/{}", slot_name("early-1", 0))]).await;
    assert!(text.contains("READY: ReservationActive") && text.contains("480 GiB, 30 cores on node1"), "{text}");
    assert_eq!(world.now().await.versions(), before, "the command changed something");

    world.create(&host("node3", 4)).await;
    world.accepted("story-1").await;
    let text = desk.shown(&["explain", "commitment", "story-1"]).await;
    assert!(text.contains("READY: Accepted") && text.contains("Its only slot is in force"), "{text}");
    let json = json_of(&desk.shown(&["explain", "slot", &slot_name("story-1", 0), "--output=json"]).await);
    assert_eq!((&json["targetHost"], &json["commitment"]["reason"]), (&json!("node3"), &json!("Accepted")));
    world.end().await;
}

#[tokio::test]
async fn names_that_mean_nothing_or_too_much_and_missing_rights_are_refused() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 1)).await;
    world.create(&non_rejectable("story-1", 1)).await;
    world.install(newer_crds()).await;
    store_unreadable(&world, &slot_name("story-1", 0), "node1").await;
    world.install(generate::without_rules()).await;
    let mut duplicate = serde_json::to_value(non_rejectable("twin-1", 1)).unwrap();
    for name in ["commitment-twin-1", "old-name"] {
        duplicate["metadata"] = json!({ "name": name });
        until(async || world.create_raw::<CommittedResource>(duplicate.clone()).await).await.unwrap();
    }
    world.install_all().await;
    let desk = Desk::of(world.people());
    let line = "no commitment \"story-2\" is known; none of the 3 names is similar";
    desk.refused(&["explain", "commitment", "story-2"], 1, line).await;
    let line = "no slot \"commitment-story-1-1\" is known; similar names: commitment-story-1-0";
    desk.refused(&["explain", "slot", &slot_name("story-1", 1)], 1, line).await;
    let both = "home/commitment-twin-1, home/old-name";
    let line = format!("commitment \"twin-1\" means several objects; ask for one of them: {both}");
    desk.refused(&["explain", "commitment", "twin-1"], 1, &line).await;
    let text = desk.shown(&["explain", "commitment", "home/old-name"]).await;
    assert!(text.contains("home/commitment-twin-1 has the same spec.commitmentUUID and is served"), "{text}");
    let ended = desk.berth(&["explain", "slot", &slot_name("story-1", 0)], "").await;
    let start = "berth: Reservation home/commitment-story-1-0 cannot be read, correct or delete it: ";
    assert!(ended.status == 1 && ended.stderr.starts_with(start), "{ended:#?}");
    let text = desk.shown(&["explain", "commitment", "story-1"]).await;
    assert!(text.contains("Reservation commitment-story-1-0 cannot be read, correct or delete it"), "{text}");
    assert_eq!(desk.berth(&["explain", "commitment"], "").await.status, 2, "clap");

    let blind = reader(&mut world, "blind", &KINDS[1..]).await;
    // The command needs no more rights; its answer shows that the rights are in effect.
    reported(&blind, &["explain", "host", "node1"], "Host node1 in zone").await;
    let ended = blind.berth(&["explain", "commitment", "story-1"], "").await;
    let missing = "berth: cluster home: CommittedResource objects cannot be read: ";
    assert!(ended.status == 1 && ended.stderr.starts_with(missing), "{ended:#?}");
    assert!(ended.stderr.contains("committedresources.cortex.cloud is forbidden"), "{ended:#?}");
}

#[tokio::test]
async fn the_leader_is_asked_for_the_claims_and_times_that_only_it_knows() {
    let world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    let mut replicas = Replicas::two(world).await;
    let [leader, follower] = TWO.map(|name| replicas.get(name).api());
    hosts_are_known_at(&replicas.world, leader).await;
    assert_eq!(ask(leader, &of_another_project(wants("vm-1", &["node1"]))).await, ["node1"]);
    replicas.world.create(&non_rejectable("story-1", 2)).await;
    replicas.world.reported("story-1", "Reserving", "insufficient capacity: 1/2").await;

    // It may read Leases and not the ConfigMap of the claims.
    let kinds = [&KINDS[..7], &["leases.coordination.k8s.io"]].concat();
    let desk = reader(&mut replicas.world, "requester", &kinds).await;
    let text = reported(&desk, &["explain", "commitment", "story-1"], "was asked for what only it knows.").await;
    assert!(text.contains("Claimed for VMs that have not appeared yet") && text.contains("  vm-1  another-"), "{text}");
    assert!(text.contains("  1 of its slots is tried again\n") && !text.contains("  within "), "{text}");
    let json = json_of(&desk.shown(&["explain", "commitment", "story-1", "--output=json"]).await);
    let (operator, waiting) = (&json["operator"], slot_name("story-1", 1));
    assert_eq!((&operator["address"], &operator["failure"]), (&json!(format!("http://{leader}")), &json!(null)));
    let (answer, claim) = (&operator["answer"], &operator["answer"]["claims"][0]);
    assert_eq!((&claim["vm"], &claim["until"]), (&json!("vm-1"), &json["claims"][0]["until"]), "{json:#}");
    assert_eq!((&answer["slots"][0]["name"], &answer["slots"][1]), (&json!(waiting), &json!(null)));
    let due = answer["slots"][0]["nextTry"].as_str().unwrap();
    assert!(json["next"].as_array().unwrap().iter().any(|next| next["at"] == due), "{json:#}");
    let text = desk.shown(&["explain", "slot", &waiting]).await;
    assert!(text.contains("it is tried again, with the other waiting slots of its commitment"), "{text}");
    let json = json_of(&desk.shown(&["explain", "host", "node1", "-o", "json"]).await);
    assert_eq!((&json["claims"][0]["vm"], &json["free"]["cpu"]), (&json!("vm-1"), &json!(0)));

    let asked = desk.berth(&["explain", "slot", &waiting, &format!("--operator=http://{follower}")], "").await;
    let refusal = format!(
        "Not included, because the operator at http://{follower} answered with 503 (this process does not lead; the \
         leader answers at http://{leader}): "
    );
    assert!(asked.status == 0 && asked.stdout.contains(&refusal), "{asked:#?}");
    assert!(asked.stderr.contains("the claims of VMs that have not appeared yet are unknown"), "{asked:#?}");

    starts(&replicas.world, "vm-1", "node1").await;
    replicas.world.create(&host("node2", 1)).await;
    replicas.world.accepted("story-1").await;
    replicas.end(TWO[0]).await;
}
