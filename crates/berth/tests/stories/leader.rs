//! Several replicas with `--leader-elect`, and failures of their leader. Runs the real binary on a real API server. The
//! API server's audit log shows which replica has written what.

use std::time::{Duration, Instant};

use futures::future::join;

use crate::support::crowd::Crowd;
use crate::support::invariants;
use crate::support::objects::non_rejectable;
use crate::support::replicas::{Replicas, TWO};
use crate::support::waiting::so;
use crate::support::world::World;

const CROWD: Crowd = Crowd { commitments: 40 };

/// No replica may lead before the lease of the last leader has expired, which began with its last renewal.
const LEASE_LEFT_AT_LEAST: Duration = Duration::from_secs(10);

/// The rest of the lease, the pause between two reads of it, and the reading of the stores.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(20);

/// The end of the running reconciliations, and the pause between two reads of the lease.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(4);

/// Two replicas of which the first leads, and hosts for the crowd.
async fn two_before_the_crowd() -> Replicas {
    let world = World::without_operator().await;
    CROWD.hosts(&world).await;
    Replicas::two(world).await
}

async fn in_the_middle(world: &World) {
    join(CROWD.arrives(world), CROWD.half_way(world)).await;
}

#[tokio::test]
async fn one_of_two_replicas_leads_and_writes_and_both_are_ready() {
    let replicas = two_before_the_crowd().await;
    let [leader, standby] = TWO;
    replicas.world.create(&non_rejectable("first-1", 4)).await;
    replicas.world.accepted("first-1").await;
    assert_eq!(replicas.leaders().await, [leader]);
    for name in TWO {
        let ready = replicas.get(name).probe("/readyz").await.map(|(status, _)| status);
        assert_eq!(ready, Some(200), "{name}");
    }
    let log = replicas.get(standby).log();
    let waits = log.lines().find(|line| line.contains("waiting for the lease of another process"));
    assert!(waits.is_some_and(|line| line.contains("holder=")), "{log}");
    let log = replicas.get(leader).log();
    for line in ["leadership acquired", "stores read again", "controllers started"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    assert_eq!(replicas.writers(), [leader]);
    let mut by_standby = replicas.changes_by(standby);
    by_standby.retain(|write| write.resource != "selfsubjectaccessreviews");
    assert!(by_standby.is_empty(), "a standby has written: {by_standby:#?}");
    replicas.end(leader).await;
}

#[tokio::test]
async fn a_leader_that_is_reported_to_end_in_the_middle_gives_the_lease_back() {
    let mut replicas = two_before_the_crowd().await;
    let [old, new] = TWO;
    in_the_middle(&replicas.world).await;
    let asked = Instant::now();
    replicas.stop(old).await;
    let ended = asked.elapsed();
    replicas.leader_is(new).await;
    let took = asked.elapsed();
    assert!(took < GIVEN_BACK_WITHIN, "it took {took:?} until the next replica led");
    CROWD.accepted(&replicas.world).await;
    assert_eq!(replicas.writers(), [old, new]);
    eprintln!("it ended after {ended:?}, and the next one led after {took:?}");
    replicas.end(new).await;
}

#[tokio::test]
async fn a_leader_that_was_paused_for_longer_than_its_lease_writes_nothing_more() {
    let mut replicas = two_before_the_crowd().await;
    let [old, new] = TWO;
    in_the_middle(&replicas.world).await;
    replicas.pause(old);
    let took = replicas.leader_is(new).await;
    assert!(took > LEASE_LEFT_AT_LEAST && took < TAKEN_OVER_WITHIN, "{took:?}");
    // At this moment the new leader has most of the work left.
    let written = replicas.changes_by(old);
    replicas.resume(old);
    replicas.loses(old, "the lease could not be renewed for 10 s").await;
    CROWD.accepted(&replicas.world).await;
    assert_eq!(invariants::broken_always(&replicas.world.now().await), [""; 0]);
    assert_eq!(replicas.writers(), [old, new]);
    assert_eq!(replicas.changes_by(old), written, "the writes of any kind, including events and the lease");
    eprintln!("a paused leader was replaced after {took:?}");

    replicas.start(old).await;
    assert_eq!(replicas.leaders().await, [new], "a replica that comes back waits");
    replicas.end(new).await;
}

#[tokio::test]
async fn a_leader_that_was_killed_in_the_middle_is_replaced_and_nothing_is_done_twice() {
    let mut replicas = two_before_the_crowd().await;
    let [old, new] = TWO;
    in_the_middle(&replicas.world).await;
    replicas.kill(old);
    let took = replicas.leader_is(new).await;
    assert!(took > LEASE_LEFT_AT_LEAST && took < TAKEN_OVER_WITHIN, "{took:?}");
    CROWD.accepted(&replicas.world).await;
    assert!(replicas.get(new).log().contains("stores read again"), "{}", replicas.get(new).log());
    assert_eq!(replicas.writers(), [old, new]);
    eprintln!("a killed leader was replaced after {took:?}");
    replicas.end(new).await;
}

#[tokio::test]
async fn an_outage_that_is_longer_than_the_lease_costs_only_the_leader_its_lease() {
    let mut replicas = two_before_the_crowd().await;
    let [old, new] = TWO;
    in_the_middle(&replicas.world).await;
    replicas.world.control_plane().stop_api_server().await.unwrap();
    replicas.loses(old, "the lease could not be renewed for 10 s").await;
    assert_eq!(replicas.get(new).probe("/healthz").await.map(|(status, _)| status), Some(200));
    replicas.world.control_plane().restart_api_server().await.unwrap();
    CROWD.accepted(&replicas.world).await;
    assert_eq!(replicas.leaders().await, [new]);
    assert_eq!(replicas.writers(), [old, new]);
    let (log, few) = (replicas.get(new).log(), 50 + CROWD.commitments);
    assert!(log.lines().count() < few, "{log}");
    replicas.end(new).await;
}

#[tokio::test]
async fn after_a_short_outage_of_the_api_server_one_leads_and_finishes_the_work() {
    let mut replicas = two_before_the_crowd().await;
    let [first, second] = TWO;
    in_the_middle(&replicas.world).await;
    let started_at = Instant::now();
    replicas.world.control_plane().stop_api_server().await.unwrap();
    replicas.world.control_plane().restart_api_server().await.unwrap();
    eprintln!("the API server was away for {:?}", started_at.elapsed());
    CROWD.accepted(&replicas.world).await;
    // On a slow machine this may take longer than a lease lasts: then the first one has lost the lease, and logs it.
    let leader = replicas
        .until("one leads", async |replicas| {
            let leaders = replicas.leaders().await;
            so(leaders.len() == 1, || format!("{leaders:?} lead")).map(|()| leaders[0])
        })
        .await;
    if leader == second {
        replicas.loses(first, "the lease could not be renewed for 10 s").await;
    }
    assert_eq!(replicas.writers(), &[first, second][..=usize::from(leader == second)]);
    replicas.end(leader).await;
}
