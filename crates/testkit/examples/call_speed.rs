//! The cost of a call of the double through the real client of `kube`, in microseconds of this thread for each verb;
//! where the system measures the time of threads, other load on the machine does not count.
#![allow(clippy::unwrap_used, missing_docs, reason = "an example")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use berth_crds::{Reservation, testing};
use berth_telemetry::clock::TokioClock;
use berth_testkit::Server;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

const CALLS: u64 = 5_000;

/// The processor time of this thread; where the system does not measure it, the elapsed time.
fn spent() -> Duration {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    let passed = STARTED.get_or_init(Instant::now).elapsed();
    let reported = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = reported.and_then(|text| text.split(' ').next().and_then(|nanos| nanos.parse().ok()));
    nanos.map_or(passed, Duration::from_nanos)
}

async fn measure(what: &str, api: &Api<Reservation>, call: impl AsyncFn(&Api<Reservation>, u64)) -> f64 {
    let started = spent();
    for number in 0..CALLS {
        call(api, number).await;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
    let each = spent().saturating_sub(started).as_secs_f64() * 1e6 / CALLS as f64;
    println!("{what:<14} {each:6.1} us");
    each
}

fn name(number: u64) -> String {
    format!("commitment-uuid-1-{number}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = Server::new(Arc::new(TokioClock::new("2026-03-01T08:00:00Z".parse().unwrap())));
    let api: Api<Reservation> = Api::all(server.cluster().client);
    let (post, change) = (PostParams::default(), PatchParams::default());
    let mut all = Vec::new();
    all.push(
        measure("create", &api, async |api, n| drop(api.create(&post, &testing::slot("uuid-1", n)).await.unwrap()))
            .await,
    );
    all.push(measure("get", &api, async |api, n| drop(api.get(&name(n)).await.unwrap())).await);
    let host = |n: u64| Patch::Merge(json!({ "spec": { "targetHost": format!("node{n}") } }));
    all.push(measure("patch", &api, async |api, n| drop(api.patch(&name(n), &change, &host(n)).await.unwrap())).await);
    let status = |n: u64| Patch::Merge(json!({ "status": { "host": format!("node{n}") } }));
    let patched =
        async |api: &Api<Reservation>, n| drop(api.patch_status(&name(n), &change, &status(n)).await.unwrap());
    all.push(measure("patch status", &api, patched).await);
    all.push(measure("same again", &api, patched).await);
    let one = |n: u64| ListParams::default().fields(&format!("metadata.name={}", name(n))).limit(1);
    let list = async |api: &Api<Reservation>, n: u64| drop(api.list(&one(n % 10)).await.unwrap());
    println!("(of {CALLS} objects)");
    measure("list one", &api, list).await;
    all.push(
        measure("delete", &api, async |api, n| drop(api.delete(&name(n), &DeleteParams::default()).await.unwrap()))
            .await,
    );
    println!("the slowest of single objects: {:.1} us", all.iter().copied().fold(0.0, f64::max));
}
