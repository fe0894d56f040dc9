use std::time::Duration;

use berth_telemetry::clock::TokioClock;
use berth_telemetry::metrics::Metrics;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::indexes::RESERVATION_INDEXES;
use crate::testing::{LogCapture, Reply, applied, filled, metrics, scripted};

const AZ: &str = "az-a";

struct Scene {
    disruption_limit: DisruptionLimit,
    knowledges: Store<Knowledge>,
    registry: Metrics,
    log: LogCapture,
}

fn knowledge(version: u32, confirmed: Option<&str>) -> Knowledge {
    let annotations = confirmed.map(|value| json!({ (labels::CONFIRM_DISRUPTION): value }));
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
        "metadata": {
            "name": "flavor-groups", "uid": "k", "resourceVersion": version.to_string(), "annotations": annotations,
        },
        "spec": { "schedulingDomain": "nova" },
    }))
    .unwrap()
}

fn slot(number: usize) -> Reservation {
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": { "name": format!("s{number}"), "uid": number.to_string(), "resourceVersion": "1" },
        "spec": {
            "type": "CommittedResourceReservation", "availabilityZone": AZ, "resources": {},
            "committedResourceReservation": { "commitmentUUID": "u" },
        },
    }))
    .unwrap()
}

/// A zone of this many slots, at noon.
fn scene(slots: usize) -> Scene {
    let (registry, all) = metrics();
    let home = ClusterName::home();
    let knowledges = filled(&[], &home, [knowledge(1, None)]);
    let clusters = scripted(|_| Reply::Hang).into();
    let disruption_limit = DisruptionLimit::new(DisruptionLimitParts {
        limit: config::DisruptionLimit::default(),
        reservations: filled(RESERVATION_INDEXES, &home, (0..slots).map(slot)),
        knowledges: knowledges.clone(),
        clock: Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap())),
        events: Events::new(&clusters, None, all.events, CancellationToken::new()).0,
        metrics: all.disruption_limit,
    });
    Scene { disruption_limit, knowledges, registry, log: LogCapture::listen() }
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), format!("s{number}"))
}

impl Scene {
    fn asks(&self, number: usize, slots: std::ops::Range<usize>) -> Result<(), Stopped> {
        let plan = Disruption { zone: AZ.to_owned(), cause: "HostMissing", slots: slots.map(key).collect() };
        self.disruption_limit.ask(&Requester::of::<Reservation>(&key(number)), &plan, [])
    }

    fn shows(&self, line: &str) -> bool {
        self.registry.render().lines().any(|shown| shown == line)
    }

