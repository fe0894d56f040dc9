//! Slots without a commitment: after a restore from a backup that lacks it, or after a user removed the finalizer.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::{failing, opened};
use berth_cluster::{ClusterMetrics, Events, ObjectKey, Pauses, Reconciler as _, Requests, Routes};
use berth_committed_resource::orphans::{self, ListedCommitments, OrphanController, OrphanDelays};
use berth_core::ClusterName;
use berth_crds::conditions::find;
use berth_crds::conditions::safety::DISRUPTION_LIMITED;
use berth_crds::{CommittedResource, Knowledge, Reservation, labels, names, testing};
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{self, ApiServers, Remote};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, World, next, seeds};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::clock;

const GONE: &str = "uuid-gone";
const GRACE: Duration = Duration::from_secs(900);

struct Scene {
    server: Server,
    world: World,
    orphans: Arc<OrphanController>,
    queue: Requests<ObjectKey>,
    registry: Metrics,
}

/// When the first of three complete lists of Limes without any commitment began.
#[derive(Clone, Default)]
struct EmptyLists(Arc<Mutex<Option<Timestamp>>>);

impl ListedCommitments for EmptyLists {
    fn unlisted_since(&self, uuid: &str) -> Option<Timestamp> {
        self.0.lock().filter(|_| uuid == GONE)
    }
}

fn controller(
    world: &World,
    clock: &Arc<dyn Clock>,
    (routes, pause): (Routes, config::Pause),
    limes: Option<Arc<dyn ListedCommitments>>,
) -> OrphanController {
    let stores = &world.stores;
    let events = ClusterMetrics::register(&Metrics::new(&[].into()).unwrap()).unwrap().events;
    OrphanController::new(orphans::Context {
        reservations: world.writer(&stores.reservations),
        commitments: stores.commitments.clone(),
        knowledges: stores.knowledges.clone(),
        routes,
        pauses: Pauses::new(pause, stores.commitments.clone(), stores.reservations.clone()),
        disruption_limit: world.disruption_limit(clock).unwrap(),
        clock: clock.clone(),
        events: Events::new(&world.clusters, None, events, CancellationToken::new()).0,
        delays: OrphanDelays { grace: GRACE, retry: Duration::from_secs(60) },
        limes,
    })
}

/// This many slots of ours on a host, without their commitment.
fn restored_with(slots: u64, routes: Routes, pause: config::Pause) -> Scene {
    restored_beside(slots, (routes, pause), None)
}

/// The same, while something reads Limes.
fn restored_beside(slots: u64, settings: (Routes, config::Pause), limes: Option<Arc<dyn ListedCommitments>>) -> Scene {
    let clock = clock();
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    for number in 0..slots {
        server.create(&slot(GONE, number)).unwrap();
    }
    let world = World::new(&server);
    let registry = Metrics::new(&[].into()).unwrap();
    orphans::register(&registry, world.stores.commitments.clone(), world.stores.reservations.clone()).unwrap();
    let (orphans, queue) = (Arc::new(controller(&world, &clock, settings, limes)), opened());
    world.declare(&orphans, &queue).unwrap();
    world.list().unwrap();
    Scene { server, world, orphans, queue, registry }
}

fn restored(slots: u64) -> Scene {
    restored_with(slots, Routes::home_only(), config::Pause::default())
}

fn slot(uuid: &str, number: u64) -> Reservation {
    let mut slot = testing::slot(uuid, number);
    slot.spec.target_host = Some("node1".to_owned());
    slot.metadata.annotations = Some([(labels::COMMITMENT_UID.to_owned(), "uid-of-old".to_owned())].into());
    slot
}

impl Scene {
    /// Reconciles the enqueued keys, or everything, after some time.
    async fn after(&self, time: Duration) {
        tokio::time::sleep(time).await;
        self.queue.add(self.world.stores.reservations.all().into_iter().map(|entry| entry.key));
        self.settle().await;
    }

    async fn settle(&self) {
        self.world.deliver().unwrap();
        while let Some(key) = next(&self.queue) {
            self.orphans.reconcile(key).await.unwrap();
            self.world.deliver().unwrap();
        }
    }

    fn slots(&self) -> Vec<Reservation> {
        self.server.all().unwrap()
    }

