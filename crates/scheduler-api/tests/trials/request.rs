//! What is tried with a body, by the fuzzer and by a test of `berth-scheduler-api` that goes over the seeds: it is read,
//! decided over a few hosts, answered and written again. Nothing of that may panic, and what is read has to survive.

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

/// Between two requests so much time passes that the answer to the first counts no more.
const PAUSE: Duration = Duration::from_secs(3600);

/// Tries a body.
pub fn request(body: &[u8]) {
    match wire::decode(body) {
        Err(malformed) => {
            let text = malformed.to_string();
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
    let body = wire::encode(request, &Ids::default()).expect("every request can be written");
    let again = wire::decode(&body).expect("what was written can be read").request;
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
    let answer = SCHEDULER.answer(&Call { request, now, chance: run, guest: None, explain, stopwatch });
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
