//! The largest bodies that the scheduler API admits, on many connections at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_crds::testing;
use berth_scheduler_api::wire::PATH;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::goals::{goals, mib};
use super::observe::observe;
use super::wire;
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::operator::Operator;
use crate::size::Size;
use crate::table::{Goal, Row};

const CONNECTIONS: usize = 64;
/// What the API admits.
const HOSTS: usize = 100_000;
const MOST_MIB: u64 = 200;
/// The factor of the memory after the attack, over that before it.
const GIVEN_BACK: f64 = 1.3;
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub async fn measure(size: Size) -> Result<Row, Error> {
    let plane = with_hosts(3).await?;
    let (mut operator, api) = Operator::start_serving(&plane).await?;
    operator.ready().await?;
    let before = operator.usage()?.resident_kib;
    let (count, hosts) = (size.pick(CONNECTIONS, 16), size.pick(HOSTS, 20_000));
    let lasts = size.pick(Duration::from_secs(20), Duration::from_secs(2));
    let small = |_| wire::send("POST", PATH, &body(1));
    let attack = flood(api, count, Arc::new(wire::send("POST", PATH, &body(hosts))), lasts);
    let (seen, answered) = observe(operator.watched(api), small, attack).await?;
    operator.check()?;
    let mut all = goals(&format!("{count} connections with {hosts} hosts each"), &seen);
    all.push(Goal::new("bodies that were decoded", answered.to_string()));
    let most = mib(seen.resident_kib);
    all.push(Goal::wanted("at most 200 MiB", format!("{most} MiB, {} MiB before", mib(before)), most <= MOST_MIB));
    all.push(given_back(&operator, before, size).await?);
    operator.stop().await?;
    plane.stop().await?;
    Ok(Row { letter: 'D', what: "bodies of the scheduler API".to_owned(), goals: all })
}

async fn given_back(operator: &Operator, before: u64, size: Size) -> Result<Goal, Error> {
    let (ended, within) = (Instant::now(), size.pick(GIVEN_BACK_WITHIN, Duration::from_secs(1)));
    #[expect(clippy::cast_precision_loss, reason = "KiB of memory")]
    let ratio = |now: u64| now as f64 / before as f64;
    loop {
        let now = operator.usage()?.resident_kib;
        if ratio(now) <= GIVEN_BACK || ended.elapsed() > within {
            let found = format!("{:.2} after {:.0} s", ratio(now), ended.elapsed().as_secs_f64());
            return Ok(Goal::wanted("within 30 s at most 1.3 times that before", found, ratio(now) <= GIVEN_BACK));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The number of requests that were not refused.
async fn flood(to: SocketAddr, count: usize, request: Arc<Vec<u8>>, lasts: Duration) -> Result<usize, Error> {
    let (mut clients, until) = (JoinSet::new(), Instant::now() + lasts);
    for number in 0..count {
        clients.spawn(send_until(number, to, request.clone(), until));
    }
    let mut answered = 0;
    while let Some(client) = clients.join_next().await {
        answered += client.unwrap_or_default();
    }
    Ok(answered)
}

async fn send_until(number: usize, to: SocketAddr, request: Arc<Vec<u8>>, until: Instant) -> usize {
    let mut answered = 0;
    while Instant::now() < until {
        if let Ok(mut stream) = wire::attack(number, to).await {
            while Instant::now() < until
                && let Ok(status) = wire::exchange(&mut stream, &request).await
            {
                answered += usize::from(status == 200);
            }
        }
    }
    answered
}

/// A request with so many hosts, none of which exists.
fn body(hosts: usize) -> String {
    let name = |number| format!("host-{number}");
    let listed: Vec<Value> =
        (0..hosts).map(|number| json!({ "host": name(number), "hypervisor_hostname": name(number) })).collect();
    let weights: Map<_, _> = (0..hosts).map(|number| (name(number), json!(1.0))).collect();
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    let flavor = json!({ "name": testing::FLAVOR, "vcpus": 1, "memory_mb": 1024, "extra_specs": specs });
    let spec = json!({
        "instance_uuid": "vm", "project_id": "project", "availability_zone": "", "num_instances": 1,
        "flavor": { "nova_object.name": "Flavor", "nova_object.data": flavor },
    });
    json!({
        "spec": { "nova_object.name": "RequestSpec", "nova_object.data": spec }, "hosts": listed, "weights": weights,
        "context": { "project_id": "project", "request_id": "req" },
        "options": { "read_only": true, "skip_inflight": true, "skip_history": true, "skip_committed_resource_tracking": true },
    })
    .to_string()
}
