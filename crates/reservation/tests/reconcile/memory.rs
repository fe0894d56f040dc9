//! What the controller tells about a slot that only it knows: when it is tried again, and since when something is missing.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::testing::failing;
use berth_cluster::{Action, ObjectKey};
use berth_core::ClusterName;
use berth_crds::Hypervisor;
use berth_reservation::SlotMemory;
use berth_testkit::seeds;
use tokio::time::{Instant, sleep};

use crate::support::*;

fn memory(process: &Process, number: u64) -> SlotMemory {
    process.world.deliver().unwrap();
    process.slots.memory(&ObjectKey::new(ClusterName::home(), name(number))).unwrap()
}

const IN_FORCE: SlotMemory =
    SlotMemory { has_host: true, next_try: None, host_missing_for: None, vms_missing_for: BTreeMap::new() };

async fn in_force() -> Process {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    assert_eq!(process.settle().await, []);
    process
}

#[tokio::test(start_paused = true)]
async fn all_waiting_slots_of_a_commitment_have_the_time_at_which_they_are_tried_together() {
    let process = begin(&[("node1", 1)]);
    (0..3).for_each(|number| process.make(number, None));
    let due = Instant::now() + RETRY;
    assert_eq!(process.settle().await, []);
    assert_eq!(memory(&process, 0), IN_FORCE);
    for number in [1, 2] {
        assert_eq!(memory(&process, number), SlotMemory { next_try: Some(due), ..SlotMemory::default() });
    }
    let unknown = ObjectKey::new(ClusterName::home(), name(3));
    assert_eq!(process.slots.memory(&unknown), None);
}

#[tokio::test(start_paused = true)]
async fn a_host_is_missing_for_the_time_in_which_hosts_could_be_read() {
    let process = in_force().await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    assert_eq!(memory(&process, 0), IN_FORCE, "no reconciliation has noticed it");
    process.settle().await;
    let (hosts, home, minute) = (&process.world.stores.hypervisors, ClusterName::home(), Duration::from_secs(60));
    sleep(minute).await;
    assert_eq!(memory(&process, 0).host_missing_for, Some(minute));
    failing(hosts, &home, Some("cut"));
    sleep(minute).await;
    assert_eq!(memory(&process, 0).host_missing_for, None, "unknown");
    failing(hosts, &home, None);
    sleep(minute).await;
    assert_eq!(memory(&process, 0).host_missing_for, Some(2 * minute));
    // Asking changes nothing: the grace period goes on.
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE.saturating_sub(2 * minute)));
    process.world.server.create(&seeds::host("node1", 1)).unwrap();
    assert_eq!(memory(&process, 0), IN_FORCE);
}

#[tokio::test(start_paused = true)]
async fn a_vm_is_missing_since_a_reconciliation_did_not_find_it() {
    let process = in_force().await;
    process.expect(0, "vm-1");
    process.run("node1", &["vm-1"]);
    process.settle().await;
    assert_eq!(memory(&process, 0), IN_FORCE);
    process.run("node1", &[]);
    process.settle().await;
    let minute = Duration::from_secs(60);
    sleep(minute).await;
    assert_eq!(memory(&process, 0), SlotMemory { vms_missing_for: [("vm-1".into(), minute)].into(), ..IN_FORCE });
}
