//! The worlds in which scenarios begin.

use std::sync::Arc;
use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Time, names, testing};
use berth_telemetry::clock::Clock;
use berth_testkit::{Server, seeds, vms};
use serde_json::json;

use crate::support::*;
use crate::test_clock::TestClock;

const MINUTE: Duration = Duration::from_secs(60);
/// After which a host that does not come back counts as lost.
const GRACE: Duration = Duration::from_secs(20 * 60);

/// A process with its server and its clock.
pub struct Stage {
    pub process: Process,
    pub clock: TestClock,
}

/// A host for so many slots, and these commitments, which have come to rest.
pub async fn stage(slots: u64, commitments: &[CommittedResource]) -> Stage {
    let clock = TestClock::default();
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let server = server(&shared, slots);
    watch_over_booking(&server, slots);
    for commitment in commitments {
        server.create(commitment).unwrap();
    }
    let process = Process::start(&server, &shared);
    process.settle().await;
    Stage { process, clock }
}

/// One commitment has all slots of the host.
pub async fn full_stage(slots: u64) -> Stage {
    let stage = stage(slots, &[seeds::rejectable(OLD, slots)]).await;
    assert_eq!(placed(stage.server(), OLD).len() as u64, slots);
    stage
}

/// The same, and another commitment has waited since before the change.
pub async fn stage_with_waiting(slots: u64) -> Stage {
    let stage = full_stage(slots).await;
    let_another_wait(stage.server(), &stage.process, seeds::SLOT_GIB).await;
    stage
}

/// One commitment has all slots of the host, and a VM is in each.
pub async fn stage_with_vms(slots: u64) -> Stage {
    let stage = full_stage(slots).await;
    stage.process.checker.act_as_user(|| start_vms(stage.server(), OLD, &stage.process.clock));
    stage.process.read_vms();
    stage.process.settle().await;
    stage
}

/// A commitment has one slot of the host, and VMs outside of slots have the rest.
pub async fn stage_with_vms_outside(slots: u64) -> Stage {
    let stage = stage(slots, &[seeds::rejectable(OLD, 1)]).await;
    let names: Vec<_> = (1..slots).map(|number| format!("vm-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    stage.process.checker.act_as_user(|| vms::run(stage.server(), "node1", &names).unwrap());
    stage.process.read_vms();
    stage.process.settle().await;
    stage
}

/// The same, and another host has room for as much.
pub async fn stage_with_vms_and_room(slots: u64) -> Stage {
    let stage = stage_with_vms(slots).await;
    stage.process.checker.act_as_user(|| stage.server().create(&seeds::host("node2", slots)).unwrap());
    stage.process.settle().await;
    stage
}

/// One commitment has all cores of the group, and another one waits for one.
pub async fn stage_with_cores(cores: u64) -> Stage {
    let stage = stage(4, &[]).await;
    stage.server().create(&seeds::capacity(testing::ZONE, cores)).unwrap();
    stage.server().create(&seeds::cores(OLD, cores)).unwrap();
    stage.process.settle().await;
    stage.server().create(&seeds::cores(WAITING, 1)).unwrap();
    stage.process.settle().await;
    assert_eq!([OLD, WAITING].map(|uuid| reason(stage.server(), uuid)), ["Accepted", "Reserving"]);
    stage
}

/// The commitment has lost its host for good.
pub async fn stage_without_host() -> Stage {
    let stage = full_stage(2).await;
    let process = &stage.process;
    process.checker.act_as_user(|| stage.server().delete::<Hypervisor>("node1").unwrap());
    process.settle().await;
    process.wait(GRACE).await;
    process.wait(MINUTE).await;
    assert_eq!(placed(stage.server(), OLD).len(), 0);
    stage
}

/// The commitment has ended, and its capacity is free.
pub async fn expired_stage() -> Stage {
    let stage = full_stage(2).await;
    let end = stage.clock.now().saturating_add(MINUTE).unwrap();
    let patch = json!({ "spec": { "endTime": Time(end) } });
    let edit = || stage.server().edit::<CommittedResource>(&names::commitment(OLD), &patch).unwrap();
    stage.process.checker.act_as_user(edit);
    stage.process.settle().await;
    stage.process.wait(MINUTE * 2).await;
    assert_eq!((reason(stage.server(), OLD).as_str(), slots_of(stage.server(), OLD).len()), ("expired", 0));
    stage
}

/// The commitment has ended, and another one has a part of its capacity.
pub async fn stage_with_successor() -> Stage {
    let stage = expired_stage().await;
    stage.server().create(&seeds::rejectable(REST, 1)).unwrap();
    stage.process.settle().await;
    assert_eq!(placed(stage.server(), REST).len(), 1);
    stage
}

impl Stage {
    pub fn server(&self) -> &Server {
        &self.process.world.server
    }
}
