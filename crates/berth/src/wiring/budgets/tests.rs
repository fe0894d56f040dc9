//! Budgets follow their objects, and what is unreadable keeps its last state.

use std::time::Duration;

use berth_cluster::testing::{applied, deleted, sync};
use berth_core::flavor::Flavor;
use berth_core::host::{Capabilities, ConditionStatus, Host};
use berth_core::{Bytes, ClusterName, Cores, Resources};
use berth_crds::conditions::{self, Status, ready_condition};
use berth_crds::testing::{GROUP, PROJECT, ZONE, at_version, commitment};
use berth_crds::{CommitmentState, CommittedResource, ProjectQuotaSpec, ProjectQuotaStatus, Time};
use berth_scheduler::{Call, Options, QuotaDecision, QuotaFigures, QuotaVerdict, Request, Settings};
use berth_telemetry::clock::SystemClock;
use berth_vm_source::VmRow;
use jiff::Timestamp;

use super::super::events::Queues;
use super::*;

struct World {
    stores: Stores,
    vms: VmSource,
    scheduler: Arc<BuiltIn>,
}

fn world() -> World {
    let stores = Stores::default();
    sync(&stores, &ClusterName::home());
    let scheduler = BuiltIn::new(Settings::default(), Queues::closed().enqueue_slots());
    let vms = VmSource::new(Arc::new(SystemClock), Duration::from_secs(3600));
    let world = World { scheduler: Arc::new(scheduler), stores, vms };
    feed_budgets(&world.stores, &world.vms, &world.scheduler, &Routes::home_only());
    world
}

fn flavor(gib: u64) -> Flavor {
    let specs = [("capabilities:hypervisor_type", "CH"), (HW_VERSION, GROUP)];
    let extra_specs = specs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Flavor { name: "f".into(), vcpus: 4, memory_mib: gib * 1024 - 16, disk_gib: 0, extra_specs }
}

fn request(vm: &str, gib: u64) -> Request {
    Request { project: PROJECT.into(), zone: ZONE.into(), ..Request::new(vm, flavor(gib)) }
}

impl World {
    fn verdict(&self, gib: u64) -> QuotaVerdict {
        self.scheduler.explain(&request("vm", gib)).unwrap().quota.unwrap()
    }

    fn decides(&self, gib: u64) -> QuotaDecision {
        self.verdict(gib).decision
    }

    fn figures(&self) -> QuotaFigures {
        self.verdict(1).figures.unwrap()
    }

    fn set(&self, commitment: CommittedResource) {
        applied(&self.stores.commitments, &ClusterName::home(), commitment);
    }
}

fn quota(version: u32, zone: &str, ram: i64, used: i64) -> ProjectQuota {
    let names = [format!("hw_version_{GROUP}_ram"), "cores".to_owned()];
    let spec = ProjectQuotaSpec {
        project_id: PROJECT.to_owned(),
        availability_zone: zone.to_owned(),
        quota: names.map(|name| (name, ram)).into(),
        ..ProjectQuotaSpec::default()
    };
    let mut object = ProjectQuota::new(&berth_crds::names::project_quota(PROJECT, zone), spec);
    let payg_usage = [(format!("hw_version_{GROUP}_ram"), used), (format!("hw_version_{GROUP}_cores"), 3)].into();
    object.status = Some(ProjectQuotaStatus { payg_usage, ..ProjectQuotaStatus::default() });
    at_version(version, object)
}

#[test]
fn quotas_and_their_usage_reach_the_scheduler() {
    let (world, home) = (world(), ClusterName::home());
    assert_eq!(world.decides(8), QuotaDecision::AcceptNoQuota);
    applied(&world.stores.quotas, &home, quota(1, ZONE, 32, 25));
    assert_eq!((world.decides(8), world.decides(7)), (QuotaDecision::Reject, QuotaDecision::AcceptPayg));
    let figures = world.figures();
    assert_eq!((figures.ram.quota, figures.ram.used), (Some(32), 25));
    assert_eq!((figures.cores.quota, figures.cores.used), (None, 3), "no limit, but used");
    applied(&world.stores.quotas, &home, quota(2, "other", 1, 1));
    applied(&world.stores.quotas, &home, quota(3, ZONE, 32, 24));
    assert_eq!(world.decides(8), QuotaDecision::AcceptPayg);
    deleted(&world.stores.quotas, &home, quota(4, ZONE, 32, 24));
    assert_eq!(world.decides(99), QuotaDecision::AcceptNoQuota);
}

#[test]
fn of_two_quotas_of_a_project_in_a_zone_that_in_the_cluster_of_the_zone_counts() {
    let world = world();
    let ram = || world.figures().ram.quota;
    applied(&world.stores.quotas, &"away".into(), quota(1, ZONE, 5, 0));
    assert_eq!(ram(), Some(5));
    applied(&world.stores.quotas, &ClusterName::home(), quota(1, ZONE, 32, 0));
    assert_eq!(ram(), Some(32));
    applied(&world.stores.quotas, &"away".into(), quota(2, ZONE, 6, 0));
    assert_eq!(ram(), Some(32));
    deleted(&world.stores.quotas, &ClusterName::home(), quota(2, ZONE, 32, 0));
    assert_eq!(ram(), Some(6));
}

