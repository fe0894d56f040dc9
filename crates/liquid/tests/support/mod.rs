//! The controllers of changes, commitments and slots in a small world: one process that reconciles the enqueued keys, one
//! after the other.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../committed-resource/tests/shared/commitments.rs"]
mod commitment_controller;
pub mod history;
pub mod liquid;
#[path = "../../../reservation/tests/shared/slots.rs"]
mod slot_controller;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Events, ObjectKey, Reconciler, Requests, Routes};
use berth_committed_resource::{
    ChangeVerdict, CommittedResourceController, ProposedCommitment, hold_released_capacity,
};
use berth_core::ClusterName;
use berth_crds::commitment_change::{ChangeItem, ChangePhase, CommitmentBefore, SlotBefore};
use berth_crds::hypervisor::Instance;
use berth_crds::reservation::Allocation;
use berth_crds::{
    CommitmentChange, CommitmentChangeSpec, CommittedResource, CommittedResourceSpec, Hypervisor, MicroTime,
    Reservation, conditions, facts, labels, names, testing,
};
use berth_liquid::changes::{ChangeController, ChangeMetrics, ChangesUnderWay, Context, Settings, UnderWay};
use berth_reservation::ReservationController;
use berth_scheduler::BuiltIn;
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{CheckerSettings, InvariantChecker, Server, World, next, seeds, vms};
use berth_vm_source::VmSource;
use kube::Resource as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use commitment_controller::commitments_with;
use slot_controller::{DELAYS, slots};

/// A second flavor group, with the same flavor.
pub const OTHER_GROUP: &str = "mem_v5";

pub const OLD: &str = "uuid-old";
pub const NEW: &str = "uuid-new";
pub const REST: &str = "uuid-rest";
pub const WAITING: &str = "uuid-waiting";

/// How long a change may take.
pub const WATCH_TIMEOUT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(200);
const TICK: Duration = Duration::from_millis(10);

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()))
}

/// A server with both flavor groups, in which half slots exist as well, and one host with capacity for so many slots.
pub fn server(clock: &Arc<dyn Clock>, slots: u64) -> Server {
    let server = Server::new(clock.clone());
    let mut groups = seeds::flavor_groups_with_half(clock.now());
    let features = groups.status.as_ref().unwrap().raw.clone().unwrap()["features"][0].clone();
    let other: Value =
        serde_json::from_str(&features.to_string().replace(testing::GROUP, OTHER_GROUP)).expect("a flavor group");
    groups.status.as_mut().unwrap().raw = Some(json!({ "features": [features, other] }));
    server.create(&groups).unwrap();
    server.create(&seeds::host("node1", slots)).unwrap();
    server
}

/// Checks every write to the server from now on.
pub fn checker(server: &Server, clock: &Arc<dyn Clock>) -> InvariantChecker {
    let checker = InvariantChecker::new(CheckerSettings { clock: clock.clone(), ..CheckerSettings::default() });
    checker.watch(&ClusterName::home(), server);
    checker
}

/// The clock of a scenario may be set forward by hours.
const AGE_OF_VMS: Duration = Duration::from_secs(30 * 86_400);

/// One process with the three controllers.
pub struct Process {
    /// Checks what all processes of this server write.
    pub checker: InvariantChecker,
    pub world: World,
    pub clock: Arc<dyn Clock>,
    vms: VmSource,
    pub under_way: ChangesUnderWay,
    commitments: Arc<CommittedResourceController<BuiltIn>>,
    slots: Arc<ReservationController<BuiltIn>>,
    changes: Arc<ChangeController>,
    requests: Requests<ObjectKey>,
    /// Draws which controller runs next; without it changes come first, then commitments, then slots.
    order: Option<Mutex<fastrand::Rng>>,
}

/// One of the controllers.
#[derive(Clone, Copy)]
enum Turn {
    Changes,
    Commitments,
    Slots,
}

