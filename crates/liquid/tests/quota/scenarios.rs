//! Pushes, each scenario without a fault, with a process that ends before and after every write, and with seeds for faults of
//! the API server. Like Limes, the client repeats a push that is not answered, or answered with an error.

use std::time::Duration;

use berth_crds::ProjectQuota;
use berth_testkit::scenarios::{Disturbance, ScenarioRun};
use berth_testkit::{Fault, Server, Verb, scenarios};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::setting::*;

/// Pushes until one is answered as expected.
const MOST: usize = 50;

struct Run {
    server: Server,
    process: Process,
    disturbance: Disturbance,
    last: Value,
}

impl ScenarioRun for Run {
    fn begin(disturbance: Disturbance) -> Self {
        let server = server();
        let process = Process::start(&server);
        Self { server, process, disturbance, last: Value::Null }
    }

    fn server(&self) -> &Server {
        &self.server
    }

    /// The last push, once more, changes nothing.
    async fn finish(&mut self) {
        self.server.heal();
        self.process.world.deliver().unwrap();
        self.server.take_log();
        let last = self.last.clone();
        self.process.push(&last).await.is(204, "");
        assert_eq!(self.server.take_log(), [""; 0]);
        assert_eq!(self.server.no_op_writes(), 0);
    }
}

impl Run {
    fn disturb(&self) {
        self.disturbance.begin(&self.server);
    }

    /// The answer to one push; `None` if the process ends meanwhile. It has a successor then.
    async fn try_once(&mut self, body: &Value) -> Option<Seen> {
        self.process.world.deliver().unwrap();
        let work = self.process.push(body);
        let seen = self.disturbance.interrupt(&self.server, work).await;
        if seen.is_none() {
            let published = std::mem::take(&mut *self.process.stubs.published.lock());
            self.process = Process::start(&self.server);
            *self.process.stubs.published.lock() = published;
        }
        seen
    }

    async fn push_until(&mut self, body: &Value, is_expected: impl Fn(&Seen) -> bool) -> Seen {
        for _ in 0..MOST {
            match self.try_once(body).await {
                Some(seen) if is_expected(&seen) => return seen,
                _ => sleep(Duration::from_secs(1)).await,
            }
        }
        panic!("{body} is never answered as expected");
    }

    /// Pushes until everything is stored. What is left over may need another push if deletions fail.
    async fn push(&mut self, body: &Value, expected: &Value) {
        self.last = body.clone();
        let mut pushes = 0;
        while pushes == 0 || (self.disturbance.has_faults() && stored(&self.server) != *expected && pushes < 5) {
            self.push_until(body, |seen| seen.status == 204).await;
            pushes += 1;
        }
        assert_eq!(stored(&self.server), *expected);
    }
}

fn of(quota: u64, zones: &[&str]) -> (Value, Value) {
    let values: Vec<_> = zones.iter().map(|zone| ("gp_v1_ram", *zone, quota)).collect();
    (push(&values), zones.iter().map(|zone| ((*zone).to_owned(), json!({ "gp_v1_ram": quota }))).collect())
}

scenarios! { Run, all: quota_push push_half_failed push_empty unit_changed usage_is_written_meanwhile }

mod all {
    use super::*;

    /// Zones come, change and go.
    pub fn quota_push(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            for (quota, zones) in [(1, &["1a", "1b", "1c"][..]), (2, &["1b"]), (3, &["1a", "1d"]), (3, &["1a", "1d"])] {
                let (body, expected) = of(quota, zones);
                run.push(&body, &expected).await;
            }
        }
        .boxed()
    }

    /// One zone cannot be written. What is left over stays until it can.
    pub fn push_half_failed(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let (body, expected) = of(1, &["1a", "1b", "1c", "1d"]);
            run.push(&body, &expected).await;
            // Of several faults the first one counts.
            run.server.fail_always(Verb::Patch, &path_in("1b"), Fault::Forbidden);
            run.disturb();
            let (body, expected) = of(2, &["1a", "1b", "1c"]);
            let only = "Failed to persist quota for AZ 1b: ";
            let seen = run.push_until(&body, |seen| seen.status == 500 && seen.text.starts_with(only)).await;
            assert!(seen.text.contains("quota-p1-1b"), "{seen:?}");
            let of = |quota| json!({ "gp_v1_ram": quota });
            assert_eq!(stored(&run.server), json!({ "1a": of(2), "1b": of(1), "1c": of(2), "1d": of(1) }));
            run.server.without(Fault::Forbidden);
            run.push(&body, &expected).await;
        }
        .boxed()
    }

    /// A request without resources is a fault of the client; one whose resources have no zone is none.
    pub fn push_empty(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            let (body, expected) = of(1, &["1a", "1b"]);
            run.push(&body, &expected).await;
            let seen = run.push_until(&json!({ "resources": {} }), |_| true).await;
            seen.is(400, "quota request contains no resources");
            assert_eq!(stored(&run.server), expected);
            run.push(&json!({ "resources": { "hw_version_gp_v1_ram": { "quota": 0 } } }), &json!({})).await;
        }
        .boxed()
    }

    /// Limes sends everything again after it has seen the new unit.
    pub fn unit_changed(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.process.stubs.published.lock().insert("gp_v1", 1);
            let (body, expected) = of(64, &["1a", "1b"]);
            run.push(&body, &expected).await;
            run.process.stubs.published.lock().insert("gp_v1", 16);
            let (body, _) = of(4, &["1a", "1b"]);
            run.push(&body, &expected).await;
        }
        .boxed()
    }

    /// The controller of usage writes the status of each object before it is written here.
    pub fn usage_is_written_meanwhile(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            let (body, expected) = of(1, &["1a", "1b"]);
            run.push(&body, &expected).await;
            run.disturb();
            for zone in ["1a", "1b"] {
                run.server.before(Verb::Patch, &path_in(zone), 1, move |server| {
                    let status = json!({ "status": { "totalUsage": { "hw_version_gp_v1_ram": 7 } } });
                    server.edit_status::<ProjectQuota>(&format!("quota-p1-{zone}"), &status).unwrap();
                });
            }
            let (body, expected) = of(2, &["1a", "1b"]);
            run.push(&body, &expected).await;
            for zone in ["1a", "1b"] {
                assert_eq!(object_in(&run.server, zone).status.unwrap().total_usage["hw_version_gp_v1_ram"], 7);
            }
        }
        .boxed()
    }
}
