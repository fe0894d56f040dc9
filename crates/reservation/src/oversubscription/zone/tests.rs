use std::cell::Cell;

use berth_core::host::Amounts;
use berth_core::{Bytes, ClusterName, Cores, Resources};

use super::super::facts::Occupant;
use super::*;

const SETTINGS: Settings =
    Settings { grace: Duration::from_secs(180), interval: Duration::from_secs(60), evict: true, evict_occupied: false };

fn gib(gib: i64, cpu: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

/// A host with `excess` slots too many, of these slots.
fn host(name: &str, excess: i64, slots: &[&str]) -> (HostName, OversubscriptionFacts) {
    let occupant = |slot: &&str| {
        let (key, size) = (SlotKey::new(ClusterName::home(), *slot), gib(10, 1));
        Occupant { key, size, block: size, empty: true, leaving: false, is_paused: false }
    };
    let free = Amounts::from(gib(-10 * excess, -excess));
    (name.into(), OversubscriptionFacts { ready: true, free, slots: slots.iter().map(occupant).collect() })
}

fn others(zone: &ZoneEvictions, host: &str) -> Vec<String> {
    zone.of_others(&host.into()).into_iter().map(|key| key.name.to_string()).collect()
}

#[test]
fn the_evictions_of_a_zone_are_those_of_all_of_its_hosts_before_any_grace_period_is_over() {
    let hosts = [host("a", 1, &["a1", "a2"]), host("b", 2, &["b1", "b2", "b3"]), host("c", 0, &["c1"])];
    let zone = plan_zone(hosts, &SETTINGS);
    assert_eq!(others(&zone, "other"), ["a1", "b1", "b2"]);
    assert_eq!(others(&zone, "a"), ["b1", "b2"], "a host knows its own better");
    let counting = Settings { evict: false, ..SETTINGS };
    assert_eq!(plan_zone([host("a", 1, &["a1"])], &counting), ZoneEvictions::default());
}

#[test]
fn hosts_that_nothing_will_leave_do_not_count() {
    let paused = |mut host: (HostName, OversubscriptionFacts)| {
        host.1.slots.iter_mut().for_each(|slot| slot.is_paused = true);
        host
    };
    let not_ready =
        |host: (HostName, OversubscriptionFacts)| (host.0, OversubscriptionFacts { ready: false, ..host.1 });
    let leaving = |mut host: (HostName, OversubscriptionFacts)| {
        host.1.slots[0].leaving = true;
        host
    };
    let hosts = [
        paused(host("a", 1, &["a1"])),
        not_ready(host("b", 1, &["b1"])),
        leaving(host("c", 1, &["c1", "c2"])),
        host("d", 1, &[]),
    ];
    assert_eq!(plan_zone(hosts, &SETTINGS), ZoneEvictions::default());
}

#[tokio::test(start_paused = true)]
async fn a_zone_is_planned_once_per_interval_and_when_other_hosts_are_over_booked() {
    let (zones, planned) = (PlannedZones::default(), Cell::new(0));
    let ask = |zone: &str, overbooked: &[&str]| {
        let names: Vec<HostName> = overbooked.iter().map(|name| (*name).into()).collect();
        let hosts = |names: &[HostName]| names.iter().map(|name| host(name.as_str(), 1, &[name.as_str()])).collect();
        let evictions = zones.get_or_plan(&zone.into(), names, SETTINGS.interval, |names| {
            planned.set(planned.get() + 1);
            let hosts: Vec<_> = hosts(names);
            plan_zone(hosts, &SETTINGS)
        });
        others(&evictions, "")
    };
    for _ in 0..1000 {
        assert_eq!(ask("z1", &["a", "b"]), ["a", "b"]);
    }
    assert_eq!(planned.get(), 1);
    assert_eq!((ask("z1", &["a", "b", "c"]), planned.get()), (vec!["a".to_owned(), "b".into(), "c".into()], 2));
    assert_eq!((ask("z2", &["x"]), planned.get()), (vec!["x".to_owned()], 3));
    tokio::time::sleep(SETTINGS.interval).await;
    ask("z1", &["a", "b", "c"]);
    ask("z1", &["a", "b", "c"]);
    assert_eq!(planned.get(), 4);
}
