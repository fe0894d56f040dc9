//! The VMs that use a commitment.

use std::time::Duration;

use berth_crds::{CommittedResource, names, testing};
use berth_testkit::vms::slot_flavor;
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use serde_json::json;

use super::{accepted, screen};
use crate::commands::cluster_snapshot::ClusterSnapshot;
use crate::commands::explain_commitment::{explain, text};
use crate::commands::scene::{Scene, UUID, unasked};

/// The scene as a command sees it that has read this many VMs of a slot.
async fn with_vms(scene: &Scene, count: i64) -> ClusterSnapshot {
    let mut snapshot = scene.snapshot().await;
    let row = |number: i64| VmRow {
        id: format!("vm-{number}").into(),
        project: testing::PROJECT.into(),
        created: jiff::Timestamp::from_second(number).ok(),
        zone: testing::ZONE.into(),
        host: "node1".into(),
        flavor: testing::FLAVOR.into(),
        ..VmRow::default()
    };
    let vms = VmSource::new(scene.clock.clone(), Duration::from_secs(3600));
    vms.publish(VmSnapshot::new((1..=count).map(row).collect(), vec![slot_flavor()], scene.clock.now()));
    snapshot.memory.vms = vms;
    snapshot
}

#[tokio::test(start_paused = true)]
async fn the_vms_that_use_a_commitment_are_listed_and_the_others_of_its_project_with_the_reason() {
    let scene = accepted(1).await;
    let account = explain(&with_vms(&scene, 2).await, UUID, scene.clock.clone(), async |_| unasked()).await.unwrap();
    let screen = text(&account);
    let lines = "\nVMs that use it\n  VM    FLAVOR           SIZE\n  vm-1  mem_v4_c30_m480  480 GiB, 30 cores\n\
                 \nVMs of its project without a commitment\n  VM    WHY\n  \
                 vm-2  no memory commitment in its zone and flavor group has enough left\n";
    assert!(screen.contains(lines), "{screen}");
    let many = explain(&with_vms(&scene, 30).await, UUID, scene.clock.clone(), async |_| unasked()).await.unwrap();
    assert!(text(&many).contains("  ... and 9 more (-o json has all)\n"));
    assert_eq!(many.usage.without_commitment.len(), 29);
}

#[tokio::test(start_paused = true)]
async fn without_the_table_the_vms_of_the_object_are_listed_and_the_heading_says_why() {
    let scene = accepted(1).await;
    assert!(!screen(&scene).await.contains("VMs that use it"), "there is nothing to say");
    let status = json!({ "status": { "assignedInstances": ["vm-1"] } });
    scene.home.edit_status::<CommittedResource>(&names::commitment(UUID), &status).unwrap();
    let screen = screen(&scene).await;
    let heading = "\nVMs that use it, as the object says (the usage stays as it is, because the VMs are not known: failed to list \
                   VMs from source: this command does not read the database of VMs)\n  VM    FLAVOR  SIZE\n  vm-1  -       unknown, unknown cores\n";
    assert!(screen.contains(heading), "{screen}");
}
