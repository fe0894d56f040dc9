//! Publishing by the leader and serving by other replicas, on a double of the API server and paused time.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::Fence;
use berth_crds::CommittedResource;
use berth_telemetry::clock::TokioClock;
use berth_testkit::Server;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;

const MAPS: &str = "/api/v1/configmaps";
const KEY: &str = "default/berth-liquid-info";
/// Longer than a debounce, a retry and a watch take.
const SOON: Duration = Duration::from_secs(10);

struct World {
    server: Server,
    clock: TokioClock,
}

/// One process that watches the map, and the stores of its sources.
struct Replica {
    map: InfoMap,
    published: PublishedInfo,
    knowledges: Store<Knowledge>,
    commitments: Store<CommittedResource>,
    clock: TokioClock,
    stop: CancellationToken,
}

impl World {
    fn new() -> Self {
        let clock = TokioClock::new(time("2026-03-05T00:00:00Z"));
        Self { server: Server::new(Arc::new(clock)), clock }
    }

    fn replica(&self) -> Replica {
        let map = InfoMap::new(self.server.cluster(), "default", NAME).fenced(Fence::open());
        let replica = Replica {
            map,
            published: PublishedInfo::default(),
            knowledges: knowledges([knowledge(&features(), changed())]),
            commitments: testing::filled(&[], &ClusterName::home(), []),
            clock: self.clock,
            stop: CancellationToken::new(),
        };
        tokio::spawn(replica.map.feed(replica.stop.clone()));
        tokio::spawn(follow(replica.map.clone(), replica.published.clone(), replica.stop.clone()));
        replica
    }

    fn leader(&self) -> Replica {
        let leader = self.replica();
        tokio::spawn(leader.publisher(config()).work(leader.stop.clone()));
        leader
    }

    fn data(&self) -> Value {
        self.server.get_raw(MAPS, KEY).unwrap()["data"].clone()
    }
}

impl Replica {
    fn publisher(&self, config: ResourceConfig) -> InfoPublisher {
        InfoPublisher::new(InfoPublisherParts {
            map: self.map.clone(),
            source: InfoSource { config, ..source(&self.knowledges) },
            published: self.published.clone(),
            commitments: self.commitments.clone(),
            clock: Arc::new(self.clock),
        })
    }

    fn version(&self) -> Option<i64> {
        self.published.get().map(|published| published.info.version)
    }

    /// The leader sees other flavor groups.
    fn sees(&self, features: &[Value], changed: Timestamp) {
        testing::applied(&self.knowledges, &ClusterName::home(), knowledge(features, changed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_follower_serves_what_the_leader_publishes() {
    let world = World::new();
    let follower = world.replica();
    sleep(SOON).await;
    assert_eq!(follower.version(), None);
    let leader = world.leader();
    sleep(SOON).await;
    assert_eq!((leader.version(), follower.version()), (Some(1_772_439_300), Some(1_772_439_300)));
    assert_eq!(follower.published.get().unwrap().json, world.data()["info"].as_str().unwrap());
    assert_eq!(world.data()["version"], "1772439300");
    leader.sees(&features()[..1], time("2026-03-04T00:00:00Z"));
    sleep(SOON).await;
    assert_eq!(follower.version(), Some(time("2026-03-04T00:00:00Z").as_second()));
    assert_eq!(leader.published.get(), follower.published.get());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_changes() {
    let world = World::new();
    let _leader = world.leader();
    sleep(SOON).await;
    assert_eq!(world.server.take_log().len(), 1);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(world.server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_keeps_the_version_and_remembers_the_configuration() {
    let world = World::new();
    let old = world.leader();
    sleep(SOON).await;
    old.stop.cancel();
    let new = world.replica();
    tokio::spawn(new.publisher(config_with_unit(960)).work(new.stop.clone()));
    sleep(SOON).await;
    let version = new.version().unwrap();
    let began = time("2026-03-05T00:00:00Z").as_second();
    assert!((began..began + 30).contains(&version), "the time of the new configuration, but {version}");
    new.stop.cancel();
    let third = world.replica();
    tokio::spawn(third.publisher(config_with_unit(960)).work(third.stop.clone()));
    sleep(SOON).await;
    assert_eq!(third.version(), Some(version));
}

#[tokio::test(start_paused = true)]
async fn a_map_that_was_edited_or_deleted_is_replaced_without_lowering_the_version() {
    let world = World::new();
    let leader = world.leader();
    sleep(SOON).await;
    let first = leader.published.get().unwrap();
    for edit in [json!({ "info": "junk" }), json!({ "version": "5" }), json!({ "info": null, "version": null })] {
        world.server.edit_raw(MAPS, KEY, &json!({ "data": edit })).unwrap();
        sleep(SOON).await;
        assert_eq!((world.data()["info"].as_str(), leader.published.get()), (Some(&*first.json), Some(first.clone())));
    }
    world.server.delete_raw(MAPS, KEY).unwrap();
    sleep(SOON).await;
    assert_eq!((world.data()["version"].as_str(), leader.version()), (Some("1772439300"), Some(1_772_439_300)));
}

#[tokio::test(start_paused = true)]
async fn a_new_process_exceeds_the_version_of_a_map_whose_info_is_lost() {
    let world = World::new();
    let leader = world.leader();
    sleep(SOON).await;
    leader.stop.cancel();
    world.server.edit_raw(MAPS, KEY, &json!({ "data": { "info": "junk" } })).unwrap();
    let next = world.leader();
    sleep(SOON).await;
    assert_eq!(next.version(), Some(1_772_439_301));
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_the_last_info_is_served_and_changes_wait() {
    let world = World::new();
    let (leader, follower) = (world.leader(), world.replica());
    sleep(SOON).await;
    world.server.go_away();
    let changed = time("2026-03-04T00:00:00Z");
    leader.sees(&features()[..1], changed);
    sleep(6 * SOON).await;
    assert_eq!((leader.version(), follower.version()), (Some(1_772_439_300), Some(1_772_439_300)));
    world.server.come_back();
    sleep(6 * SOON).await;
    assert_eq!((leader.version(), follower.version()), (Some(changed.as_second()), Some(changed.as_second())));
}
