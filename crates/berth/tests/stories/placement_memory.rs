//! The memory of `berth placement` while many clients ask for long lists and do not read them, and after that.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep};

use super::placement::Placement;
use crate::support::http::{get, send};
use crate::support::waiting::{so, until};

const PROVIDERS: usize = 2000;
const CONSUMERS: usize = 2000;
/// Slow readers of each of two lists, and how many of them have one address.
const READERS: usize = 150;
const READERS_OF_ADDRESS: usize = 100;
/// How much larger the process may become, in MiB.
const MOST: usize = 64;
const BIG: &str = "00000000-0000-4000-8000-000000000001";

/// The resident memory of the process, in MiB.
fn resident(placement: &Placement) -> usize {
    let text = fs::read_to_string(format!("/proc/{}/status", placement.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

async fn request(at: SocketAddr, method: &str, path: &str, body: Value) {
    let body = body.to_string();
    // The rest of the first line becomes an unused header.
    let headers = "OpenStack-API-Version: placement 1.39\r\nContent-Type: application/json\r\nX-Rest:";
    let sent = send(at, method, &format!("{path} HTTP/1.1\r\n{headers}"), body.len(), body.as_bytes()).await.unwrap();
    assert!((200..300).contains(&sent.status), "{sent:?}");
}

/// Many providers, one of which has allocations of many consumers.
async fn fill(at: SocketAddr) {
    let create = async |client: usize| {
        for number in (client..PROVIDERS).step_by(16) {
            let name = format!("host-{number}-{}", "x".repeat(180));
            request(at, "POST", "/resource_providers", json!({ "name": name })).await;
        }
    };
    join_all((0..16).map(create)).await;
    request(at, "POST", "/resource_providers", json!({ "name": "big", "uuid": BIG })).await;
    let inventories = json!({ "resource_provider_generation": 0, "inventories": { "VCPU": { "total": 1_000_000 } } });
    request(at, "PUT", &format!("/resource_providers/{BIG}/inventories"), inventories).await;
    let claim = json!({
        "allocations": { BIG: { "resources": { "VCPU": 1 } } },
        "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE",
    });
    let claims = (0..CONSUMERS).map(|number| (format!("10000000-0000-4000-8000-{number:012}"), claim.clone()));
    request(at, "POST", "/allocations", claims.collect::<Map<_, _>>().into()).await;
}

/// Asks for a list from `127.0.0.address`, and reads nothing.
async fn ask_slowly(at: SocketAddr, address: usize, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(([127, 0, 0, u8::try_from(address).unwrap()], 0).into()).unwrap();
    let mut stream = socket.connect(at).await.unwrap();
    let version = "OpenStack-API-Version: placement 1.39";
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{version}\r\n\r\n").as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn slow_readers_of_long_lists_take_little_memory_and_it_is_given_back() {
    let placement = Placement::begin().await;
    fill(placement.api).await;
    let before = resident(&placement);

    let mut slow = Vec::new();
    for (list, path) in ["/resource_providers", &format!("/resource_providers/{BIG}/allocations")].iter().enumerate() {
        for reader in 0..READERS {
            let address = 10 + 10 * list + reader / READERS_OF_ADDRESS;
            slow.push(ask_slowly(placement.api, address, path).await);
        }
    }
    let (flooded, mut most) = (Instant::now(), 0);
    while flooded.elapsed() < Duration::from_secs(8) {
        most = most.max(resident(&placement));
        let asked = Instant::now();
        assert_eq!(get(placement.side, "/healthz").await.map(|(status, _)| status), Some(200));
        assert!(asked.elapsed() < Duration::from_secs(1), "the probe took {:?}", asked.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    assert!(most <= before + MOST, "{most} MiB, and {before} MiB before");

    drop(slow);
    let given_back = until(async || {
        let now = resident(&placement);
        so(now * 10 <= before * 13, || format!("{now} MiB, and {before} MiB before"))
    });
    given_back.await.unwrap();
}
