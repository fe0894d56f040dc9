//! Claims that survive the process, on a double of an API server, on paused time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::Fence;
use berth_core::flavor::Flavor;
use berth_core::host::Host;
use berth_core::testing::{gib, host};
use berth_core::{Cores, HostName, Resources};
use berth_scheduler::{BuiltIn, Call, Claim, ClaimedQuota, Commitments, Guest, HeldClaim, Request, Settings};
use berth_telemetry::clock::{Clock as _, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::Server;
use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::object::{Clocks, decode, encode};
use super::*;

const MAPS: &str = "/api/v1/configmaps";
const MINUTE: Duration = Duration::from_secs(60);

/// The API server, and the clock of the machines.
struct World {
    server: Server,
    clock: TokioClock,
}

/// A process with a scheduler that knows two hosts for one VM each.
struct Process {
    scheduler: Arc<BuiltIn>,
    keeper: ClaimKeeper,
    metrics: Metrics,
    clock: TokioClock,
    began: Instant,
    stop: CancellationToken,
}

impl World {
    fn new() -> Self {
        let clock = TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap());
        Self { server: Server::new(Arc::new(clock)), clock }
    }

    fn process(&self) -> Process {
        let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
        for name in ["a", "b"] {
            scheduler.host_changed(&name.into(), Some(host(name, size())));
        }
        let (metrics, began, stop) =
            (Metrics::new(&BTreeMap::new()).unwrap(), Instant::now(), CancellationToken::new());
        let keeper = ClaimKeeper::new(ClaimKeeperParts {
            map: ClaimMap::new(self.server.cluster(), "default", NAME).fenced(Fence::open()),
            scheduler: scheduler.clone(),
            now: Arc::new(move || began.elapsed()),
            clock: Arc::new(self.clock),
            longest: 10 * MINUTE,
            metrics: ClaimMetrics::register(&metrics).unwrap(),
        });
        tokio::spawn(keeper.work(stop.clone()));
        Process { scheduler, keeper, metrics, clock: self.clock, began, stop }
    }

    fn writes(&self) -> usize {
        self.server.take_log().len()
    }
}

fn size() -> Resources {
    Resources::new(gib(32), Cores::new(4))
}

impl Process {
    /// The host of the answer for a VM.
    async fn answers(&self, vm: &str) -> Option<HostName> {
        let specs = [("capabilities:hypervisor_type".to_owned(), "CH".to_owned())].into();
        let flavor = Flavor { name: "m".into(), vcpus: 4, memory_mib: 32 * 1024, disk_gib: 0, extra_specs: specs };
        let request = Request { project: "p".into(), ..Request::new(vm, flavor) };
        let guest = Guest { group: "g".into(), size: size(), commitments: Commitments::None };
        let (now, time) = (self.began.elapsed(), self.clock.now());
        let call = Call { guest: Some(&guest), ..Call::new(&request, (now, time)) };
        let host = self.scheduler.answer(&call).unwrap().hosts.into_iter().next();
        self.keeper.keep().await;
        host
    }

    fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|shown| shown == line)
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_process_keeps_what_was_promised_until_the_same_time() {
    let world = World::new();
    let old = world.process();
    let (first, second) = (old.answers("vm-1").await.unwrap(), old.answers("vm-2").await.unwrap());
    assert_ne!(first, second);
    assert_eq!(old.answers("vm-3").await, None, "both hosts are promised");
    old.stop.cancel();
    tokio::time::sleep(9 * MINUTE).await;

    let new = world.process();
    let with_vm = Host { instances: [("vm-1".into(), true)].into(), ..host(first.as_str(), size()) };
    new.scheduler.host_changed(&first, Some(with_vm));
    assert_eq!(new.keeper.restore().await, []);
    assert_eq!(new.scheduler.claimed(), 1, "vm-1 has arrived meanwhile");
    let held = new.scheduler.held_claims().remove(0).claim;
    assert_eq!((held.instance.as_str(), held.project.as_str(), &held.host, held.size), ("vm-2", "p", &second, size()));
    assert_eq!(held.until.to_string(), "2026-03-01T12:10:01Z");
    new.scheduler.expire(new.began.elapsed() + Duration::from_secs(59));
    assert_eq!(new.scheduler.claimed(), 1);
    new.scheduler.expire(new.began.elapsed() + Duration::from_secs(62));
    assert_eq!(new.scheduler.claimed(), 0);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!((new.keeper.restore().await, new.scheduler.claimed()), (Vec::new(), 0), "it has ended");
}

