//! An operator whose clock is wrong. Runs the real binary on a real API server.

use berth_crds::CommittedResource;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::support::objects::{host, non_rejectable};
use crate::support::seen::Seen;
use crate::support::waiting::so;
use crate::support::world::World;
use crate::support::wrong_clock::wrong_clock;

const HOUR: i64 = 3600;

fn ends_in_an_hour(uuid: &str) -> CommittedResource {
    let mut commitment = non_rejectable(uuid, 2);
    commitment.spec.end_time = Some(Time(Timestamp::now() + SignedDuration::from_hours(1)));
    commitment
}

/// The operator runs with a clock that is two hours ahead, and knows it.
async fn start_two_hours_ahead(world: &mut World) {
    let folder = tempfile::tempdir().unwrap();
    let [preload, ahead] = wrong_clock(folder.path(), 2 * HOUR);
    world.start_with(&[&preload, &ahead]).await;
    let reported =
        "clock: nothing ends and no time counts: the clock of this process is 2h ahead of that of the API server";
    world
        .until_reported("/readyz reports the clock", async |world, _| match world.operator().probe("/readyz").await {
            Some((200, text)) => so(text.contains(reported), || text),
            other => Err(format!("{other:?}")),
        })
        .await;
}

#[tokio::test]
async fn a_clock_that_is_two_hours_ahead_releases_nothing_and_begins_nothing_that_may_be_over() {
    let mut world = World::begin().await;
    world.create(&host("node1", 8)).await;
    world.create(&ends_in_an_hour("clock-1")).await;
    world.accepted("clock-1").await;
    world.stop().await;

    start_two_hours_ahead(&mut world).await;
    world.create(&ends_in_an_hour("clock-2")).await;
    world.create(&non_rejectable("clock-3", 1)).await;
    world.accepted("clock-3").await;
    let text = "whether it has ended is not known: the clock of this process is 2h ahead of that of the API server";
    world.reported("clock-2", "Reserving", text).await;
    let slots = |seen: &Seen, uuid| seen.slots_of(uuid).len();
    let seen = world.now().await;
    assert_eq!((slots(&seen, "clock-1"), slots(&seen, "clock-2")), (2, 0));
    let skew = world.operator().metrics().await;
    let skew = skew.lines().find_map(|line| line.strip_prefix("berth_clock_skew_seconds ")).unwrap().to_owned();
    assert!((7190.0..7210.0).contains(&skew.parse::<f64>().unwrap()), "{skew}");

    world.stop().await;
    world.start().await;
    world.accepted("clock-2").await;
    assert_eq!(slots(&world.now().await, "clock-1"), 2);
    world.end().await;
}