#[test]
fn a_cluster_that_becomes_unreadable_keeps_its_budgets() {
    let world = world();
    applied(&world.stores.quotas, &ClusterName::home(), quota(1, ZONE, 32, 25));
    world.set(commitment("uuid-1", "4Gi"));
    berth_cluster::leave_out(&world.stores.quotas, &ClusterName::home(), "no answer");
    berth_cluster::leave_out(&world.stores.commitments, &ClusterName::home(), "no answer");
    assert_eq!((world.figures().ram.quota, world.figures().headroom), (Some(32), Some(4)));
}

#[test]
fn commitments_pay_as_they_were_accepted_and_with_their_declared_usage() {
    let world = world();
    let headroom = || world.figures().headroom;
    let mut object = commitment("uuid-1", "40Gi");
    object.spec.state = CommitmentState::Pending;
    world.set(at_version(1, object.clone()));
    assert_eq!(headroom(), None, "not confirmed");
    object.spec.state = CommitmentState::Guaranteed;
    world.set(at_version(2, object.clone()));
    assert_eq!(headroom(), Some(40));
    let mut accepted = object.spec.clone();
    accepted.amount = "30Gi".into();
    let status = object.status.get_or_insert_default();
    status.accepted_spec = Some(accepted);
    status.used_resources = [("memory".to_owned(), "9217Mi".into())].into();
    world.set(at_version(3, object.clone()));
    assert_eq!(headroom(), Some(20), "30 accepted; what is used is rounded up to 10");
    object.status.get_or_insert_default().used_declared_gib = Some(8);
    world.set(at_version(4, object.clone()));
    assert_eq!(headroom(), Some(22));
    let mut cores = commitment("uuid-2", "40");
    cores.spec.resource_type = berth_crds::ResourceType::Cores;
    world.set(at_version(5, cores));
    deleted(&world.stores.commitments, &ClusterName::home(), at_version(6, object));
    assert_eq!(headroom(), None, "cores pay for no RAM");
}

#[test]
fn of_two_objects_of_one_commitment_only_the_served_one_pays() {
    let world = world();
    let mut object = commitment("uuid-1", "40Gi");
    world.set(at_version(1, object.clone()));
    assert_eq!(world.figures().ram.committed, 40);
    let reason = conditions::commitment::Reason::DuplicateUuid.as_str();
    let condition = ready_condition(Status::False, reason, "uuid", None, Timestamp::UNIX_EPOCH);
    object.status.get_or_insert_default().conditions = vec![condition];
    world.set(at_version(2, object.clone()));
    assert_eq!(world.figures().ram.committed, 0);
    object.status = None;
    world.set(at_version(3, object));
    assert_eq!(world.figures().ram.committed, 40, "the other object is gone");
}

#[test]
fn a_commitment_pays_between_its_start_and_its_end() {
    let world = world();
    let mut object = commitment("uuid-1", "40Gi");
    let time = |second| Timestamp::from_second(second).unwrap();
    (object.spec.start_time, object.spec.end_time) = (Some(Time(time(100))), Some(Time(time(200))));
    world.set(object);
    let request = Request { options: Options::read_only(), ..request("vm", 8) };
    for (second, decision) in [
        (99, QuotaDecision::AcceptNoQuota),
        (100, QuotaDecision::AcceptCr),
        (200, QuotaDecision::AcceptCr),
        (201, QuotaDecision::AcceptNoQuota),
    ] {
        let (now, time) = (Duration::ZERO, time(second));
        let call = Call::new(&request, (now, time));
        let answer = world.scheduler.answer(&call).unwrap();
        assert_eq!(answer.decision.quota.unwrap().decision, decision, "{second}");
    }
}

#[test]
fn a_claim_ends_for_the_quota_when_the_vm_is_in_the_snapshot() {
    let world = world();
    let size = Resources::new(Bytes::from_mib(64 * 1024), Cores::new(64));
    let host = Host {
        zone: ZONE.into(),
        capacity: size.into(),
        effective_capacity: size.into(),
        conditions: [("Ready".to_owned(), ConditionStatus::True)].into(),
        capabilities: Capabilities { hypervisor_type: "ch".to_owned(), ..Capabilities::default() },
        ..Host::default()
    };
    world.scheduler.host_changed(&"node1".into(), Some(host));
    let asked = request("new", 8);
    let (now, time) = (Duration::ZERO, Timestamp::UNIX_EPOCH);
    let call = Call::new(&asked, (now, time));
    assert_eq!(world.scheduler.answer(&call).unwrap().hosts.len(), 1);
    assert_eq!(world.figures().ram.claimed, 8);
    let row = |flavor: &str| VmRow {
        id: "new".into(),
        project: PROJECT.into(),
        host: "node1".into(),
        flavor: flavor.into(),
        ..VmRow::default()
    };
    let other = Flavor { name: "other".into(), extra_specs: [].into(), ..flavor(8) };
    world.vms.publish(VmSnapshot::new(vec![row("other")], vec![other], Timestamp::now()));
    assert_eq!(world.figures().ram.claimed, 8, "it counts in no group yet");
    world.vms.publish(VmSnapshot::new(vec![row("f")], vec![flavor(8)], Timestamp::now()));
    let claimed = world.figures();
    assert_eq!((claimed.ram.claimed, claimed.cores.claimed, claimed.instances.claimed), (0, 0, 0));
}
