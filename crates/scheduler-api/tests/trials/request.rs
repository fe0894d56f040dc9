//! The property of `request`, for the fuzzer and for a test of `berth-scheduler-api` with the seeds: a body is parsed,
//! decided over a few hosts, answered and written again. Nothing may panic, and a parsed request must survive a round
//! trip.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, Resources, SlotKey, testing};
use berth_scheduler::{Answer, BuiltIn, Call, Request, Settings, Stopwatch};
use berth_scheduler_api::wire::{self, Ids};

static SCHEDULER: LazyLock<BuiltIn> = LazyLock::new(scheduler);
static RUNS: AtomicU64 = AtomicU64::new(0);

/// So much time passes between two requests that the claim of the first answer has expired.
const PAUSE: Duration = Duration::from_secs(3600);

pub fn request(body: &[u8]) {
    match wire::decode(body) {
        Err(invalid) => {
            let text = invalid.to_string();
            assert!(!text.is_empty() && text.len() < 4000 && !text.contains('\n'), "{text:?}");
        }
        Ok(incoming) => {
            written_again(&incoming.request);
            decided(&incoming.request);
        }
    }
    let _ = wire::decode_answer(body);
}

fn written_again(request: &Request) {
    let body = wire::encode(request, &Ids::default()).expect("every request can be serialized");
    let again = wire::decode(&body).expect("a serialized request can be parsed").request;
    assert_eq!(
        (&again.instance, &again.pipeline, &again.options),
        (&request.instance, &request.pipeline, &request.options)
    );
    assert_eq!((&again.ignore_hosts, &again.force_hosts), (&request.ignore_hosts, &request.force_hosts));
    assert_eq!(again.intent(), request.intent());
}

fn decided(request: &Request) {
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let now = PAUSE.saturating_mul(u32::try_from(run).unwrap_or(u32::MAX));
    let watch = Watch;
    let stopwatch: Option<&dyn Stopwatch> = Some(&watch);
    let explain = request.options.explain;
    let time = jiff::Timestamp::UNIX_EPOCH;
    let answer = SCHEDULER.answer(&Call { chance: run, explain, stopwatch, ..Call::new(request, (now, time)) });
    if let Ok(answer) = answer {
        answered(&answer, explain);
    }
    SCHEDULER.expire(now.saturating_add(PAUSE));
}

fn answered(answer: &Answer, explain: bool) {
    let body = wire::encode_answer(answer, explain);
    assert_eq!(wire::decode_answer(&body).as_ref(), Ok(&answer.hosts));
}

#[derive(Debug)]
struct Watch;

impl Stopwatch for Watch {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

fn scheduler() -> BuiltIn {
    let scheduler = BuiltIn::new(Settings::default(), Box::new(|_| {}));
    for (name, cores) in [("a", 8), ("b", 16), ("c", 0), ("node-a", 64)] {
        scheduler.host_changed(&name.into(), Some(host(name, cores)));
    }
    let slot = Reservation {
        key: SlotKey::new(ClusterName::home(), "slot"),
        kind: ReservationKind::Committed(BTreeMap::new()),
        project: "p".into(),
        group: "g1".into(),
        zone: "az".into(),
        size: Resources::new(Bytes::new(1 << 33), Cores::new(2)),
        target_host: Some("b".into()),
        status_host: Some("b".into()),
        ready: true,
    };
    scheduler.reservation_changed(&slot.key.clone(), Some(slot));
    scheduler
}

fn host(name: &str, cores: i64) -> Host {
    testing::host(name, Resources::new(Bytes::new(cores << 33), Cores::new(cores)))
}
