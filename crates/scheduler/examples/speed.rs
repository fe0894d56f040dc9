//! Prints how many placements per second one core decides at 2,000 hosts and 20,000 reservations, and what a change
//! of one object costs. Run it with `cargo run --release -p berth-scheduler --example speed`.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    hint::black_box,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use berth_core::{
    Bytes, ClusterName, Cores, HostName, Resources, SlotKey,
    flavor::Flavor,
    host::{Capabilities, ConditionStatus, Host},
    reservation::{Reservation, ReservationKind},
};
use berth_scheduler::{
    BuiltIn, Candidates, Hints, Intent, Options, Rank, Request, Scheduler, Settings, SlotRequest, WholeRequest,
};

const HOSTS: usize = 2_000;
const PER_HOST: usize = 10;
const ZONES: usize = 3;

fn gib(gib: u64, cpu: i64) -> Resources {
    Resources::new(Bytes::from_mib(gib * 1024), Cores::new(cpu))
}

fn host(number: usize) -> Host {
    let used = 400 + u64::try_from(number * 37 % 900).unwrap_or(0);
    let capacity = gib(if number.is_multiple_of(4) { 4096 } else { 2048 }, 512).into();
    Host {
        name: HostName::new(format!("node{number:04}-bb{:03}", number / 16)),
        zone: format!("eu-test-1{}", ["a", "b", "c"][number % ZONES]).into(),
        capacity,
        effective_capacity: capacity,
        allocation: gib(used, i64::try_from(used / 8).unwrap_or(0)).into(),
        instances: (0..20).map(|vm| (format!("vm-{number}-{vm}").into(), true)).collect(),
        traits: (0..60).map(|number| format!("HW_CPU_X86_{number}")).collect(),
        conditions: [("Ready".to_owned(), ConditionStatus::True)].into(),
        capabilities: Capabilities {
            hypervisor_type: "ch".to_owned(),
            cpu_arch: "x86_64".to_owned(),
            ..Capabilities::default()
        },
        ..Host::default()
    }
}

fn slot(number: usize) -> Reservation {
    let host = host(number % HOSTS);
    Reservation {
        key: SlotKey::new(ClusterName::home(), format!("commitment-{}-{}", number / 8, number % 8)),
        kind: ReservationKind::Committed(BTreeMap::from([(
            format!("vm-{}-{}", number % HOSTS, number / HOSTS).into(),
            gib(32, 4),
        )])),
        project: format!("project-{}", number / 8 % 500).into(),
        group: "g1".into(),
        zone: host.zone,
        size: gib(64, 8),
        target_host: Some(host.name.clone()),
        status_host: Some(host.name),
        ready: true,
    }
}

fn flavor() -> Flavor {
    let specs = [
        ("capabilities:hypervisor_type", "CH"),
        ("capabilities:cpu_arch", "x86_64"),
        ("quota:hw_version", "g1"),
        ("trait:HW_CPU_X86_7", "required"),
        ("trait:CUSTOM_HANA_EXCLUSIVE_HOST", "forbidden"),
    ];
    Flavor {
        name: "m1".into(),
        vcpus: 8,
        memory_mib: 64 * 1024,
        extra_specs: specs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

fn request(number: u64, zone: &str) -> SlotRequest {
    SlotRequest {
        key: SlotKey::new(ClusterName::home(), format!("commitment-new-{number}")),
        rank: Rank { created_unix: 0, commitment: "new".into(), number },
        project: "project-7".into(),
        zone: zone.into(),
        flavor: flavor(),
        size: gib(64, 8),
        domain_name: Some("acme".to_owned()),
        pipeline: String::new(),
        prefer: None,
        request_id: String::new(),
    }
}

/// The built-in scheduler never waits, so one poll gives the answer.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn measure(what: &str, rounds: u64, mut each: impl FnMut(u64)) {
    (0..rounds / 10).for_each(&mut each);
    let start = clock();
    (0..rounds).for_each(&mut each);
    let each = start.elapsed() / u32::try_from(rounds).unwrap_or(1);
    println!("{what:<58} {each:>12.1?}  {:>9.0}/s", 1.0 / each.max(Duration::from_nanos(1)).as_secs_f64());
}

#[expect(clippy::disallowed_methods, reason = "an example measures time; the crate itself has no clock")]
fn clock() -> Instant {
    Instant::now()
}

fn main() {
    let scheduler = BuiltIn::new(Settings::default());
    for host in (0..HOSTS).map(host) {
        black_box(scheduler.host_changed(&host.name.clone(), Some(host)));
    }
    for slot in (0..HOSTS * PER_HOST).map(slot) {
        black_box(scheduler.reservation_changed(&slot.key.clone(), Some(slot)));
    }
    println!("{HOSTS} hosts, {} reservations, {ZONES} zones", HOSTS * PER_HOST);
    decisions(&scheduler);
    whole(&scheduler);
    changes(&scheduler);
    assert_eq!(scheduler.assumed(), 0, "all entries have ended");
}

fn decisions(scheduler: &BuiltIn) {
    for (what, zone) in
        [("place one slot, a third of the hosts in its zone", "eu-test-1b"), ("place one slot, all zones", "")]
    {
        measure(what, 5_000, |number| {
            let slot = request(number, zone);
            black_box(now(scheduler.place(&slot)));
            black_box(scheduler.applied(&[slot.key]));
        });
    }
    let vm = Request {
        project: "project-7".into(),
        zone: "eu-test-1b".into(),
        candidates: Candidates::All,
        options: Options::read_only(),
        ..Request::new("11111111-2222-3333-4444-555555555555", flavor())
    };
    measure("rank all hosts of a zone for a VM, own slots unlocked", 5_000, |_| {
        black_box(now(scheduler.probe(&vm)));
    });
    let total = Request {
        hints: Hints::for_intent(Intent::CapacityProbe),
        options: Options {
            assume_empty_hosts: true,
            ignored_reservation_types: BTreeSet::new(),
            ..Options::read_only()
        },
        ..vm
    };
    measure("capacity probe of a zone", 5_000, |_| {
        black_box(now(scheduler.probe(&total)));
    });
}

fn whole(scheduler: &BuiltIn) {
    let whole = WholeRequest {
        slots: (0..100).map(|number| request(number, "eu-test-1b")).collect(),
        ..WholeRequest::default()
    };
    let keys: Vec<SlotKey> = whole.slots.iter().map(|slot| slot.key.clone()).collect();
    measure("place a commitment of 100 slots", 50, |_| {
        black_box(now(scheduler.place_all(&whole)));
        black_box(scheduler.applied(&keys));
    });
}

fn changes(scheduler: &BuiltIn) {
    measure("a Reservation changes", 20_000, |number| {
        let mut slot = slot(usize::try_from(number).unwrap_or(0) % (HOSTS * PER_HOST));
        slot.ready = number.is_multiple_of(2);
        black_box(scheduler.reservation_changed(&slot.key.clone(), Some(slot)));
    });
    measure("a Hypervisor changes (building the object included)", 20_000, |number| {
        let mut host = host(usize::try_from(number).unwrap_or(0) % HOSTS);
        host.allocation = gib(500 + number % 100, 60).into();
        black_box(scheduler.host_changed(&host.name.clone(), Some(host)));
    });
}
