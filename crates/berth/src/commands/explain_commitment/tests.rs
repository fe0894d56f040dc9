use berth_crds::names;
use berth_testkit::seeds::{self, patient, rejectable};
use insta::assert_snapshot;
use serde_json::json;

use super::{explain, report::Account, text::text};
use crate::commands::scene::{Scene, UUID};

async fn told(scene: &Scene) -> Account {
    let account = explain(&scene.look().await, UUID, scene.clock.clone()).await.unwrap();
    assert_eq!(scene.home.take_log(), [""; 0], "nothing is written");
    account
}

async fn screen(scene: &Scene) -> String {
    text(&told(scene).await)
}

#[tokio::test(start_paused = true)]
async fn an_accepted_commitment_with_vms_and_an_end() {
    let scene = Scene::new(&[("node1", 2)]);
    let mut commitment = patient(UUID, 2);
    commitment.spec.end_time = serde_json::from_value(json!("2026-03-11T13:00:00Z")).unwrap();
    scene.commit(&commitment).await;
    scene.expect_vm(0, "vm-1");
    scene.run_vms("node1", &["vm-1"]);
    assert!(screen(&scene).await.contains("READY"));
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_for_room_behind_another_one() {
    let scene = Scene::new(&[("node1", 1)]);
    scene.home.create(&seeds::in_zone(seeds::host("node2", 9), seeds::OTHER_ZONE)).unwrap();
    scene.commit(&patient("early-1", 2)).await;
    scene.commit(&patient(UUID, 1)).await;
    assert!(screen(&scene).await.contains("READY"));
}

#[tokio::test(start_paused = true)]
async fn one_that_was_rejected_when_it_grew() {
    let scene = Scene::new(&[("node1", 2)]);
    scene.commit(&rejectable(UUID, 1)).await;
    scene.edit(&json!({ "spec": { "amount": seeds::slots(3) } }));
    scene.operate().await;
    assert!(screen(&scene).await.contains("READY"));
    let _ = names::commitment(UUID);
}
