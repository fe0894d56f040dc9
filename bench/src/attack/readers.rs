//! Readers that take their time over every long list, and honest readers of the longest one.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::sleep;
use uuid::Uuid;

use super::goals::{goals, mib};
use super::observe::{Seen, observe};
use super::target::{Scarcity, Target, create_provider};
use super::wire;
use crate::error::Error;
use crate::proc;
use crate::size::Size;
use crate::table::{Goal, Row};

const SLOW: usize = 300;
const HONEST: usize = 64;
/// Above that of a quiet server.
const MORE_MIB: u64 = 64;
const PROVIDER: &str = "4a7f1b2c-3d5e-4f60-8a91-b2c3d4e5f607";
/// Consumers in one request.
const AT_ONCE: usize = 500;

pub async fn measure(size: Size) -> Result<Row, Error> {
    let mut target = Target::start(Scarcity::default()).await?;
    target.fill(vec![with_uuid(PROVIDER)]).await?;
    target.fill(vec![inventory(PROVIDER)]).await?;
    target.fill(long_lists(size.pick(10_000, 500))).await?;
    let lasts = size.pick(Duration::from_secs(20), Duration::from_secs(2));
    let quiet = proc::usage(target.watched.pid)?.resident_kib;
    let (slow, honest) = (size.pick(SLOW, 100), size.pick(HONEST, 16));
    let behaving = |_| wire::get("/resource_providers?name=provider-1");
    let (seen, ()) = observe(target.watched, behaving, read_slowly(target.watched.api, slow, lasts)).await?;
    target.check()?;
    let mut all = goals(&format!("{slow} slow readers of every list"), &seen);
    all.push(memory(quiet, &seen));
    let (seen, ()) = observe(target.watched, behaving, read_all(target.watched.api, honest, lasts)).await?;
    target.check()?;
    all.extend(goals(&format!("{honest} honest readers of all providers"), &seen));
    all.push(memory(quiet, &seen));
    Ok(Row { letter: 'B', what: "readers".to_owned(), goals: all })
}

fn memory(quiet: u64, seen: &Seen) -> Goal {
    let more = mib(seen.resident_kib.saturating_sub(quiet));
    let found = format!("{more} MiB above {} MiB", mib(quiet));
    Goal::wanted("at most 64 MiB above a quiet server", found, more <= MORE_MIB)
}

fn with_uuid(uuid: &str) -> Vec<u8> {
    wire::send("POST", "/resource_providers", &json!({ "name": "shared", "uuid": uuid }).to_string())
}

fn inventory(uuid: &str) -> Vec<u8> {
    let body = json!({
        "resource_provider_generation": 0, "inventories": { "VCPU": { "total": 1_000_000 } },
    });
    wire::send("PUT", &format!("/resource_providers/{uuid}/inventories"), &body.to_string())
}

/// Providers, and in proportion consumers of one of them, traits and resource classes.
fn long_lists(providers: usize) -> Vec<Vec<u8>> {
    let mut requests: Vec<_> = (0..providers).map(|number| create_provider(&format!("provider-{number}"))).collect();
    requests.extend((0..providers).step_by(AT_ONCE).map(|_| claim(AT_ONCE)));
    for number in 0..providers / 10 {
        requests.push(wire::send("PUT", &format!("/traits/CUSTOM_TRAIT_{number}"), ""));
        requests.push(wire::send("PUT", &format!("/resource_classes/CUSTOM_CLASS_{number}"), ""));
    }
    requests
}

fn claim(consumers: usize) -> Vec<u8> {
    let consumer = || {
        json!({
            "allocations": { PROVIDER: { "resources": { "VCPU": 1 } } }, "project_id": "project", "user_id": "user",
            "consumer_generation": null, "consumer_type": "INSTANCE",
        })
    };
    let body: serde_json::Map<_, _> = (0..consumers).map(|_| (Uuid::new_v4().to_string(), consumer())).collect();
    wire::send("POST", "/allocations", &serde_json::Value::Object(body).to_string())
}

/// The long lists.
fn lists() -> [String; 6] {
    [
        "/resource_providers".to_owned(),
        "/traits".to_owned(),
        "/resource_classes".to_owned(),
        format!("/resource_providers/{PROVIDER}/allocations"),
        "/allocation_candidates?resources=VCPU:1".to_owned(),
        "/usages?project_id=project".to_owned(),
    ]
}

async fn read_slowly(to: SocketAddr, count: usize, lasts: Duration) -> Result<(), Error> {
    let (mut readers, paths) = (JoinSet::new(), lists());
    for number in 0..count {
        readers.spawn(take_time(number, to, wire::get(&paths[number % paths.len()]), lasts));
    }
    while readers.join_next().await.is_some() {}
    Ok(())
}

/// Asks for a list again and again, and reads a few bytes of it each second.
async fn take_time(number: usize, to: SocketAddr, request: Vec<u8>, lasts: Duration) {
    const PAUSE: Duration = Duration::from_millis(100);
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        sleep(PAUSE).await;
        let Ok(mut stream) = wire::attack_slowly(number, to).await else { continue };
        if stream.write_all(&request).await.is_err() {
            continue;
        }
        while Instant::now() < until && stream.read(&mut [0; 16]).await.is_ok_and(|read| read > 0) {
            sleep(PAUSE).await;
        }
    }
}

async fn read_all(to: SocketAddr, count: usize, lasts: Duration) -> Result<(), Error> {
    let mut readers = JoinSet::new();
    for number in 0..count {
        readers.spawn(async move {
            let (until, request) = (Instant::now() + lasts, wire::get("/resource_providers"));
            while Instant::now() < until {
                if let Ok(mut stream) = wire::attack(number, to).await {
                    while Instant::now() < until && wire::exchange(&mut stream, &request).await.is_ok() {}
                }
            }
        });
    }
    while readers.join_next().await.is_some() {}
    Ok(())
}