#[tokio::test(start_paused = true)]
async fn answers_wait_for_their_batch_and_ten_batches_a_second_are_written() {
    let world = World::new();
    let process = world.process();
    process.scheduler.host_changed(&"large".into(), Some(host("large", Resources::new(gib(3200), Cores::new(400)))));
    let started = Instant::now();
    let ask = |number: u64| {
        let process = &process;
        async move {
            tokio::time::sleep(Duration::from_millis(10 * number)).await;
            let asked = Instant::now();
            assert!(process.answers(&format!("vm-{number}")).await.is_some());
            asked.elapsed()
        }
    };
    let waited = join_all((0..100).map(ask)).await;
    assert!(started.elapsed() < Duration::from_millis(1200));
    assert!(waited.iter().all(|waited| *waited <= Duration::from_millis(110)), "{waited:?}");
    let writes = world.writes();
    assert!((8..=12).contains(&writes), "{writes} batches");
    assert!(process.counts("berth_claim_answers_total{outcome=\"kept\"} 100"));
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_an_answer_is_late_by_a_moment_and_counted() {
    let world = World::new();
    let process = world.process();
    world.server.go_away();
    let asked = Instant::now();
    assert!(process.answers("vm-1").await.is_some());
    assert_eq!(asked.elapsed(), Duration::from_millis(150));
    assert!(process.counts("berth_claim_answers_total{outcome=\"late\"} 1"));
    world.server.come_back();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let next = world.process();
    next.keeper.restore().await;
    assert_eq!(next.scheduler.claimed(), 1, "it was kept later");
}

#[tokio::test(start_paused = true)]
async fn what_others_write_into_the_map_is_replaced_and_what_is_no_claim_is_ignored() {
    let world = World::new();
    let process = world.process();
    assert!(process.answers("vm-1").await.is_some());
    for text in ["junk", "[{\"vm\": 7}, {}]", "[]"] {
        world.server.edit_raw(MAPS, "default/berth-claims", &json!({ "data": { "claims": text } })).unwrap();
        let next = world.process();
        assert_eq!((next.keeper.restore().await, next.scheduler.claimed()), (Vec::new(), 0), "{text}");
    }
    assert!(process.answers("vm-2").await.is_some());
    let next = world.process();
    next.keeper.restore().await;
    assert_eq!(next.scheduler.claimed(), 2);
}

fn held(number: i64) -> HeldClaim {
    let claim = Claim {
        instance: format!("vm-{number}").as_str().into(),
        host: "a".into(),
        size: size(),
        until: jiff::Timestamp::from_second(number).unwrap(),
        ..Claim::default()
    };
    HeldClaim { claim, listed: ["source".into()].into() }
}

#[test]
fn while_the_clock_cannot_be_trusted_claims_last_as_long_as_any() {
    let (text, _) = encode(vec![held(1)], 2000);
    let over = Some(jiff::Timestamp::from_second(2).unwrap());
    assert_eq!(decode(&text, Clocks { now: MINUTE, time: over }, MINUTE).0.len(), 0);
    let (claims, _) = decode(&text, Clocks { now: MINUTE, time: None }, MINUTE);
    assert_eq!(claims[0].claim.expires, 2 * MINUTE);
}

#[test]
fn what_a_claim_uses_of_a_quota_is_kept_and_claims_of_former_versions_use_nothing() {
    let clocks = Clocks { now: MINUTE, time: Some(jiff::Timestamp::UNIX_EPOCH) };
    let amounts = berth_core::quota::Amounts { ram_gib: 32, cores: 8, instances: 2 };
    let quota = Some(ClaimedQuota { group: "g1".into(), amounts });
    let claim = Claim { quota, ..held(1).claim };
    let (text, _) = encode(vec![HeldClaim { claim: claim.clone(), ..held(1) }], 2000);
    assert!(text.contains(r#""quota":{"group":"g1","ram":32,"cores":8,"instances":2}"#), "{text}");
    assert_eq!(decode(&text, clocks, MINUTE).0[0].claim.quota, claim.quota);
    let (former, _) = encode(vec![held(1)], 2000);
    assert!(!former.contains("quota"), "{former}");
    assert_eq!(decode(&former, clocks, MINUTE).0[0].claim.quota, None);
}

#[test]
fn the_youngest_claims_stay_where_not_all_of_them_fit() {
    let clocks = Clocks { now: MINUTE, time: Some(jiff::Timestamp::UNIX_EPOCH) };
    let (text, left_out) = encode((1..=100).map(held).collect(), 2000);
    assert!(text.len() <= 2000 && left_out > 50, "{left_out} {text}");
    let (claims, invalid) = decode(&text, clocks, MINUTE);
    assert_eq!((claims.len() + left_out, invalid), (100, 0));
    let oldest = claims.iter().map(|held| held.claim.until.as_second()).min().unwrap();
    assert_eq!(usize::try_from(oldest).unwrap(), left_out + 1);
    let ninety = claims.iter().find(|held| held.claim.instance.as_str() == "vm-90").unwrap();
    assert_eq!(
        (ninety.claim.expires, &ninety.listed),
        (2 * MINUTE, &["source".into()].into()),
        "no longer than a minute"
    );
    let (all, none) = encode((1..=100).map(held).collect(), 1_000_000);
    assert_eq!((decode(&all, clocks, 3 * MINUTE).0.len(), none), (100, 0));
}