impl Process {
    pub fn start(server: &Server, clock: &Arc<dyn Clock>) -> Self {
        Self::start_checked(server, clock, checker(server, clock))
    }

    /// The successor of a process that has ended.
    pub fn start_after(former: &InvariantChecker, server: &Server, clock: &Arc<dyn Clock>, seed: u64) -> Self {
        let mut process = Self::start_checked(server, clock, former.clone());
        process.set_order(seed);
        process
    }

    /// The checker has seen what former processes have written.
    fn start_checked(server: &Server, clock: &Arc<dyn Clock>, checker: InvariantChecker) -> Self {
        checker.begins();
        let world = World::new(server);
        let (under_way, requests) = (ChangesUnderWay::default(), berth_cluster::testing::opened());
        let vms = VmSource::new(clock.clone(), AGE_OF_VMS);
        let disruption_limit = || world.disruption_limit(clock).unwrap();
        let commitments = Arc::new(commitments_with(
            &world,
            clock,
            disruption_limit(),
            world.scheduler.clone(),
            events(&world),
            &vms,
        ));
        let slots = Arc::new(slots(&world, clock, disruption_limit(), DELAYS, events(&world), &vms));
        let changes = Arc::new(changes(&world, clock, &under_way));
        world.declare(&commitments, &world.commitments).unwrap();
        world.declare(&slots, &world.slots).unwrap();
        world.declare(&changes, &requests).unwrap();
        world.list().unwrap();
        hold_released_capacity(&world.stores.changes, &world.stores.reservations, &*world.scheduler);
        let (clock, order) = (clock.clone(), None);
        let process = Self { checker, world, clock, vms, under_way, commitments, slots, changes, requests, order };
        process.read_vms();
        process
    }

    /// Its source of VMs reads all that the hosts list.
    pub fn read_vms(&self) {
        self.vms.publish(vms::snapshot(&self.world.server, self.clock.now()).unwrap());
    }

    /// From now on it reconciles in an order that is drawn from a seed.
    pub fn set_order(&mut self, seed: u64) {
        self.order = Some(Mutex::new(fastrand::Rng::with_seed(seed)));
    }

    fn turns(&self) -> [Turn; 3] {
        let mut turns = [Turn::Changes, Turn::Commitments, Turn::Slots];
        if let Some(order) = &self.order {
            order.lock().shuffle(&mut turns);
        }
        turns
    }

    /// Whether there was something to reconcile, and whether it failed.
    async fn reconcile_one(&self, turn: Turn) -> Option<bool> {
        let (requests, key) = match turn {
            Turn::Changes => (&self.requests, next(&self.requests)?),
            Turn::Commitments => (&self.world.commitments, next(&self.world.commitments)?),
            Turn::Slots => (&self.world.slots, next(&self.world.slots)?),
        };
        let has_failed = match turn {
            Turn::Changes => self.changes.reconcile(key.clone()).await.is_err(),
            Turn::Commitments => self.commitments.reconcile(key.clone()).await.is_err(),
            Turn::Slots => self.slots.reconcile(key.clone()).await.is_err(),
        };
        if has_failed {
            requests.add([key]);
        }
        Some(has_failed)
    }

    /// Reconciles until no key is enqueued.
    pub async fn settle(&self) {
        self.settle_until(|| false).await;
    }

    /// Reconciles until this has happened, or no key is enqueued. Returns whether it has happened.
    pub async fn settle_until(&self, has_happened: impl Fn() -> bool) -> bool {
        for _ in 0..2000 {
            match self.step().await {
                None => {
                    assert_eq!(self.checker.violations(), [""; 0]);
                    return has_happened();
                }
                _ if has_happened() => return true,
                Some(true) => tokio::time::sleep(PAUSE).await,
                Some(false) => {}
            }
        }
        panic!("the world does not come to rest");
    }