    fn confirm(&self, version: u32, value: &str) {
        applied(&self.knowledges, &ClusterName::home(), knowledge(version, Some(value)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_five_percent_of_the_zone_and_at_least_twenty() {
    let small = scene(100);
    assert_eq!(small.asks(0, 0..20), Ok(()));
    let stopped = small.asks(1, 20..21).unwrap_err();
    assert_eq!((stopped.count, stopped.limit, stopped.total), (21, 20, 100));
    let large = scene(1000);
    assert_eq!(large.asks(0, 0..50), Ok(()));
    assert_eq!(large.asks(1, 50..51).unwrap_err().limit, 50);
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_reported_once_per_zone_counted_per_plan_and_over_when_nothing_is_stopped() {
    let scene = scene(100);
    for number in 0..3 {
        for _ in 0..2 {
            assert!(scene.asks(number, 0..21).is_err());
        }
    }
    let log = scene.log.take();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].starts_with("WARN disruption limit reached"), "{log:?}");
    assert!(log[0].contains("at least 21 of 100 slots of zone az-a") && log[0].contains(CONFIRM), "{log:?}");
    assert!(scene.shows("berth_disruption_limit_reached{zone=\"az-a\"} 1"));
    assert!(scene.shows("berth_disruption_limit_stopped_total{zone=\"az-a\"} 3"));
    let requester = |number| Requester::of::<Reservation>(&key(number));
    let stopped = scene.disruption_limit.stopped(&requester(1)).unwrap();
    assert_eq!((stopped.cause, stopped.count), ("HostMissing", 21));
    assert_eq!(
        scene.disruption_limit.stopped(&requester(1).because("Orphaned")),
        None,
        "another plan for the same slot"
    );
    scene.disruption_limit.release(&requester(0));
    assert_eq!(scene.disruption_limit.stopped(&requester(0)), None);
    assert_eq!(scene.asks(1, 0..1), Ok(()), "its plan has become smaller");
    assert_eq!(scene.disruption_limit.stopped(&requester(1)), None);
    assert!(scene.shows("berth_disruption_limit_reached{zone=\"az-a\"} 1"), "one is still held back");
    scene.disruption_limit.release(&Requester::of::<Reservation>(&key(2)));
    assert!(scene.shows("berth_disruption_limit_reached{zone=\"az-a\"} 0"));
    assert_eq!(scene.log.take(), ["INFO disruption limit released zone=az-a"]);
}

#[tokio::test(start_paused = true)]
async fn with_the_confirmation_the_disruption_limit_is_off_until_its_time_is_over() {
    let scene = scene(100);
    assert!(scene.asks(0, 0..90).is_err());
    scene.confirm(2, "2026-03-01T12:30:00Z");
    assert_eq!(scene.asks(0, 0..90), Ok(()));
    assert!(scene.shows("berth_disruption_limit_reached{zone=\"az-a\"} 0"));
    tokio::time::sleep(Duration::from_secs(1801)).await;
    assert!(scene.asks(0, 0..90).is_err());
    assert_eq!(scene.asks(1, 90..91), Ok(()), "confirmed disruptions do not count");
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_that_reaches_too_far_is_reported_once_and_stays_refused() {
    let scene = scene(100);
    scene.confirm(2, "2026-03-03T12:00:00Z");
    for _ in 0..2 {
        assert!(scene.asks(0, 0..90).is_err());
    }
    let log = scene.log.take();
    let refusals = log.iter().filter(|line| line.contains("confirmation ignored")).count();
    assert_eq!(refusals, 1, "{log:?}");
    tokio::time::sleep(Duration::from_secs(36 * 3600)).await;
    assert!(scene.asks(0, 0..90).is_err(), "a refused confirmation stays refused");
    scene.confirm(3, "2026-03-03T01:00:00Z");
    assert_eq!(scene.asks(0, 0..90), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn zones_do_not_disruption_limit_each_other() {
    let scene = scene(100);
    assert_eq!(scene.asks(0, 0..20), Ok(()));
    let elsewhere = Disruption { zone: "az-b".to_owned(), cause: "HostMissing", slots: (30..50).map(key).collect() };
    assert_eq!(scene.disruption_limit.ask(&Requester::of::<Reservation>(&key(30)), &elsewhere, []), Ok(()));
    assert!(scene.asks(1, 20..21).is_err());
}

/// When all slots are stopped at once, each of them asks.
#[tokio::test(start_paused = true)]
async fn the_slots_of_a_zone_are_counted_once_a_second_however_many_ask() {
    let (mut zone, mut counted) = (Zone::default(), 0);
    for _ in 0..3 {
        let ask = |_| {
            zone.total(|| {
                counted += 1;
                100
            })
        };
        assert_eq!((0..100).map(ask).sum::<usize>(), 100 * 100);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(counted, 3);
}

fn at(value: &str) -> Confirmation {
    confirmation(Some(value), "2026-03-01T12:00:00Z".parse().unwrap())
}

#[test]
fn a_confirmation_is_a_time_at_most_a_day_ahead() {
    assert_eq!(confirmation(None, Timestamp::UNIX_EPOCH), Confirmation::None);
    assert_eq!(at("2026-03-01T12:00:01Z"), Confirmation::Given);
    assert_eq!(at(" 2026-03-02T14:00:00+02:00 "), Confirmation::Given, "exactly a day");
    assert_eq!(at("2026-03-01T12:00:00Z"), Confirmation::None, "the confirmation has expired");
    assert_eq!(at("2020-01-01T00:00:00Z"), Confirmation::None);
}

#[test]
fn what_is_no_time_or_too_far_ahead_is_refused_with_a_way_out() {
    let refused = |text: &str| Confirmation::Refused(text.to_owned());
    let example = "give one like 2026-03-01T13:00:00Z";
    assert_eq!(at("yes"), refused(&format!("\"yes\" is not a time; {example}")));
    assert_eq!(at(""), refused(&format!("\"\" is not a time; {example}")));
    let far = "2026-03-02T12:00:01Z";
    assert_eq!(at(far), refused(&format!("{far} is more than 24 hours ahead; {example}")));
}
