use std::collections::BTreeMap;

use berth_cluster::testing::{applied, deleted, failing, sync};
use berth_crds::{Reservation, testing};

use super::*;

fn home() -> ClusterName {
    ClusterName::home()
}

fn slot(version: u32) -> Reservation {
    let mut slot = testing::slot("aaaaaa", 0);
    slot.metadata.uid = Some("u-0".to_owned());
    slot.metadata.resource_version = Some(version.to_string());
    slot
}

/// A world with a slot of a commitment that does not exist, and the metric that counts it.
struct World {
    stores: Stores,
    registry: Metrics,
    stop: CancellationToken,
}

impl World {
    fn begin() -> Self {
        let stores = Stores::default();
        sync(&stores, &home());
        applied(&stores.reservations, &home(), slot(1));
        let registry = Metrics::new(&BTreeMap::new()).unwrap();
        let world = Self { stores, registry, stop: CancellationToken::new() };
        let metrics = InvariantMetrics::register(&world.registry).unwrap();
        let watched = Watched::new(world.stores.clone(), &Configuration::default());
        tokio::spawn(watch_invariants(watched, metrics, world.stop.clone()));
        world
    }

    fn counted(&self, invariant: Invariant) -> u64 {
        let line = format!("berth_invariant_violations_total{{invariant=\"{invariant}\"}} ");
        let text = self.registry.render();
        text.lines().find_map(|text| text.strip_prefix(&line)).unwrap().parse().unwrap()
    }

    async fn after(&self, time: Duration) -> u64 {
        tokio::time::sleep(time).await;
        self.counted(Invariant::SlotOrphaned)
    }
}

const SOON: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_orphan_is_counted_once_each_time_it_begins() {
    let world = World::begin();
    assert!(Invariant::ALL.iter().all(|invariant| world.counted(*invariant) == 0), "so that alerts see the first one");
    assert_eq!(world.after(SOON).await, 0, "seen once");
    assert_eq!(world.after(INTERVAL).await, 1);
    assert_eq!(world.after(INTERVAL * 100).await, 1);
    deleted(&world.stores.reservations, &home(), slot(2));
    assert_eq!(world.after(INTERVAL * 2).await, 1);
    let mut another = slot(3);
    another.metadata.uid = Some("u-1".to_owned());
    applied(&world.stores.reservations, &home(), another);
    assert_eq!(world.after(INTERVAL * 2).await, 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_checked_on_partial_reads() {
    let world = World::begin();
    failing(&world.stores.hypervisors, &home(), Some("no connection"));
    assert_eq!(world.after(INTERVAL * 10).await, 0);
    failing(&world.stores.hypervisors, &home(), None);
    assert_eq!(world.after(INTERVAL * 3).await, 1);
}

/// The default grace, and the additional time of the watchdog.
const OVERDUE: Duration = Duration::from_secs(60 + 300);

#[tokio::test(start_paused = true)]
async fn an_orphan_that_stays_is_counted_when_its_time_is_over() {
    let world = World::begin();
    world.after(OVERDUE).await;
    assert_eq!(world.counted(Invariant::OrphanStays), 0);
    world.after(INTERVAL * 3).await;
    assert_eq!(world.counted(Invariant::OrphanStays), 1);
    assert_eq!(world.counted(Invariant::SlotOnGoneHost), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slot_on_a_host_that_has_gone_is_counted_when_its_time_is_over() {
    let world = World::begin();
    let mut placed = slot(2);
    placed.spec.target_host = Some("gone".to_owned());
    applied(&world.stores.reservations, &home(), placed);
    world.after(OVERDUE / 2).await;
    failing(&world.stores.hypervisors, &home(), Some("no connection"));
    world.after(INTERVAL * 2).await;
    failing(&world.stores.hypervisors, &home(), None);
    world.after(OVERDUE).await;
    assert_eq!(world.counted(Invariant::SlotOnGoneHost), 0, "the time starts when the hosts can be read again");
    world.after(INTERVAL * 3).await;
    assert_eq!(world.counted(Invariant::SlotOnGoneHost), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slot_on_a_host_that_was_given_another_zone_is_counted_when_its_time_is_over() {
    let world = World::begin();
    let mut placed = slot(2);
    placed.spec.target_host = Some("node1".to_owned());
    applied(&world.stores.reservations, &home(), placed);
    let mut host = testing::hypervisor("node1", "1Ti", "64");
    host.metadata.uid = Some("u-h".to_owned());
    applied(&world.stores.hypervisors, &home(), testing::at_version(3, host.clone()));
    world.after(INTERVAL * 3).await;
    host.metadata.labels.get_or_insert_default().insert(berth_crds::labels::ZONE.to_owned(), "elsewhere".to_owned());
    applied(&world.stores.hypervisors, &home(), testing::at_version(4, host));
    world.after(OVERDUE.saturating_sub(INTERVAL)).await;
    assert_eq!(world.counted(Invariant::SlotOnRelabelledHost), 0);
    world.after(INTERVAL * 4).await;
    assert_eq!(world.counted(Invariant::SlotOnRelabelledHost), 1);
    assert_eq!(world.counted(Invariant::SlotInWrongZone), 0, "others changed the host");
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_process() {
    let world = World::begin();
    world.after(SOON).await;
    world.stop.cancel();
    assert_eq!(world.after(INTERVAL * 10).await, 0);
}

#[test]
fn checks_that_take_long_are_seldom() {
    assert_eq!(pace(INTERVAL, Duration::from_millis(50)), INTERVAL);
    assert_eq!(pace(INTERVAL, Duration::from_millis(600)), Duration::from_secs(120));
}
