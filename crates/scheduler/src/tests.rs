//! Worked examples and sequences of slots, over small clouds.

#![expect(clippy::cloned_ref_to_slice_refs, reason = "a list of one reads better in a table")]

mod answers;
mod bookings;
mod capacity;
mod changes;
mod claim_limits;
mod columns;
mod coverage;
mod filters;
mod holding;
mod invariants;
mod pins;
mod promises;
mod properties;
mod quota;
mod ranking;
mod running;
mod slots;
mod traces;
mod twice;
mod vms;
mod waiting;
mod weighers;
mod wrong_pipelines;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use berth_core::flavor::Flavor;
use berth_core::host::{ConditionStatus, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey, VmId};
use parking_lot::Mutex;

use crate::engine::{self, Scope};
use crate::fleet::Fleet;
use crate::{
    BuiltIn, CommitmentRequest, Decision, Hints, Intent, Pipeline, PipelineSpec, Request, Scheduler as _,
    SchedulerError, Settings, SlotRequest, StepSpec, TieBreak, WaitingRank,
};

pub(crate) use berth_core::testing::host;

pub(crate) fn gib(cpu: i64, gib: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

pub(crate) fn key(name: &str) -> SlotKey {
    SlotKey::new(ClusterName::home(), name)
}

/// A ready slot of project p1 and group g1.
pub(crate) fn slot(name: &str, host: &str, size: Resources, vms: &[(&str, Resources)]) -> Reservation {
    Reservation {
        key: key(name),
        kind: ReservationKind::Committed(vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect()),
        project: "p1".into(),
        group: "g1".into(),
        zone: "az".into(),
        size,
        target_host: (!host.is_empty()).then(|| host.into()),
        status_host: (!host.is_empty()).then(|| host.into()),
        ready: true,
    }
}

pub(crate) fn failover(name: &str, host: &str, size: Resources, vms: &[&str]) -> Reservation {
    let vms: BTreeSet<VmId> = vms.iter().map(|vm| (*vm).into()).collect();
    Reservation { kind: ReservationKind::Failover(vms), ..slot(name, host, size, &[]) }
}

pub(crate) fn flavor(vcpus: u32, memory_mib: u64, specs: &[(&str, &str)]) -> Flavor {
    let mut extra_specs = BTreeMap::from([("capabilities:hypervisor_type".to_owned(), "CH".to_owned())]);
    extra_specs.extend(specs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    Flavor { name: "f".into(), vcpus, memory_mib, disk_gib: 0, extra_specs }
}

pub(crate) fn request(vcpus: u32, memory_mib: u64, specs: &[(&str, &str)]) -> Request {
    Request { project: "p2".into(), ..Request::new("vm", flavor(vcpus, memory_mib, specs)) }
}

pub(crate) fn with_intent(request: Request, intent: Intent) -> Request {
    Request { hints: Hints::for_intent(intent), ..request }
}

pub(crate) fn fleet(hosts: &[Host], reservations: &[Reservation]) -> Fleet {
    let mut fleet = Fleet::default();
    for host in hosts {
        fleet.set_host(host.clone());
    }
    for reservation in reservations {
        fleet.view.set_reservation(reservation.clone());
    }
    fleet
}

pub(crate) fn pipeline(filters: &[StepSpec], weighers: &[StepSpec]) -> Pipeline {
    let spec = PipelineSpec { filters: filters.to_vec(), weighers: weighers.to_vec(), ..PipelineSpec::default() };
    let loaded = Pipeline::load(&spec);
    assert_eq!((loaded.filter_errors, loaded.weigher_errors, loaded.unknown), (vec![], vec![], vec![]));
    loaded.pipeline.unwrap()
}

pub(crate) fn run(pipeline: &Pipeline, request: &Request, fleet: &Fleet) -> Result<Decision, SchedulerError> {
    engine::run(pipeline, request, (fleet, &fleet.view.overlay(), None), Scope::Request, TieBreak::Name, None)
}

/// The names of the hosts that one step keeps.
pub(crate) fn kept(step: &StepSpec, request: &Request, fleet: &Fleet) -> Vec<String> {
    names(&run(&pipeline(std::slice::from_ref(step), &[]), request, fleet).unwrap().hosts)
}

pub(crate) fn names(hosts: &[HostName]) -> Vec<String> {
    hosts.iter().map(ToString::to_string).collect()
}

pub(crate) fn built_in(hosts: &[Host]) -> Watched {
    let scheduler = Watched::new(Settings { tie_break: TieBreak::Name, ..Settings::default() });
    for host in hosts {
        assert!(scheduler.host_changed(&host.name, Some(host.clone())).is_empty());
    }
    scheduler
}

/// A scheduler, and the slots that it enqueues: each call returns all slots that were enqueued so far.
pub(crate) struct Watched {
    scheduler: BuiltIn,
    enqueued: Arc<Mutex<Vec<SlotKey>>>,
}

impl Watched {
    pub(crate) fn new(settings: Settings) -> Self {
        let enqueued: Arc<Mutex<Vec<SlotKey>>> = Arc::default();
        let into = Arc::clone(&enqueued);
        let enqueue = move |slots: &[SlotKey]| into.lock().extend_from_slice(slots);
        Self { scheduler: BuiltIn::new(settings, Box::new(enqueue)), enqueued }
    }

    pub(crate) fn enqueued(&self) -> Vec<SlotKey> {
        std::mem::take(&mut *self.enqueued.lock())
    }

    pub(crate) fn host_changed(&self, name: &HostName, host: Option<Host>) -> Vec<SlotKey> {
        self.scheduler.host_changed(name, host);
        self.enqueued()
    }

    pub(crate) fn reservation_changed(&self, key: &SlotKey, reservation: Option<Reservation>) -> Vec<SlotKey> {
        self.scheduler.reservation_changed(key, reservation);
        self.enqueued()
    }

    pub(crate) fn withhold_cluster(&self, cluster: &ClusterName, withhold: bool) -> Vec<SlotKey> {
        self.scheduler.withhold_cluster(cluster, withhold);
        self.enqueued()
    }

    pub(crate) fn expire(&self, now: Duration) -> Vec<SlotKey> {
        self.scheduler.expire(now);
        self.enqueued()
    }

    pub(crate) fn applied(&self, keys: &[SlotKey]) -> Vec<SlotKey> {
        self.scheduler.applied(keys);
        self.enqueued()
    }

    pub(crate) fn settled(&self, key: &SlotKey) -> Vec<SlotKey> {
        self.scheduler.settled(key);
        self.enqueued()
    }

    pub(crate) fn withdraw(&self, key: &SlotKey) -> Vec<SlotKey> {
        self.scheduler.withdraw(key);
        self.enqueued()
    }
}

impl Deref for Watched {
    type Target = BuiltIn;

    fn deref(&self) -> &BuiltIn {
        &self.scheduler
    }
}

/// Slot `number` of a commitment that was created at `created`.
pub(crate) fn wanted(commitment: &str, created: i64, number: u64, size: Resources) -> SlotRequest {
    SlotRequest {
        key: key(&format!("{commitment}-{number}")),
        rank: WaitingRank { created_unix: created, commitment: commitment.into(), number },
        project: "p1".into(),
        zone: "az".into(),
        flavor: flavor(1, 1024, &[("quota:hw_version", "g1")]),
        size,
        vms: [].into(),
        domain_name: None,
        pipeline: String::new(),
        prefer: None,
        request_id: "req".to_owned(),
    }
}

pub(crate) fn request_of(slots: Vec<SlotRequest>, all_or_nothing: bool) -> CommitmentRequest {
    CommitmentRequest { slots, all_or_nothing, ..CommitmentRequest::default() }
}

/// The object of a slot as the API server shows it after it is created without a host.
pub(crate) fn unplaced(wanted: &SlotRequest) -> Reservation {
    Reservation { key: wanted.key.clone(), ready: false, ..slot("", "", wanted.size, &[]) }
}

pub(crate) fn placed(wanted: &SlotRequest, host: &str) -> Reservation {
    Reservation { target_host: Some(host.into()), ..unplaced(wanted) }
}

/// The built-in scheduler never waits, so one poll gives the answer.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("the built-in scheduler never waits"),
    }
}