    /// Reconciles the next key. Whether there was one, and whether it failed.
    async fn step(&self) -> Option<bool> {
        self.world.deliver().unwrap();
        self.world.end_settled_doubts();
        for turn in self.turns() {
            if let Some(has_failed) = self.reconcile_one(turn).await {
                return Some(has_failed);
            }
        }
        None
    }

    /// Reconciles what is enqueued, and everything once in a while, until this has happened. Meanwhile other tasks send
    /// requests.
    pub async fn work_until(&self, mut has_happened: impl FnMut() -> bool) {
        for idle in 0..200_000 {
            if has_happened() {
                return;
            }
            match self.step().await {
                Some(true) => tokio::time::sleep(PAUSE).await,
                Some(false) => tokio::task::yield_now().await,
                None => {
                    tokio::time::sleep(TICK).await;
                    if idle % 100 == 0 {
                        self.enqueue_all();
                    }
                }
            }
        }
        panic!("requests are not answered");
    }

    /// The same, and then reconciles everything again, which writes nothing.
    pub async fn settle_for_good(&self) {
        self.settle().await;
        self.world.server.take_log();
        tokio::time::sleep(Duration::from_secs(60)).await;
        self.enqueue_all();
        self.settle().await;
        assert_eq!(self.world.server.take_log(), [""; 0], "reconciling again writes nothing");
        assert_eq!(self.world.scheduler.assumed(), 0, "nothing is held without a change");
        assert_eq!(self.checker.violations_at_rest(), [""; 0]);
        self.checker.mark_observed();
    }

    pub fn enqueue_all(&self) {
        self.requests.add(self.world.stores.changes.keys());
        self.world.commitments.add(self.world.stores.commitments.keys());
        self.world.slots.add(self.world.stores.reservations.keys());
    }

    /// A time without a write of anybody, after which everything is reconciled again.
    pub async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
        self.enqueue_all();
        self.settle().await;
    }

    /// Records a change as the API does: each commitment with its spec after it, or `None` if it is deleted.
    pub fn begin(&self, items: &[(&str, Option<CommittedResourceSpec>)], requires_confirmation: bool) -> UnderWay {
        self.begin_in(testing::ZONE, "a", items, requires_confirmation)
    }

    /// The same in a zone, with this name.
    pub fn begin_in(
        &self,
        zone: &str,
        name: &str,
        items: &[(&str, Option<CommittedResourceSpec>)],
        requires_confirmation: bool,
    ) -> UnderWay {
        self.checker.mark_observed();
        let name = names::commitment_change(name);
        let caller = self.under_way.begin(&name);
        let deadline = self.clock.now().saturating_add(WATCH_TIMEOUT).unwrap();
        let spec = CommitmentChangeSpec {
            request_id: "committed-resource-r1".to_owned(),
            availability_zone: zone.to_owned(),
            requires_confirmation,
            deadline: MicroTime(deadline),
            item_count: i64::try_from(items.len()).unwrap(),
            items: items.iter().map(|(uuid, after)| self.item(uuid, after.clone())).collect(),
            slots_gzip: None,
        };
        let mut change = CommitmentChange::new(&name, spec);
        change.metadata.finalizers = Some(vec![labels::FINISH_CHANGE.to_owned()]);
        self.world.server.create(&change).unwrap();
        caller
    }

    /// What the same change would lead to.
    pub async fn dry_run(&self, items: &[(&str, Option<CommittedResourceSpec>)]) -> ChangeVerdict {
        let proposed = |(uuid, after): &(&str, Option<CommittedResourceSpec>)| {
            let key = home(&names::commitment(uuid));
            let object = self.world.stores.commitments.get(&key);
            ProposedCommitment { key, uuid: (*uuid).into(), object, after: after.clone() }
        };
        let change: Vec<_> = items.iter().map(proposed).collect();
        self.commitments.dry_run_change(&change, "committed-resource-r1").await
    }

    fn item(&self, uuid: &str, after: Option<CommittedResourceSpec>) -> ChangeItem {
        let object: Option<CommittedResource> = self.world.server.get(&names::commitment(uuid)).ok();
        let before = object.map(|object| CommitmentBefore {
            annotations: object.metadata.annotations.clone().unwrap_or_default(),
            accepted_spec: object.status.as_ref().and_then(|status| status.accepted_spec.clone()),
            generation: object.metadata.generation.unwrap(),
            uid: object.metadata.uid.clone().unwrap(),
            spec: object.spec,
        });
        let slots = slots_of(&self.world.server, uuid).into_iter().map(slot_before).collect();
        ChangeItem { commitment_uuid: uuid.to_owned(), before, slots, after }
    }
}

