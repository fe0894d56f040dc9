use berth_crds::{
    CommitmentChange, CommittedResource, FlavorGroupCapacity, FlavorGroupCapacitySpec, Hypervisor, Knowledge,
    Reservation, labels, names, testing,
};
use berth_scheduler_api::explain::Subject;
use berth_testkit::seeds::{self, OTHER_ZONE, host, in_zone, rejectable, waiting_commitment};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::report::CommitmentReport;
use super::{explain, text};
use crate::commands::leader::AskedOperator;
use crate::commands::scene::{Scene, UUID, unasked};

const END: &str = "2026-03-11T13:00:00Z";

async fn reported(scene: &Scene) -> CommitmentReport {
    let account = explain(&scene.snapshot().await, UUID, scene.clock.clone(), async |_| unasked()).await.unwrap();
    assert_eq!(scene.home.take_log(), [""; 0], "nothing is written");
    account
}

/// Text and JSON with what an operator has said.
pub(in crate::commands) async fn shown(scene: &Scene, asked: AskedOperator) -> (String, Value) {
    let ask = async |subject: &Subject| {
        assert_eq!(subject.to_string(), "commitment home/commitment-story-1");
        asked
    };
    let report = explain(&scene.snapshot().await, UUID, scene.clock.clone(), ask).await.unwrap();
    (text(&report), serde_json::to_value(&report).unwrap())
}

async fn screen(scene: &Scene) -> String {
    text(&reported(scene).await)
}

async fn accepted(count: u64) -> Scene {
    let scene = Scene::new(&[("node1", count)]);
    scene.commit(&waiting_commitment(UUID, count)).await;
    scene
}

/// A slot that does not fit, because another commitment came first; another zone has much capacity.
async fn waiting() -> Scene {
    let scene = Scene::new(&[("node1", 1)]);
    scene.home.create(&in_zone(host("node2", 9), OTHER_ZONE)).unwrap();
    scene.commit(&waiting_commitment("early-1", 2)).await;
    scene.commit(&waiting_commitment(UUID, 1)).await;
    scene
}

fn cores(amount: &str) -> CommittedResource {
    let mut commitment = testing::commitment(UUID, amount);
    commitment.spec.resource_type = berth_crds::ResourceType::Cores;
    commitment
}

fn capacity(cores: Option<&str>) -> FlavorGroupCapacity {
    let (flavor_group, availability_zone) = (testing::GROUP.to_owned(), testing::ZONE.to_owned());
    let mut object = FlavorGroupCapacity::new("mem-v4", FlavorGroupCapacitySpec { flavor_group, availability_zone });
    let total = cores.map(|cores| ("cores".to_owned(), cores.into()));
    object.status.get_or_insert_default().total_capacity = total.into_iter().collect();
    object
}

