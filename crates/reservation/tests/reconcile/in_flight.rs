//! Reconciliations of in-flight reservations: what becomes of them when their VM arrives, moves, or never comes, and
//! that nothing else is touched.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::{failing, opened};
use berth_cluster::{Action, Classified, ErrorClass, ObjectKey, Reconciler as _, Requests};
use berth_core::{Bytes, ClusterName, Cores, Resources, VmId};
use berth_crds::{Condition, Hypervisor, Reservation, ReservationType, conditions, labels, testing};
use berth_reservation::Error;
use berth_reservation::in_flight::{Context, InFlightController, InFlightMetrics, VmSize, VmSizes};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Fault, Server, Verb, World, next, path_of, seeds};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

const LIFE: Duration = Duration::from_secs(1800);

/// Nova's answers about the sizes of VMs.
#[derive(Clone, Default)]
struct Sizes(Arc<Mutex<BTreeMap<String, Result<Resources, String>>>>);

impl VmSizes for Sizes {
    fn size<'a>(&'a self, vm: &'a VmId) -> VmSize<'a> {
        Box::pin(async move {
            let known = self.0.lock().get(vm.as_str()).cloned();
            known.transpose().map_err(|why| Error::VmSize { vm: vm.clone(), why })
        })
    }
}

struct Flights {
    world: World,
    controller: Arc<InFlightController>,
    sizes: Sizes,
    metrics: Metrics,
    queue: Requests<ObjectKey>,
    clock: Arc<dyn Clock>,
}

/// A process that has not reconciled anything yet, over three hosts.
fn begin() -> Flights {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
    let server = Server::new(clock.clone());
    for host in ["node-a", "node-b", "node-c"] {
        server.create(&seeds::host(host, 4)).unwrap();
    }
    process(&World::new(&server), &clock)
}

fn process(world: &World, clock: &Arc<dyn Clock>) -> Flights {
    let (stores, queue) = (&world.stores, opened());
    let (metrics, sizes) = (Metrics::new(&[].into()).unwrap(), Sizes::default());
    let controller = Arc::new(InFlightController::new(Context {
        reservations: world.writer(&stores.reservations),
        hypervisors: stores.hypervisors.clone(),
        vm_sizes: Arc::new(sizes.clone()),
        clock: clock.clone(),
        metrics: InFlightMetrics::register(&metrics).unwrap(),
    }));
    world.declare(&controller, &queue).unwrap();
    world.list().unwrap();
    Flights { world: world.clone(), controller, sizes, metrics, queue, clock: clock.clone() }
}

fn flight(name: &str, vm: &str, host: &str, intent: &str) -> Reservation {
    let mut flight = testing::slot("uuid-1", 0);
    flight.metadata.name = Some(name.to_owned());
    flight.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_IN_FLIGHT.to_owned())].into());
    let spec = &mut flight.spec;
    (spec.type_, spec.committed_resource_reservation) = (ReservationType::InFlightReservation, None);
    spec.resources = testing::size("32Gi", "8");
    spec.target_host = Some(host.to_owned());
    let data = spec.in_flight_reservation.get_or_insert_default();
    (data.vm_id, data.intent) = (Some(vm.to_owned()), intent.to_owned());
    flight
}

impl Flights {
    fn make(&self, name: &str, vm: &str, host: &str) {
        self.world.server.create(&flight(name, vm, host, "create")).unwrap();
    }

    fn resize(&self, name: &str, host: &str) {
        self.world.server.create(&flight(name, "x", host, "resize")).unwrap();
    }

    /// The agent of a host lists these VMs.
    fn lists(&self, host: &str, vms: &[&str]) {
        let vms: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
        let status = json!({ "status": { "instances": vms } });
        self.world.server.edit_status::<Hypervisor>(host, &status).unwrap();
    }

    async fn reconcile(&self, name: &str) -> Result<Action, Error> {
        self.world.deliver().unwrap();
        self.controller.reconcile(ObjectKey::new(ClusterName::home(), name)).await
    }

    /// Reconciles everything that was enqueued, in the order of names.
    async fn settle(&self) {
        loop {
            self.world.deliver().unwrap();
            let Some(key) = next(&self.queue) else { return };
            self.controller.reconcile(key).await.unwrap();
        }
    }

    fn left(&self) -> Vec<String> {
        let all: Vec<Reservation> = self.world.server.all().unwrap();
        all.into_iter().filter_map(|object| object.metadata.name).collect()
    }

    fn ready(&self, name: &str) -> Option<Condition> {
        let object: Reservation = self.world.server.get(name).unwrap();
        conditions::ready(&object.status?.conditions).cloned()
    }

    fn reason(&self, name: &str) -> Option<(String, String)> {
        self.ready(name).map(|ready| (ready.status, ready.reason))
    }

