use berth_crds::reservation::FailoverReservationSpec;
use berth_crds::{CommittedResource, Hypervisor, ReservationType, labels, names, testing};
use berth_scheduler_api::explain::Subject;
use berth_testkit::seeds::{OTHER_ZONE, host, in_zone, slot_name, waiting_commitment};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::report::SlotReport;
use super::{explain, text};
use crate::commands::leader::AskedOperator;
use crate::commands::scene::{Scene, UUID, unasked};

async fn reported(scene: &Scene) -> SlotReport {
    let account =
        explain(&scene.snapshot().await, &slot_name(UUID, 0), scene.clock.clone(), async |_| unasked()).await.unwrap();
    assert_eq!(scene.home.take_log(), [""; 0], "nothing is written");
    account
}

/// The text with what an operator has said.
pub(in crate::commands) async fn shown(scene: &Scene, asked: AskedOperator) -> String {
    let ask = async |subject: &Subject| {
        assert_eq!(subject.to_string(), "slot home/commitment-story-1-0");
        asked
    };
    text(&explain(&scene.snapshot().await, &slot_name(UUID, 0), scene.clock.clone(), ask).await.unwrap())
}

async fn screen(scene: &Scene) -> String {
    text(&reported(scene).await)
}

async fn in_force() -> Scene {
    let scene = Scene::new(&[("node1", 1), ("node2", 0)]);
    scene.commit(&waiting_commitment(UUID, 1)).await;
    scene
}

async fn without_host() -> Scene {
    let scene = Scene::new(&[]);
    scene.home.create(&in_zone(host("node2", 9), OTHER_ZONE)).unwrap();
    scene.commit(&waiting_commitment("early-1", 3)).await;
    scene.commit(&waiting_commitment(UUID, 1)).await;
    scene
}