#[tokio::test(start_paused = true)]
async fn an_accepted_commitment_with_vms_and_an_end() {
    let scene = Scene::new(&[("node1", 2)]);
    let mut commitment = waiting_commitment(UUID, 2);
    commitment.spec.end_time = serde_json::from_value(json!(END)).unwrap();
    scene.commit(&commitment).await;
    scene.expect_vm(0, "vm-1");
    scene.run_vms("node1", &["vm-1"]);
    scene.operate().await;
    scene.expect_vm(1, "vm-2");
    assert_snapshot!(screen(&scene).await, @r"
    Commitment commitment-story-1 in zone eu-test-1a, cluster home
      UUID         story-1
      Project      5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40, domain 0f1e2d3c4b5a69788796a5b4c3d2e1f0
      State        confirmed, ends at 2026-03-11T13:00:00Z (in 10d 0h)
      Wanted       960 GiB of memory of mem_v4 in eu-test-1a
      Accepted     the same, at 2026-03-01T12:00:00Z (1m 0s ago)
      No capacity  it is retried

    READY: Accepted, since 2026-03-01T12:00:00Z (1m 0s ago)
      commitment successfully reserved
      All of its capacity is reserved.

    Why
      All of its 2 slots are in force, as desired.

    Slots: 2 of 2 in force (VMS: how many are expected in it)
      NAME                  SIZE               FLAVOR           HOST   VMS  STATE
      commitment-story-1-0  480 GiB, 30 cores  mem_v4_c30_m480  node1  1    in force
      commitment-story-1-1  480 GiB, 30 cores  mem_v4_c30_m480  node1  1    in force

    VMs that are expected in its slots
      VM    SLOT                  SIZE               WHERE
      vm-1  commitment-story-1-0  240 GiB, 15 cores  is here
      vm-2  commitment-story-1-1  240 GiB, 15 cores  not observed yet, waited for until 2026-03-01T12:16:00Z (in 15m 0s)

    What happens next
      once something changes               it is reconciled again
      at 2026-03-11T13:00:00Z (in 10d 0h)  it ends, and all of its slots are released

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[tokio::test(start_paused = true)]
async fn the_open_change_of_a_commitment_is_named() {
    let scene = accepted(1).await;
    assert_eq!(reported(&scene).await.change, None);
    let change = testing::commitment_change("one", &[UUID]);
    scene.home.create(&change).unwrap();
    scene.home.take_log();
    let line = "\n  Change       change-one of request committed-resource-one is Pending: its first commitments are being written\n";
    let shown = screen(&scene).await;
    assert!(shown.contains(line), "{shown}");
    let status = |phase: &str, finished: &str| {
        let condition = json!({ "type": "Finished", "status": finished, "reason": phase, "message": "",
                                "lastTransitionTime": "2026-03-01T12:00:00Z" });
        let status = json!({ "status": { "phase": phase, "conditions": [condition] } });
        scene.home.edit_status::<CommitmentChange>("change-one", &status).unwrap();
        scene.home.take_log();
    };
    status("RollingBack", "False");
    let report = serde_json::to_value(reported(&scene).await).unwrap();
    let expected = json!({ "name": "change-one", "phase": "RollingBack", "requestedBy": "committed-resource-one" });
    assert_eq!(report["change"], expected);
    status("RolledBack", "True");
    assert_eq!(reported(&scene).await.change, None);
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_for_capacity_behind_another_one() {
    assert_snapshot!(screen(&waiting().await).await, @r"
    Commitment commitment-story-1 in zone eu-test-1a, cluster home
      UUID         story-1
      Project      5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40, domain 0f1e2d3c4b5a69788796a5b4c3d2e1f0
      State        confirmed, without an end
      Wanted       480 GiB of memory of mem_v4 in eu-test-1a
      Accepted     nothing
      No capacity  it is retried

    NOT READY: Reserving, since 2026-03-01T12:01:00Z (1m 0s ago)
      insufficient capacity: 0/1 reservation slots could be placed: 2 hosts; zone 1, capacity 1
      It is being placed, or waits; it is reconciled again automatically.

    Why
      Its only slot is not in force: there is no free capacity for it. Candidates: 2 hosts; zone 1, capacity 1.

    Slots: 0 of 1 in force (VMS: how many are expected in it)
      NAME                  SIZE               FLAVOR           HOST  VMS  STATE
      commitment-story-1-0  480 GiB, 30 cores  mem_v4_c30_m480  -     0    no host: 2 hosts; zone 1, capacity 1; number 2 of 2 that wait

    What happens next
      once capacity becomes free  commitment-story-1-0: it gets a host: number 2 of 2 that wait in zone eu-test-1a; first, where they fit: 1 slot of commitment-early-1
      within 2m 0s                it is reconciled again, and at once after a change

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[tokio::test(start_paused = true)]
async fn one_that_was_rejected_when_it_grew() {
    let scene = Scene::new(&[("node1", 2)]);
    scene.commit(&rejectable(UUID, 1)).await;
    scene.edit(&json!({ "spec": { "amount": seeds::slots(3) } }));
    scene.operate().await;
    assert_snapshot!(screen(&scene).await, @r"
    Commitment commitment-story-1 in zone eu-test-1a, cluster home
      UUID         story-1
      Project      5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40, domain 0f1e2d3c4b5a69788796a5b4c3d2e1f0
      State        confirmed, without an end
      Wanted       1440 GiB of memory of mem_v4 in eu-test-1a
      Accepted     480 GiB of memory of mem_v4 in eu-test-1a, at 2026-03-01T12:00:00Z (1m 0s ago)
      No capacity  it is rejected

    NOT READY: Rejected, since 2026-03-01T12:01:00Z (now)
      insufficient capacity: 2/3 reservation slots could be placed: 1 host; capacity 1
      This spec was refused and is not retried. The accepted spec stays in force; a new spec is reconciled.

    Why
      Its present spec was rejected and is not retried. Its slots follow the accepted spec: 480 GiB of memory of mem_v4 in eu-test-1a.

    Slots: 1 of 1 in force (VMS: how many are expected in it)
      NAME                  SIZE               FLAVOR           HOST   VMS  STATE
      commitment-story-1-0  480 GiB, 30 cores  mem_v4_c30_m480  node1  0    in force

    What happens next
      once its spec asks for less, for another zone or group, or has allowRejection: false  it is placed again as a whole
      once something changes                                                                it is reconciled again

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

/// The sentence is missing; after one change it is there.
async fn changes(scene: Scene, change: impl FnOnce(&Scene), sentence: &str) {
    scene.changes(screen, change, sentence).await;
}

#[tokio::test(start_paused = true)]
async fn freed_capacity_goes_to_the_oldest_commitment() {
    let comes = |free| move |scene: &Scene| drop(scene.home.create(&host("node3", free)).unwrap());
    changes(waiting().await, comes(1), "no host: 3 hosts; zone 1, capacity 2; number 1 of 1 that wait").await;
    changes(waiting().await, comes(2), "no host yet, node3 is feasible").await;
    changes(waiting().await, comes(2), "commitment-story-1-0: it gets node3, unless that is taken by then").await;
}

#[tokio::test(start_paused = true)]
async fn hosts_that_go_are_missed() {
    let goes = |scene: &Scene| scene.home.delete::<Hypervisor>("node1").unwrap();
    changes(accepted(1).await, goes, "keeps node1 for now, which has no Hypervisor any more").await;
    let then = "once node1 has been missing for 1m 0s (requeueIntervalGracePeriod)";
    changes(accepted(1).await, goes, then).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wanted_changes() {
    let wants = |patch: Value| move |scene: &Scene| scene.edit(&json!({ "spec": patch }));
    let more = json!({ "amount": seeds::slots(2) });
    let cannot = "slot commitment-story-1-1 of 480 GiB, 30 cores is created without a host";
    changes(accepted(1).await, wants(more.clone()), cannot).await;
    let all = json!({ "amount": seeds::slots(2), "allowRejection": true });
    let refused =
        "There is capacity for 1 of its 2 slots, and it may be rejected: nothing is changed. Candidates: 1 host";
    changes(accepted(1).await, wants(all.clone()), refused).await;
    let again = "once its spec asks for less, for another zone or group, or has allowRejection: false";
    changes(accepted(1).await, wants(all), again).await;
    let less = json!({ "amount": seeds::slots(1) });
    changes(accepted(2).await, wants(less), "is deleted: the commitment was reduced").await;
    let may = json!({ "allowRejection": true });
    changes(accepted(1).await, wants(may.clone()), "retried, because as much was accepted before").await;
    changes(waiting().await, wants(may), "No capacity  it is rejected").await;
    let zone = json!({ "availabilityZone": OTHER_ZONE });
    let moves = |scene: &Scene| {
        scene.home.create(&seeds::in_zone(seeds::host("elsewhere", 1), OTHER_ZONE)).unwrap();
        scene.edit(&json!({ "spec": zone }));
    };
    changes(accepted(1).await, moves, "its project, flavor group or zone is no longer that of the commitment").await;
    let typo = json!({ "availabilityZone": "eu-tset-1a" });
    changes(accepted(1).await, wants(typo), "It cannot have slots as it is: no host is in zone eu-tset-1a").await;
    changes(accepted(1).await, wants(json!({ "state": "planned" })), "It starts later").await;
    let replaced = "It was replaced by other commitments; its remaining slot is released.";
    changes(accepted(1).await, wants(json!({ "state": "superseded" })), replaced).await;
    let past = json!({ "endTime": "2026-03-01T11:00:00Z" });
    changes(accepted(1).await, wants(past), "It ended at 2026-03-01T11:00:00Z; its remaining slot is released.").await;
    changes(accepted(1).await, wants(json!({ "endTime": END })), &format!("at {END} (in 10d 0h)")).await;
    let group = json!({ "flavorGroupName": "mem_v5" });
    changes(accepted(1).await, wants(group), "It cannot have slots as it is: flavor group not found: mem_v5").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_paused_reports_why_and_how_to_go_on() {
    let paused = |scene: &Scene| {
        scene.edit(&json!({ "metadata": { "annotations": { labels::PAUSED: "moving" } }, "spec": { "endTime": END } }));
    };
    let again = "kubectl annotate committedresource commitment-story-1 reservations.cortex.cloud/paused-";
    changes(accepted(1).await, paused, again).await;
    changes(accepted(1).await, paused, "it ends, and keeps its slots as long as it is paused").await;
    changes(waiting().await, paused, "once it is resumed").await;
    let mut scene = accepted(1).await;
    paused(&scene);
    scene.operate().await;
    assert!(screen(&scene).await.contains("PAUSED: it is not reconciled, since 2026-03-01T12:01:00Z (now)"));
    scene.edit(&json!({ "metadata": { "annotations": { labels::PAUSED: Value::Null } } }));
    assert!(!screen(&scene).await.contains("once it is resumed"));
    scene.configuration.pause.zones.insert(testing::ZONE.to_owned());
    let account = reported(&scene).await;
    assert!(account.why.contains("pause.zones with eu-test-1a; to resume, remove it there"), "{account:#?}");
    assert!(account.slots[0].state.starts_with("paused: "), "{account:#?}");
}

fn disruption_limit(scene: &Scene) {
    let condition = json!({ "type": "DisruptionLimited", "status": "True", "reason": "SlotsOfWrongShape", "message": "30 slots",
                       "lastTransitionTime": "2026-03-01T12:00:00Z" });
    let object = scene.home.get::<CommittedResource>(&names::commitment(UUID)).unwrap();
    let mut all = serde_json::to_value(object.status.unwrap().conditions).unwrap();
    all.as_array_mut().unwrap().push(condition);
    let patch = json!({ "status": { "conditions": all } });
    scene.home.edit_status::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_disruption_limit_holds_back_waits_for_a_confirmation() {
    let empty = |scene: &Scene| scene.old_slot(0, &json!({ "spec": { "resources": { "memory": "0" } } }));
    changes(accepted(1).await, empty, "slot commitment-story-1-0 is deleted: it holds no memory").await;
    changes(accepted(1).await, empty, "Its only slot is not in force yet.").await;
    changes(
        accepted(1).await,
        disruption_limit,
        "DISRUPTION LIMITED: too many slots would be deleted or moved at once",
    )
    .await;
    let both = |scene: &Scene| {
        empty(scene);
        disruption_limit(scene);
    };
    let waits = "once the cause is gone or a user confirms  slot commitment-story-1-0 is deleted";
    changes(accepted(1).await, both, waits).await;
    let mut strict = accepted(1).await;
    strict.configuration.disruption_limit.slots = Some(0);
    let stopped =
        "The disruption limit holds it back: at least 1 of 1 slots of zone eu-test-1a would be moved or deleted";
    changes(strict, empty, stopped).await;
}

#[tokio::test(start_paused = true)]
async fn flavor_groups_are_renamed_or_gone() {
    let renamed = |scene: &Scene| {
        let knowledge = scene.home.get::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
        let text = serde_json::to_string(&knowledge.status.unwrap().raw).unwrap().replace("\"mem_v4\"", "\"mem_v9\"");
        let raw: Value = serde_json::from_str(&text).unwrap();
        scene.home.edit_status::<Knowledge>(names::FLAVOR_GROUPS, &json!({ "status": { "raw": raw } })).unwrap();
        scene.edit(&json!({ "spec": { "amount": seeds::slots(2) } }));
    };
    changes(accepted(1).await, renamed, "flavor group not found: mem_v4; spec.flavorGroupName must be one of: mem_v9")
        .await;
    let gone = |scene: &Scene| {
        scene.home.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
        scene.edit(&json!({ "spec": { "amount": seeds::slots(2) } }));
    };
    changes(accepted(1).await, gone, "Data that it needs is missing, so nothing is changed: flavor knowledge not")
        .await;
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_slots_then_for_others() {
    let name = names::commitment(UUID);
    let held = |scene: &Scene| {
        scene.hold::<CommittedResource>(&names::commitment(UUID));
        scene.home.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    };
    changes(
        accepted(1).await,
        held,
        "its slot must be released first, and finalizers of other clients keep it: example.com/hold",
    )
    .await;
    let scene = accepted(1).await;
    scene.hold::<CommittedResource>(&name);
    scene.home.delete::<CommittedResource>(&name).unwrap();
    scene.operate().await;
    let text = screen(&scene).await;
    assert!(text.contains("only finalizers of other clients keep it: example.com/hold."), "{text}");
    assert!(text.contains("once other clients have removed example.com/hold"), "{text}");
    let slot_held = |scene: &Scene| {
        scene.hold::<Reservation>(&seeds::slot_name(UUID, 0));
        scene.home.delete::<Reservation>(&seeds::slot_name(UUID, 0)).unwrap();
    };
    changes(accepted(1).await, slot_held, "is being deleted, kept by the finalizers example.com/hold").await;
}

#[tokio::test(start_paused = true)]
async fn clusters_and_objects_that_cannot_be_read_are_waited_for() {
    let scene = async || {
        let scene = Scene::with_remote(&[("node1", 1)]);
        scene.commit(&waiting_commitment(UUID, 1)).await;
        scene
    };
    let away = |scene: &Scene| scene.remotes[0].1.go_away();
    changes(scene().await, away, "PARTIAL: cluster eu-test-1b (zone eu-test-1b) is missing: ").await;
    let deleted = |scene: &Scene| {
        away(scene);
        scene.home.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    };
    let annotation = "give it up with the annotation reservations.cortex.cloud/forget-cluster: eu-test-1b.";
    changes(scene().await, deleted, annotation).await;
    let why = "Reservation objects of cluster eu-test-1b are not completely known: its watch fails: ";
    changes(scene().await, deleted, why).await;
    let elsewhere = |scene: &Scene| scene.edit(&json!({ "spec": { "availabilityZone": OTHER_ZONE } }));
    changes(scene().await, elsewhere, "Its zone eu-test-1b belongs to cluster eu-test-1b, and it is in cluster home")
        .await;
    let violations = |scene: &Scene| {
        scene.old_slot(0, &json!({ "spec": { "resources": 7 } }));
        scene.edit(&json!({ "spec": { "amount": seeds::slots(2) } }));
    };
    let unreadable = "Reservation commitment-story-1-0 cannot be read, correct or delete it";
    changes(scene().await, violations, unreadable).await;
}

#[tokio::test(start_paused = true)]
async fn a_twin_is_served_in_its_place() {
    let scene = Scene::with_remote(&[("node1", 1)]);
    scene.commit(&waiting_commitment(UUID, 1)).await;
    let mut duplicate = waiting_commitment(UUID, 1);
    duplicate.spec.availability_zone = OTHER_ZONE.to_owned();
    scene.remotes[0].1.create(&duplicate).unwrap();
    let snapshot = scene.snapshot().await;
    let ambiguous = explain(&snapshot, UUID, scene.clock.clone(), async |_| unasked()).await.unwrap_err().to_string();
    let both = "eu-test-1b/commitment-story-1, home/commitment-story-1";
    assert_eq!(ambiguous, format!("commitment \"story-1\" means several objects; ask for one of them: {both}"));
    let account =
        explain(&snapshot, "home/commitment-story-1", scene.clock.clone(), async |_| unasked()).await.unwrap();
    let duplicates = "eu-test-1b/commitment-story-1 has the same spec.commitmentUUID and is served in its place.";
    assert!(account.cluster == "home" && account.why.starts_with(duplicates), "{account:#?}");
}

#[tokio::test(start_paused = true)]
async fn cores_are_accepted_by_what_is_left() {
    let scene = Scene::new(&[]);
    scene.commit(&cores("40")).await;
    let text = screen(&scene).await;
    assert!(text.contains("no FlavorGroupCapacity object has spec.flavorGroup mem_v4"), "{text}");
    let with = |total: Option<&'static str>| move |scene: &Scene| drop(scene.home.create(&capacity(total)).unwrap());
    changes(scene, with(None), "FlavorGroupCapacity mem-v4 has no status.totalCapacity.cores").await;
    let fresh = async || {
        let scene = Scene::new(&[]);
        scene.commit(&cores("40")).await;
        scene
    };
    let short = "It asks for 40 cores of the 30 that mem_v4 in eu-test-1a has, and 30 are left";
    changes(fresh().await, with(Some("30")), short).await;
    let enough = "It asks for 40 cores of the 50 that mem_v4 in eu-test-1a has, and enough are left.";
    changes(fresh().await, with(Some("50")), enough).await;
    let soon = "at the next reconciliation  the condition says Accepted: commitment successfully reserved";
    changes(fresh().await, with(Some("50")), soon).await;
}

#[tokio::test(start_paused = true)]
async fn unknown_and_unreadable_names_are_refused() {
    let scene = accepted(1).await;
    let path = berth_testkit::path_of::<CommittedResource>("");
    scene.home.edit_raw(&path, &names::commitment(UUID), &json!({ "spec": { "amount": {} } })).unwrap();
    let snapshot = scene.snapshot().await;
    for (name, text) in [
        ("story-1", "CommittedResource home/commitment-story-1 cannot be read, correct or delete it: "),
        ("commitment-story-2", "no commitment \"commitment-story-2\" is known; similar names: commitment-story-1"),
        ("eu-9/story-1", "no commitment \"eu-9/story-1\" is known"),
    ] {
        let error = explain(&snapshot, name, scene.clock.clone(), async |_| unasked()).await.unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
async fn the_members_of_the_json_form() {
    let mut account = reported(&waiting().await).await;
    account.next.truncate(1);
    assert_snapshot!(serde_json::to_string_pretty(&account).unwrap(), @r#"
    {
      "missing": [],
      "now": "2026-03-01T12:02:00Z",
      "commitment": "commitment-story-1",
      "cluster": "home",
      "uuid": "story-1",
      "project": "5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40",
      "domain": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
      "state": "confirmed",
      "start": null,
      "end": null,
      "allowRejection": false,
      "rejectionIsOver": false,
      "change": null,
      "beingDeletedSince": null,
      "wanted": {
        "resource": "memory",
        "amount": {
          "memory": 515396075520,
          "cpu": null
        },
        "group": "mem_v4",
        "zone": "eu-test-1a"
      },
      "accepted": null,
      "acceptedAt": null,
      "assignedVms": 0,
      "usage": {
        "unknown": "the usage stays as it is, because the VMs are not known: failed to list VMs from source: this command does not read the database of VMs",
        "vms": [],
        "withoutCommitment": []
      },
      "ready": {
        "status": "False",
        "reason": "Reserving",
        "message": "insufficient capacity: 0/1 reservation slots could be placed: 2 hosts; zone 1, capacity 1",
        "since": "2026-03-01T12:01:00Z",
        "outdated": false,
        "meaning": "It is being placed, or waits; it is reconciled again automatically."
      },
      "extraConditions": [],
      "why": "Its only slot is not in force: there is no free capacity for it. Candidates: 2 hosts; zone 1, capacity 1.",
      "slotsInForce": 0,
      "slots": [
        {
          "name": "commitment-story-1-0",
          "cluster": "home",
          "flavor": "mem_v4_c30_m480",
          "size": {
            "memory": 515396075520,
            "cpu": 30
          },
          "targetHost": null,
          "statusHost": null,
          "vms": [],
          "inForce": false,
          "state": "no host: 2 hosts; zone 1, capacity 1; number 2 of 2 that wait",
          "waiting": {
            "hosts": 2,
            "removed": [
              {
                "filter": "filter_correct_az",
                "short": "zone",
                "count": 1
              },
              {
                "filter": "filter_has_enough_capacity",
                "short": "capacity",
                "count": 1
              }
            ],
            "number": 2,
            "of": 2,
            "earlier": [
              {
                "commitment": "commitment-early-1",
                "slots": 1
              }
            ]
          }
        }
      ],
      "claims": [],
      "next": [
        {
          "what": "commitment-story-1-0: it gets a host: number 2 of 2 that wait in zone eu-test-1a; first, where they fit: 1 slot of commitment-early-1",
          "at": null,
          "withinSeconds": null,
          "once": "capacity becomes free"
        }
      ],
      "operator": {
        "address": null,
        "failure": "no process holds the Lease berth",
        "answer": null
      }
    }
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_lacks_only_claimed_capacity_waits_and_names_the_claims() {
    let scene = Scene::new(&[("node1", 2)]);
    let until = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + 300).unwrap();
    let size = testing::slot(UUID, 0).spec.resources["memory"].as_str().to_owned();
    let bytes = berth_core::Quantity::parse(&size).unwrap().round_down();
    let claim = json!({ "vm": "vm-1", "project": "p-2", "host": "node1", "memory": bytes, "cpu": 30, "until": until });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "berth-claims", "namespace": "elsewhere" },
        "data": { "claims": json!([claim]).to_string() },
    });
    scene.home.create_raw(map).unwrap();
    scene.commit(&rejectable(UUID, 2)).await;
    let account = reported(&scene).await;
    let ready = account.ready.as_ref().unwrap();
    let message = format!(
        "waiting until {until} at most: the capacity is claimed for VMs that have not appeared yet: VM \"vm-1\" of project \
         \"p-2\" on node1 ({size} memory, 30 cores)"
    );
    assert_eq!((ready.reason.as_str(), ready.message.as_str()), ("Reserving", message.as_str()));
    assert_eq!(account.why, format!("Only claimed capacity is missing, so nothing is changed: {message}."));
    assert_eq!((&*account.claims[0].vm, &*account.claims[0].project, account.claims[0].until), ("vm-1", "p-2", until));
    let screen = text(&account);
    assert!(screen.contains("\nClaimed for VMs that have not appeared yet\n  VM    PROJECT  HOST "), "{screen}");
    scene.home.delete_raw("/api/v1/configmaps", "elsewhere/berth-claims").unwrap();
    scene.operate().await;
    assert!(reported(&scene).await.claims.is_empty());
}

mod usage;