    fn deleted(&self, cause: &str) -> String {
        let text = self.metrics.render();
        let line = format!("berth_in_flight_deleted_total{{cause=\"{cause}\"}} ");
        text.lines().find_map(|text| text.strip_prefix(&line)).unwrap_or("0").to_owned()
    }
}

fn unknown(reason: &str) -> (String, String) {
    ("Unknown".to_owned(), reason.to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_vm_lands_and_all_candidates_are_given_back() {
    let flights = begin();
    flights.make("i1", "x", "node-a");
    flights.make("i2", "x", "node-b");
    flights.make("i3", "x", "node-a");
    flights.make("i4", "y", "node-a");
    flights.settle().await;
    assert_eq!(flights.reason("i1"), Some(unknown("InstanceNotFound")));
    assert_eq!(flights.world.server.take_log().len(), 4, "one condition each");
    assert_eq!(flights.reconcile("i1").await.unwrap(), Action::RequeueAfter(LIFE));
    assert_eq!(flights.world.server.take_log(), [""; 0], "written only when it changes");
    flights.lists("node-a", &["x"]);
    flights.settle().await;
    assert_eq!((flights.left(), flights.deleted("landed")), (vec!["i4".to_owned()], "3".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_live_migration_has_landed_when_another_host_lists_the_vm_and_not_by_its_source() {
    let flights = begin();
    flights.lists("node-c", &["x"]);
    flights.make("i1", "x", "node-a");
    flights.make("i2", "x", "node-b");
    flights.settle().await;
    assert_eq!((flights.left().len(), flights.reason("i1")), (2, None), "the source lists nothing");
    flights.lists("node-b", &["x"]);
    flights.settle().await;
    assert_eq!(flights.left(), [""; 0], "both hosts list the VM for a while");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_only_the_target_proves_a_landing() {
    let before = begin();
    before.make("i1", "x", "node-a");
    before.make("i2", "x", "node-b");
    before.settle().await;
    before.lists("node-c", &["x"]);
    let after = process(&World::new(&before.world.server), &before.clock);
    assert_eq!(after.reconcile("i1").await.unwrap(), Action::RequeueAfter(LIFE), "the VM may have been there before");
    after.lists("node-c", &[]);
    after.lists("node-b", &["x"]);
    after.settle().await;
    assert_eq!(after.left(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_resize_in_place_ends_with_the_size() {
    let flights = begin();
    flights.lists("node-a", &["x"]);
    flights.resize("i5", "node-a");
    flights.settle().await;
    assert_eq!(flights.reason("i5"), Some(unknown("VMSizeUnknown")), "the size is unknown");
    let say = |size: Result<Resources, String>| flights.sizes.0.lock().insert("x".to_owned(), size);
    say(Err("Nova does not answer".to_owned()));
    let error = flights.reconcile("i5").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    say(Ok(Resources::new(Bytes::from_mib(16 << 10), Cores::new(4))));
    flights.reconcile("i5").await.unwrap();
    assert_eq!(flights.reason("i5"), Some(unknown("VMSizeMismatch")));
    say(Ok(Resources::new(Bytes::new(34_359_738_368), Cores::new(8))));
    flights.reconcile("i5").await.unwrap();
    assert_eq!((flights.left(), flights.deleted("landed")), (vec![], "1".to_owned()), "32Gi = 34359738368");
}

#[tokio::test(start_paused = true)]
async fn other_types_and_domains_are_neither_enqueued_nor_written() {
    let flights = begin();
    let mut slot = testing::slot("uuid-1", 0);
    slot.spec.target_host = Some("node-a".to_owned());
    flights.world.server.create(&slot).unwrap();
    let mut failover = testing::slot("uuid-1", 1);
    failover.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_FAILOVER.to_owned())].into());
    failover.spec.type_ = ReservationType::FailoverReservation;
    failover.spec.committed_resource_reservation = None;
    failover.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    failover.spec.target_host = Some("node-a".to_owned());
    flights.world.server.create(&failover).unwrap();
    let mut cinder = flight("cinder", "x", "node-a", "create");
    cinder.spec.scheduling_domain = Some("cinder".to_owned());
    flights.world.server.create(&cinder).unwrap();
    flights.lists("node-a", &["x"]);
    flights.world.deliver().unwrap();
    assert_eq!(next(&flights.queue), None, "nothing is enqueued");
    sleep(2 * LIFE).await;
    for name in flights.left() {
        assert_eq!(flights.reconcile(&name).await.unwrap(), Action::AwaitChange, "{name}");
    }
    assert_eq!(flights.world.server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn it_is_deleted_at_its_end_or_after_half_an_hour_to_the_second() {
    let flights = begin();
    flights.make("i1", "x", "node-a");
    let mut ends = flight("i2", "y", "node-a", "create");
    ends.spec.end_time = Some(berth_crds::Time("2026-03-01T12:00:40Z".parse().unwrap()));
    flights.world.server.create(&ends).unwrap();
    assert_eq!(flights.reconcile("i2").await.unwrap(), Action::RequeueAfter(Duration::from_secs(40)));
    sleep(Duration::from_secs(39)).await;
    assert_eq!(flights.reconcile("i2").await.unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(flights.reconcile("i2").await.unwrap(), Action::AwaitChange);
    assert_eq!((flights.left(), flights.deleted("end_time")), (vec!["i1".to_owned()], "1".to_owned()));
    sleep(LIFE.saturating_sub(Duration::from_secs(41))).await;
    assert_eq!(flights.reconcile("i1").await.unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
    sleep(Duration::from_secs(1)).await;
    flights.reconcile("i1").await.unwrap();
    assert_eq!((flights.left(), flights.deleted("age")), (vec![], "1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_already_does_not_matter_and_what_fails_is_tried_again() {
    let flights = begin();
    for (name, host) in [("i1", "node-a"), ("i2", "node-b"), ("i3", "node-c")] {
        flights.make(name, "x", host);
    }
    flights.settle().await;
    let path = |name: &str| path_of::<Reservation>(name);
    flights.world.server.before(Verb::Delete, &path("i2"), 1, |server| {
        server.delete::<Reservation>("i2").unwrap();
    });
    flights.world.server.fail(Verb::Delete, &path("i3"), 1, Fault::Forbidden);
    flights.lists("node-a", &["x"]);
    assert_eq!(flights.reconcile("i2").await.unwrap_err().class(), ErrorClass::Transient);
    assert_eq!(flights.left(), ["i1", "i3"], "the proof of the landing is still there");
    flights.reconcile("i3").await.unwrap();
    assert_eq!(flights.left(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn where_hosts_or_reservations_cannot_be_read_nothing_is_concluded() {
    let flights = begin();
    let (stores, home) = (&flights.world.stores, ClusterName::home());
    flights.make("i1", "x", "node-a");
    failing(&stores.hypervisors, &home, Some("cut"));
    flights.reconcile("i1").await.unwrap();
    assert_eq!(flights.reason("i1"), None, "the VM may be on any host");
    flights.lists("node-c", &["x"]);
    flights.reconcile("i1").await.unwrap();
    failing(&stores.hypervisors, &home, None);
    flights.reconcile("i1").await.unwrap();
    assert_eq!(flights.left(), ["i1"], "it is unknown whether the VM was there before");
    failing(&stores.reservations, &home, Some("cut"));
    flights.lists("node-a", &["x"]);
    assert_eq!(flights.reconcile("i1").await.unwrap_err().class(), ErrorClass::Transient);
    assert_eq!(flights.left(), ["i1"], "a deletion needs a complete read");
    failing(&stores.reservations, &home, None);
    flights.reconcile("i1").await.unwrap();
    assert_eq!(flights.left(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_successor_of_the_same_name_is_another_one() {
    let flights = begin();
    flights.make("i1", "x", "node-a");
    flights.settle().await;
    let path = path_of::<Reservation>("i1");
    flights.world.server.before(Verb::Delete, &path, 1, |server| {
        server.delete::<Reservation>("i1").unwrap();
        server.create(&flight("i1", "y", "node-b", "create")).unwrap();
    });
    flights.lists("node-a", &["x"]);
    assert_eq!(flights.reconcile("i1").await.unwrap_err().class(), ErrorClass::Conflict, "the uid differs");
    flights.settle().await;
    assert_eq!(flights.left(), ["i1"]);
}

#[tokio::test(start_paused = true)]
async fn old_data_without_its_block_reports_it_and_ends_all_the_same() {
    let flights = begin();
    let mut bare = flight("i1", "x", "node-a", "create");
    bare.spec.in_flight_reservation = None;
    bare.metadata.uid = Some("u".to_owned());
    bare.metadata.resource_version = Some("1".to_owned());
    bare.metadata.creation_timestamp = Some(berth_crds::Time(flights.clock.now()));
    // Admission rejects such an object today, so only the store has it.
    berth_cluster::testing::applied(&flights.world.stores.reservations, &ClusterName::home(), bare);
    let key = ObjectKey::new(ClusterName::home(), "i1");
    assert_eq!(flights.controller.reconcile(key.clone()).await.unwrap(), Action::RequeueAfter(LIFE));
    let calls = flights.world.server.calls();
    let reported = calls.last().unwrap();
    assert!(reported.contains("status /") && reported.contains(r#""reason":"MissingSpec""#), "{reported}");
}
