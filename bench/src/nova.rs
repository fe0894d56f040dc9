//! Nova's requests to an operator whose answers wait until their claims are kept, and the same requests without claims
//! (row n of docs/performance.md).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use berth_crds::testing;
use berth_scheduler_api::wire::PATH;
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cloud;
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::operator::Operator;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const CLIENTS: usize = 32;
/// Enough for a claim of each client in the first zone.
const HOSTS: usize = 12;
const P99_MS: f64 = 250.0;
/// Bytes of an answer.
const MOST: usize = 64 * 1024;
/// Far more than the operator takes for any answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// What all clients have seen.
struct Load {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let lasts = size.pick(Duration::from_secs(30), Duration::from_secs(5));
    let plane = with_hosts(HOSTS).await?;
    let (mut operator, api) = Operator::start_serving(&plane).await?;
    operator.ready().await?;
    let without = load(api, lasts, true).await?;
    let with = load(api, lasts, false).await?;
    operator.check()?;
    operator.stop().await?;
    plane.stop().await?;
    Ok(row(&without, &with))
}

async fn load(api: SocketAddr, lasts: Duration, read_only: bool) -> Result<Load, Error> {
    let until = Instant::now() + lasts;
    let clients = (0..CLIENTS).map(|client| ask_until(api, body(client, read_only), until));
    let mut times = Times::default();
    try_join_all(clients).await?.into_iter().for_each(|seen| times.append(seen));
    let millis = |percent| times.percentile(percent).as_secs_f64() * 1e3;
    let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
    Ok(Load { per_second: count / lasts.as_secs_f64(), p50_ms: millis(50), p99_ms: millis(99) })
}

/// One client, whose requests are all about the same VM: each claim replaces the one before.
async fn ask_until(api: SocketAddr, body: String, until: Instant) -> Result<Times, Error> {
    let failed = || Error::system("a request to the scheduler API");
    let mut stream = TcpStream::connect(api).await.map_err(failed())?;
    stream.set_nodelay(true).map_err(failed())?;
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: berth\r\nContent-Length: {}\r\n\r\n", body.len());
    let (request, mut times) = (head + &body, Times::default());
    while Instant::now() < until {
        let asked = Instant::now();
        stream.write_all(request.as_bytes()).await.map_err(failed())?;
        let read = timeout(ANSWERED_WITHIN, read_answer(&mut stream)).await;
        read.map_err(|_| Error::Answer(format!("none within {ANSWERED_WITHIN:?}")))??;
        times.add(asked.elapsed());
    }
    Ok(times)
}

/// Reads an answer with hosts; any other one is an error.
async fn read_answer(stream: &mut TcpStream) -> Result<(), Error> {
    let mut answer = Vec::new();
    while !is_whole(&answer) {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.map_err(Error::system("the answer of the scheduler API"))?;
        answer.extend_from_slice(&part[..read]);
        if read == 0 || answer.len() > MOST {
            break;
        }
    }
    let text = String::from_utf8_lossy(&answer);
    let is_good = text.starts_with("HTTP/1.1 200 ") && text.contains("{\"hosts\":[\"");
    if is_good { Ok(()) } else { Err(Error::Answer(text.into_owned())) }
}

/// All bodies end with a newline.
fn is_whole(answer: &[u8]) -> bool {
    const END_OF_HEAD: &[u8] = b"\r\n\r\n";
    let head = answer.windows(END_OF_HEAD.len()).position(|part| part == END_OF_HEAD);
    head.is_some_and(|at| answer[at + END_OF_HEAD.len()..].ends_with(b"\n"))
}

fn body(client: usize, read_only: bool) -> String {
    let hosts = || (0..HOSTS).step_by(3).map(cloud::host_name);
    let listed: Vec<Value> = hosts().map(|host| json!({ "host": host, "hypervisor_hostname": host })).collect();
    let weights: BTreeMap<_, _> = hosts().map(|host| (host, 1.0)).collect();
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    let flavor =
        json!({ "name": testing::FLAVOR, "vcpus": cloud::CORES, "memory_mb": cloud::GIB * 1024, "extra_specs": specs });
    let spec = json!({
        "instance_uuid": format!("vm-{client}"), "project_id": "another-project", "availability_zone": cloud::zone(0),
        "num_instances": 1, "flavor": { "nova_object.name": "Flavor", "nova_object.data": flavor },
    });
    let mut request = json!({
        "spec": { "nova_object.name": "RequestSpec", "nova_object.data": spec }, "hosts": listed, "weights": weights,
        "context": { "project_id": "another-project", "request_id": format!("req-{client}") },
        "options": { "skip_history": true, "skip_committed_resource_tracking": true },
    });
    request["options"]["read_only"] = json!(read_only);
    request["options"]["skip_inflight"] = json!(read_only);
    request.to_string()
}

fn row(without: &Load, with: &Load) -> Row {
    let shown = |load: &Load| {
        format!("{:.0} per second, p50 {:.1} ms, p99 {:.1} ms", load.per_second, load.p50_ms, load.p99_ms)
    };
    let goals = vec![
        Goal::new("without claims (`read_only`): shown", shown(without)),
        Goal::wanted(
            format!("each answer waits until its claim is kept: p99 at most {P99_MS} ms"),
            shown(with),
            with.p99_ms <= P99_MS,
        ),
    ];
    Row { letter: 'n', what: format!("requests of Nova, {CLIENTS} clients"), goals }
}