    fn shows(&self, line: &str) -> bool {
        self.registry.render().lines().any(|shown| shown == line)
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_of_another_creator_is_deleted_once_three_lists_of_limes_lack_its_commitment() {
    let (lists, settings) = (EmptyLists::default(), (Routes::home_only(), config::Pause::default()));
    let scene = restored_beside(1, settings, Some(Arc::new(lists.clone())));
    scene
        .server
        .edit::<Reservation>(&seeds::slot_name(GONE, 0), &json!({ "metadata": { "annotations": null } }))
        .unwrap();
    let created = scene.slots()[0].metadata.creation_timestamp.clone().unwrap().0;
    for since in [None, Some(created - Duration::from_secs(1)), Some(created)] {
        *lists.0.lock() = since;
        scene.after(GRACE).await;
        scene.after(GRACE).await;
        assert_eq!(scene.slots().len(), 1, "{since:?}: the lists must be younger than the slot");
    }
    *lists.0.lock() = Some(created + Duration::from_secs(1));
    scene.after(GRACE).await;
    assert_eq!(scene.slots().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn slots_of_a_commitment_that_a_backup_lacks_are_deleted_after_the_grace() {
    let scene = restored(3);
    scene.after(Duration::ZERO).await;
    scene.after(GRACE.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(scene.slots().len(), 3);
    scene.after(Duration::from_secs(1)).await;
    assert_eq!(scene.slots().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_comes_back_keeps_its_slots_and_the_grace_begins_anew() {
    let scene = restored(1);
    scene.after(Duration::ZERO).await;
    scene.after(GRACE / 2).await;
    scene.server.create(&seeds::waiting_commitment(GONE, 1)).unwrap();
    scene.settle().await;
    scene.after(GRACE * 2).await;
    assert_eq!(scene.slots().len(), 1);
    scene.server.delete::<CommittedResource>(&names::commitment(GONE)).unwrap();
    scene.settle().await;
    scene.after(GRACE.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(scene.slots().len(), 1, "the commitment was missing only for a moment");
    scene.after(Duration::from_secs(1)).await;
    assert_eq!(scene.slots().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn slots_that_others_made_stay_and_are_counted() {
    let scene = restored(1);
    let mut strange = slot("uuid-strange", 0);
    strange.metadata.annotations = None;
    scene.server.create(&strange).unwrap();
    scene.settle().await;
    scene.after(GRACE).await;
    scene.after(GRACE).await;
    let names: Vec<_> = scene.slots().into_iter().filter_map(|slot| slot.metadata.name).collect();
    assert_eq!(names, [seeds::slot_name("uuid-strange", 0)]);
    assert!(scene.shows("berth_orphaned_slots 1"), "{}", scene.registry.render());
}

#[tokio::test(start_paused = true)]
async fn while_commitments_cannot_be_read_nothing_is_deleted_and_no_time_passes() {
    let scene = restored(1);
    let (commitments, home) = (&scene.world.stores.commitments, ClusterName::home());
    scene.after(Duration::ZERO).await;
    scene.after(GRACE / 2).await;
    failing(commitments, &home, Some("the server is away"));
    scene.after(GRACE * 3).await;
    assert_eq!(scene.slots().len(), 1);
    failing(commitments, &home, None);
    scene.after((GRACE / 2).saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(scene.slots().len(), 1);
    scene.after(Duration::from_secs(1)).await;
    assert_eq!(scene.slots().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_a_cluster_that_may_have_the_commitment_was_never_read_nothing_is_deleted() {
    let remote = Remote {
        host: "https://remote".to_owned(),
        ca_cert: None,
        insecure_skip_tls_verify: false,
        kinds: [config::Kind::parse("cortex.cloud/v1alpha1/CommittedResource").unwrap()].into(),
        labels: [(config::ZONE_LABEL.to_owned(), seeds::OTHER_ZONE.to_owned())].into(),
    };
    let routes = Routes::new(&ApiServers { home: None, remotes: vec![remote] });
    let scene = restored_with(1, routes, config::Pause::default());
    for _ in 0..5 {
        scene.after(GRACE).await;
    }
    assert_eq!(scene.slots().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn orphans_in_a_paused_zone_stay() {
    let pause = config::Pause { zones: [testing::ZONE.to_owned()].into(), ..config::Pause::default() };
    let scene = restored_with(1, Routes::home_only(), pause);
    for _ in 0..3 {
        scene.after(GRACE).await;
    }
    assert_eq!(scene.slots().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_backup_without_any_commitment_does_not_clear_the_region() {
    let scene = restored(25);
    for _ in 0..3 {
        scene.after(GRACE).await;
    }
    let slots = scene.slots();
    assert_eq!(slots.len(), 25, "not even the first twenty are deleted");
    for slot in &slots {
        let condition =
            find(&slot.status.as_ref().unwrap().conditions, DISRUPTION_LIMITED).expect("the slot is held back");
        assert_eq!(condition.reason, "Orphaned");
    }
    scene.server.take_log();
    scene.after(GRACE).await;
    assert_eq!(scene.server.take_log(), [""; 0], "reported once");
    scene.server.create(&seeds::waiting_commitment(GONE, 25)).unwrap();
    scene.settle().await;
    let marked = |slot: &Reservation| find(&slot.status.as_ref().unwrap().conditions, DISRUPTION_LIMITED).is_some();
    assert!(!scene.slots().iter().any(marked), "the commitment is back");
}

#[tokio::test(start_paused = true)]
async fn with_a_confirmation_the_orphans_go() {
    let scene = restored(25);
    for _ in 0..2 {
        scene.after(GRACE).await;
    }
    let until = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: "2026-03-01T14:00:00Z" } } });
    scene.server.edit::<Knowledge>(names::FLAVOR_GROUPS, &until).unwrap();
    scene.after(Duration::from_secs(60)).await;
    assert_eq!(scene.slots().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_the_controller_has_never_seen_is_no_trouble() {
    let scene = restored(0);
    let missing = ObjectKey::new(ClusterName::home(), "nobody");
    scene.orphans.reconcile(missing).await.unwrap();
    assert!(scene.shows("berth_orphaned_slots 0"));
}