pub fn change(server: &Server) -> CommitmentChange {
    change_named(server, "a")
}

pub fn change_named(server: &Server, name: &str) -> CommitmentChange {
    server.get(&names::commitment_change(name)).unwrap()
}

pub fn assert_finished(server: &Server, phase: ChangePhase) {
    assert_named_finished(server, "a", phase);
}

pub fn assert_named_finished(server: &Server, name: &str, phase: ChangePhase) {
    let change = change_named(server, name);
    assert_eq!(change.phase(), phase, "{:?}", change.status);
    assert!(!facts::is_open(&change), "{:?}", change.status);
    assert_eq!(change.metadata.finalizers.unwrap_or_default(), [""; 0]);
}

pub fn slots_of(server: &Server, uuid: &str) -> Vec<Reservation> {
    let all: Vec<Reservation> = server.all().unwrap();
    let of = |slot: &Reservation| {
        let data = slot.spec.committed_resource_reservation.as_ref();
        data.is_some_and(|data| data.commitment_uuid.as_deref() == Some(uuid))
    };
    all.into_iter().filter(of).collect()
}

/// The names of its slots with a host.
pub fn placed(server: &Server, uuid: &str) -> Vec<String> {
    let placed = slots_of(server, uuid).into_iter().filter(|slot| slot.spec.target_host.is_some());
    placed.map(|slot| slot.metadata.name.unwrap()).collect()
}

pub fn reason(server: &Server, uuid: &str) -> String {
    let object: CommittedResource = server.get(&names::commitment(uuid)).unwrap();
    let status = object.status.unwrap_or_default();
    conditions::ready(&status.conditions).map(|ready| ready.reason.clone()).unwrap_or_default()
}

pub fn exists(server: &Server, uuid: &str) -> bool {
    server.get::<CommittedResource>(&names::commitment(uuid)).is_ok()
}

/// A host for so many slots, and a commitment that has all of them.
pub async fn full(slots: u64) -> (Server, Process) {
    let clock = clock();
    let server = server(&clock, slots);
    server.create(&seeds::rejectable(OLD, slots)).unwrap();
    let process = Process::start(&server, &clock);
    process.settle_for_good().await;
    assert_eq!(placed(&server, OLD).len() as u64, slots);
    (server, process)
}

/// Another commitment that has waited for capacity since before the change.
pub async fn let_another_wait(server: &Server, process: &Process, gib: u64) {
    let mut waiting = seeds::waiting_commitment(WAITING, 1);
    OTHER_GROUP.clone_into(&mut waiting.spec.flavor_group_name);
    waiting.spec.amount = format!("{gib}Gi").as_str().into();
    server.create(&waiting).unwrap();
    process.settle().await;
    assert_eq!((reason(server, WAITING).as_str(), placed(server, WAITING).len()), ("Reserving", 0));
}

pub fn spec_of(server: &Server, uuid: &str) -> CommittedResourceSpec {
    server.get::<CommittedResource>(&names::commitment(uuid)).unwrap().spec
}

/// A commitment as it was before a change: its spec, acceptance, slots and hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    spec: CommittedResourceSpec,
    annotations: BTreeMap<String, String>,
    accepted: Option<CommittedResourceSpec>,
    slots: Vec<SlotBefore>,
}