/// The sentence is missing; after one change it is there.
async fn changes(scene: Scene, change: impl FnOnce(&Scene), sentence: &str) {
    scene.changes(screen, change, sentence).await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_in_force_with_a_vm_and_one_that_is_awaited() {
    let scene = in_force().await;
    scene.expect_vm(0, "vm-1");
    scene.run_vms("node1", &["vm-1"]);
    scene.operate().await;
    scene.expect_vm(0, "vm-2");
    assert_snapshot!(screen(&scene).await, @r"
    Slot commitment-story-1-0 in zone eu-test-1a, cluster home
      Commitment  home/commitment-story-1, Accepted
      Project     5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40
      Size        480 GiB, 30 cores, mem_v4_c30_m480 of mem_v4
      Host        node1
      Blocks      240 GiB, 15 cores on node1, besides the VMs that are there

    READY: ReservationActive, since 2026-03-01T12:00:00Z (1m 0s ago)
      reservation is successfully scheduled
      Its capacity is reserved on its host.

    Now
      in force

    VMs that are expected in it
      VM    SIZE               WHERE
      vm-1  240 GiB, 15 cores  is here
      vm-2  240 GiB, 15 cores  not observed yet, waited for until 2026-03-01T12:16:00Z (in 15m 0s)

    What happens next
      within 1m 0s  it is reconciled again, and at once after a change

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_waits_for_capacity() {
    assert_snapshot!(screen(&without_host().await).await, @r"
    Slot commitment-story-1-0 in zone eu-test-1a, cluster home
      Commitment  home/commitment-story-1, Reserving
      Project     5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40
      Size        480 GiB, 30 cores, mem_v4_c30_m480 of mem_v4
      Host        none

    NOT READY: NoHostsFound, since 2026-03-01T12:01:00Z (1m 0s ago)
      no hosts found for reservation: 1 host; zone 1
      No host is feasible, so it reserves nothing; it waits for capacity.

    Now
      no host: 1 host; zone 1; number 4 of 4 that wait

    No VM is expected in it.

    What happens next
      once capacity becomes free  it gets a host: number 4 of 4 that wait in zone eu-test-1a; first, where they fit: 3 slots of commitment-early-1

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_a_user_moves() {
    let scene = in_force().await;
    scene.home.create(&host("node3", 1)).unwrap();
    scene.edit_slot(0, &json!({ "spec": { "targetHost": "node3" } }));
    assert_snapshot!(screen(&scene).await, @r"
    Slot commitment-story-1-0 in zone eu-test-1a, cluster home
      Commitment  home/commitment-story-1, Accepted
      Project     5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40
      Size        480 GiB, 30 cores, mem_v4_c30_m480 of mem_v4
      Host        should be on node3, is on node1
      Blocks      480 GiB, 30 cores on node1, besides the VMs that are there
      Blocks      480 GiB, 30 cores on node3, besides the VMs that are there

    READY: ReservationActive, since 2026-03-01T12:00:00Z (1m 0s ago)
      reservation is successfully scheduled
      Its capacity is reserved on its host.

    Now
      moves from node1 to node3

    No VM is expected in it.

    What happens next
      at the next reconciliation  it is confirmed on node3
      A reconciliation takes seconds; if nothing happens, no operator leads, or its log says why.

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[tokio::test(start_paused = true)]
async fn hosts_come_and_go() {
    let comes = |scene: &Scene| drop(scene.home.create(&host("node3", 4)).unwrap());
    changes(without_host().await, comes, "no host yet, node3 is feasible").await;
    let goes = |scene: &Scene| scene.home.delete::<Hypervisor>("node1").unwrap();
    changes(in_force().await, goes, "the slot and the VMs in it lose their host, and the slot gets another one").await;
    changes(in_force().await, goes, "nothing on node1, which is not known").await;
    let to = |host: &'static str| move |scene: &Scene| scene.edit_slot(0, &json!({ "spec": { "targetHost": host } }));
    changes(in_force().await, to("node9"), "spec.targetHost node9 is not the name of a Hypervisor").await;
    changes(in_force().await, to("node2"), "host node2 has no capacity for it").await;
    let smaller = |scene: &Scene| {
        let half = json!({ "status": { "effectiveCapacity": { "memory": "240Gi", "cpu": "15" } } });
        scene.home.edit_status::<Hypervisor>("node1", &half).unwrap();
    };
    changes(in_force().await, smaller, "on node1, besides the VMs that are there; this host is OVER-BOOKED").await;
    let cleared = |scene: &Scene| scene.edit_slot(0, &json!({ "spec": { "targetHost": Value::Null } }));
    changes(in_force().await, cleared, "no host: target host was cleared; pending re-placement").await;
}

#[tokio::test(start_paused = true)]
async fn vms_come_end_and_are_given_up() {
    let expected = async || {
        let scene = in_force().await;
        scene.expect_vm(0, "vm-1");
        scene
    };
    changes(
        in_force().await,
        |scene| scene.expect_vm(0, "vm-1"),
        "not observed yet, waited for until 2026-03-01T12:16:00Z",
    )
    .await;
    let seen = |scene: &Scene| scene.run_vms("node1", &["vm-1"]);
    changes(expected().await, seen, "is here, not confirmed yet").await;
    changes(expected().await, seen, "VM vm-1 is confirmed in it").await;
    let elsewhere = |scene: &Scene| scene.run_vms("node2", &["vm-1"]);
    changes(expected().await, elsewhere, "is on node2").await;
    let late = expected().await;
    late.later(900).await;
    let text = screen(&late).await;
    assert!(text.contains("not observed, was waited for until 2026-03-01T12:16:00Z (now)"), "{text}");
    assert!(text.contains("VM vm-1 is removed from it, and its capacity stays reserved"), "{text}");
    let confirmed = async || {
        let scene = expected().await;
        scene.run_vms("node1", &["vm-1"]);
        scene.operate().await;
        scene
    };
    let ended = "was here, no host lists it; removed from the slot when it has been missing for 1m 0s";
    changes(Box::pin(confirmed()).await, |scene| scene.run_vms("node1", &[]), ended).await;
    let moves = |scene: &Scene| {
        scene.run_vms("node1", &[]);
        scene.run_vms("node2", &["vm-1"]);
    };
    changes(
        Box::pin(confirmed()).await,
        moves,
        "it follows VM vm-1 to node2 if there is free capacity, and otherwise drops the VM",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn its_own_faults_and_those_of_its_commitment_are_reported() {
    let nameless = |scene: &Scene| {
        scene.old_slot(0, &json!({ "spec": { "committedResourceReservation": { "resourceName": Value::Null } } }));
    };
    changes(without_host().await, nameless, "no host: it names no flavor").await;
    let lost = |scene: &Scene| {
        scene.edit_slot(0, &json!({ "spec": { "committedResourceReservation": { "resourceName": "gone" } } }));
    };
    changes(without_host().await, lost, "no host: flavor gone not found in flavor group mem_v4").await;
    let orphan = |scene: &Scene| {
        let patch = json!({ "metadata": { "finalizers": [] } });
        scene.home.edit::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
        scene.home.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    };
    changes(in_force().await, orphan, "NONE has the UUID story-1").await;
    let ends = |scene: &Scene| scene.edit_slot(0, &json!({ "spec": { "endTime": "2026-03-02T12:00:00Z" } }));
    changes(in_force().await, ends, "its commitment ends, and it is released").await;
}

#[tokio::test(start_paused = true)]
async fn names_that_mean_no_slot_are_refused() {
    let scene = in_force().await;
    let mut block = testing::slot(UUID, 7);
    block.spec.type_ = ReservationType::FailoverReservation;
    block.spec.committed_resource_reservation = None;
    block.spec.failover_reservation = Some(FailoverReservationSpec::default());
    block.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_FAILOVER.to_owned())].into());
    scene.home.create(&block).unwrap();
    scene.old_slot(0, &json!({ "spec": { "resources": 7 } }));
    let snapshot = scene.snapshot().await;
    for (name, text) in [
        (slot_name(UUID, 0), "Reservation home/commitment-story-1-0 cannot be read, correct or delete it: "),
        (slot_name(UUID, 7), "Reservation home/commitment-story-1-7 is a FailoverReservation and no slot"),
        (slot_name("story-2", 0), "no slot \"commitment-story-2-0\" is known; similar names: commitment-story-1-0"),
    ] {
        let error = explain(&snapshot, &name, scene.clock.clone(), async |_| unasked()).await.unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
async fn the_members_of_the_json_form() {
    let scene = in_force().await;
    scene.expect_vm(0, "vm-1");
    assert_snapshot!(serde_json::to_string_pretty(&reported(&scene).await).unwrap(), @r#"
    {
      "missing": [],
      "now": "2026-03-01T12:01:00Z",
      "slot": "commitment-story-1-0",
      "cluster": "home",
      "zone": "eu-test-1a",
      "commitment": {
        "uuid": "story-1",
        "objects": [
          "home/commitment-story-1"
        ],
        "reason": "Accepted"
      },
      "project": "5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40",
      "group": "mem_v4",
      "flavor": "mem_v4_c30_m480",
      "size": {
        "memory": 515396075520,
        "cpu": 30
      },
      "end": null,
      "targetHost": "node1",
      "statusHost": "node1",
      "blocks": [
        {
          "host": "node1",
          "blocks": {
            "memory": 515396075520,
            "cpu": 30
          },
          "overbooked": false
        }
      ],
      "ready": {
        "status": "True",
        "reason": "ReservationActive",
        "message": "reservation is successfully scheduled",
        "since": "2026-03-01T12:00:00Z",
        "outdated": false,
        "meaning": "Its capacity is reserved on its host."
      },
      "extraConditions": [],
      "state": "in force",
      "waiting": null,
      "vms": [
        {
          "vm": "vm-1",
          "size": {
            "memory": 257698037760,
            "cpu": 15
          },
          "expectedSince": "2026-03-01T12:01:00Z",
          "seenOn": [],
          "confirmed": false,
          "waitedForUntil": "2026-03-01T12:16:00Z",
          "missingSince": null,
          "state": "not observed yet, waited for until 2026-03-01T12:16:00Z (in 15m 0s)"
        }
      ],
      "next": [
        {
          "what": "it is reconciled again, and at once after a change",
          "at": null,
          "withinSeconds": 60,
          "once": null
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