pub fn picture(server: &Server, uuid: &str) -> Picture {
    let object: CommittedResource = server.get(&names::commitment(uuid)).unwrap();
    Picture {
        spec: object.spec,
        annotations: object.metadata.annotations.unwrap_or_default(),
        accepted: object.status.and_then(|status| status.accepted_spec),
        slots: slots_of(server, uuid).into_iter().map(slot_before).collect(),
    }
}

impl Picture {
    /// Only how much it has.
    pub fn without_places(mut self) -> Self {
        for slot in &mut self.slots {
            slot.target_host = None;
            slot.name.clear();
        }
        self
    }
}

fn slot_before(slot: Reservation) -> SlotBefore {
    let Reservation { metadata, spec, .. } = slot;
    SlotBefore { name: metadata.name.unwrap(), target_host: spec.target_host, resources: spec.resources }
}

/// A confirmed commitment of so many slots.
pub fn spec(uuid: &str, slots: u64) -> CommittedResourceSpec {
    seeds::rejectable(uuid, slots).spec
}

pub fn superseded(uuid: &str) -> CommittedResourceSpec {
    CommittedResourceSpec { state: berth_crds::CommitmentState::Superseded, amount: "0".into(), ..spec(uuid, 0) }
}

pub fn in_other_group(spec: CommittedResourceSpec) -> CommittedResourceSpec {
    CommittedResourceSpec { flavor_group_name: OTHER_GROUP.to_owned(), ..spec }
}

/// Lets a VM of the whole size run in each slot of a commitment.
pub fn start_vms(server: &Server, uuid: &str, clock: &Arc<dyn Clock>) {
    let mut host: Hypervisor = server.get("node1").unwrap();
    let status = host.status.as_mut().unwrap();
    let slots = slots_of(server, uuid);
    for slot in &slots {
        let name = slot.metadata.name.clone().unwrap();
        let vm = format!("vm-{name}");
        status.instances.push(Instance { id: vm.clone(), name: vm.clone(), active: true });
        let allocation =
            Allocation { creation_timestamp: berth_crds::Time(clock.now()), resources: slot.spec.resources.clone() };
        let allocations = BTreeMap::from([(vm, allocation)]);
        let patch = json!({ "spec": { "committedResourceReservation": { "allocations": allocations } } });
        server.edit::<Reservation>(&name, &patch).unwrap();
    }
    status.allocation = testing::size(&seeds::slots(slots.len() as u64), &(30 * slots.len()).to_string());
    server.edit_status::<Hypervisor>("node1", &json!({ "status": status })).unwrap();
}

/// Checks after every write that the host has no more slots than it has room for.
pub fn watch_over_booking(server: &Server, most: u64) {
    server.on_write(move |snapshot, _| {
        let path = Reservation::url_path(&(), None);
        let placed = snapshot.all(&path).filter(|slot| slot["spec"]["targetHost"].is_string()).count();
        assert!(placed as u64 <= most, "{placed} slots on a host for {most}");
    });
}

fn metrics() -> Metrics {
    Metrics::new(&[].into()).unwrap()
}

fn events(world: &World) -> Events {
    let counted = berth_cluster::ClusterMetrics::register(&metrics()).unwrap().events;
    Events::new(&world.clusters, None, counted, CancellationToken::new()).0
}

fn changes(world: &World, clock: &Arc<dyn Clock>, under_way: &ChangesUnderWay) -> ChangeController {
    let stores = &world.stores;
    ChangeController::new(Context {
        changes: world.writer(&stores.changes),
        commitments: world.writer(&stores.commitments),
        reservations: stores.reservations.clone(),
        routes: Routes::home_only(),
        pauses: world.pauses(),
        under_way: under_way.clone(),
        clock: clock.clone(),
        events: events(world),
        metrics: ChangeMetrics::register(&metrics(), stores.changes.clone()).unwrap(),
        settings: Settings { retention: Duration::from_secs(86_400) },
    })
}

pub fn home(name: &str) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), name)
}
