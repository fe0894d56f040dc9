//! Claims of many clients on servers that are killed all the time, one on SQLite and three on PostgreSQL, and on
//! servers whose database goes away. Acknowledged requests are kept, an unanswered request is done or not, nothing is
//! over-booked, and model and database agree.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_postgres::{Durability, Postgres};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::placement::Placement;
use crate::support::http::{Posted, get, send_and_wait};
use crate::support::waiting::{so, until};

const HOSTS: usize = 4;
const FREE: u64 = 12;
const CLIENTS: usize = 6;
const KILLS: usize = 8;
/// A request has 30 s; the rest is for the machine.
const DEADLINE: Duration = Duration::from_secs(33);

fn host(number: usize) -> String {
    format!("00000000-0000-4000-8000-00000000000{number}")
}

fn consumer(client: usize, number: usize) -> String {
    format!("00000000-0000-4000-9000-{client:06}{number:06}")
}

/// A request with a JSON body in a microversion without generations.
async fn request(at: SocketAddr, method: &str, path: &str, body: &Value) -> Option<Posted> {
    let body = body.to_string();
    // The rest of the first line becomes an unused header.
    let path = format!(
        "{path} HTTP/1.1\r\nOpenStack-API-Version: placement 1.12\r\nContent-Type: application/json\r\nX-Rest:"
    );
    let started = Instant::now();
    let answer = send_and_wait(at, method, &path, body.len(), body.as_bytes()).await;
    assert!(started.elapsed() < DEADLINE, "{method} {path}: {answer:?} after {:?}", started.elapsed());
    answer
}

/// Repeats the request until there is a definite answer, which tells whether it was done.
async fn surely(at: SocketAddr, method: &str, path: &str, body: &Value) -> u16 {
    loop {
        match request(at, method, path, body).await {
            Some(answer) if answer.status != 503 => return answer.status,
            _ => sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn make_hosts(at: SocketAddr) {
    for number in 0..HOSTS {
        let new = json!({ "name": format!("host-{number}"), "uuid": host(number) });
        assert_eq!(surely(at, "POST", "/resource_providers", &new).await, 201);
        let inventory = json!({ "resource_class": "VCPU", "total": FREE });
        let path = format!("/resource_providers/{}/inventories", host(number));
        assert_eq!(surely(at, "POST", &path, &inventory).await, 201);
    }
}

/// The claim of a consumer: a host and an amount, or nothing.
type Held = Option<(String, u64)>;

/// The possible claims of the consumers of one client: exactly one each if everything was answered.
async fn claim(client: usize, servers: Vec<SocketAddr>, over: Arc<AtomicBool>) -> BTreeMap<String, BTreeSet<Held>> {
    let mut held: BTreeMap<String, BTreeSet<Held>> = BTreeMap::new();
    for number in (0..).take_while(|_| !over.load(Ordering::Relaxed)) {
        let who = consumer(client, number % 3);
        let (at, amount) = (host((client * 7 + number * 5) % HOSTS), 1 + (client + number) as u64 % 3);
        let server = servers[(client + number) % servers.len()];
        let may = held.entry(who.clone()).or_insert_with(|| BTreeSet::from([None]));
        let path = format!("/allocations/{who}");
        let deletes = number % 7 == 6;
        let answer = if deletes {
            request(server, "DELETE", &path, &Value::Null).await
        } else {
            let allocations = json!({ at.clone(): { "resources": { "VCPU": amount } } });
            let body = json!({ "allocations": allocations, "project_id": "p", "user_id": "u" });
            request(server, "PUT", &path, &body).await
        };
        let new = (!deletes).then_some((at, amount));
        match answer.map(|answer| (answer.status, answer.body)) {
            Some((204, _)) => *may = BTreeSet::from([new]),
            // Refused: nothing has changed, and a deletion found nothing.
            Some((404, _)) => *may = BTreeSet::from([None]),
            Some((409, _)) => {}
            Some((503, _)) | None => {
                may.insert(new);
                sleep(Duration::from_millis(10)).await;
            }
            Some(other) => panic!("{other:?}"),
        }
    }
    held
}

async fn has(at: SocketAddr, who: &str) -> Held {
    let (status, body) = get(at, &format!("/allocations/{who}")).await.unwrap();
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let allocations = body["allocations"].as_object().unwrap();
    assert!(allocations.len() <= 1, "{body}");
    allocations.iter().next().map(|(host, held)| (host.clone(), held["resources"]["VCPU"].as_u64().unwrap()))
}

async fn checker(servers: &[Placement], held: BTreeMap<String, BTreeSet<Held>>) {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (who, may) in held {
        let mut found = None;
        for server in servers {
            let now = has(server.api, &who).await;
            assert!(may.contains(&now), "{who} has {now:?}, allowed are {may:?}");
            assert!(found.replace(now.clone()).is_none_or(|other| other == now), "{who} differs between servers");
        }
        if let Some((host, amount)) = found.flatten() {
            *sums.entry(host).or_default() += amount;
        }
    }
    for number in 0..HOSTS {
        let sum = sums.get(&host(number)).copied().unwrap_or(0);
        assert!(sum <= FREE, "host {number} has {sum}");
        for server in servers {
            let (_, body) = get(server.api, &format!("/resource_providers/{}/usages", host(number))).await.unwrap();
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["usages"]["VCPU"], json!(sum), "host {number}");
        }
    }
    for server in servers {
        let (status, body) = get(server.side, "/check").await.unwrap();
        assert_eq!((status, body.as_str()), (200, "{\"differences\":[]}"));
    }
}

/// Claims until all kills are over, and checks the ledger then.
async fn storm(mut servers: Vec<Placement>, blows: usize, mut blow: impl AsyncFnMut(&mut [Placement], usize)) {
    make_hosts(servers[0].api).await;
    let addresses: Vec<_> = servers.iter().map(|server| server.api).collect();
    let over = Arc::new(AtomicBool::new(false));
    let client = |number| tokio::spawn(claim(number, addresses.clone(), over.clone()));
    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
    for number in 0..blows {
        sleep(Duration::from_millis(150 + 70 * (number as u64 % 3))).await;
        blow(&mut servers, number).await;
    }
    over.store(true, Ordering::Relaxed);
    let mut held = BTreeMap::new();
    for client in clients {
        held.extend(client.await.unwrap());
    }
    for server in &servers {
        server.is_ready().await;
    }
    assert!(held.values().any(|may| may.len() == 1), "no request was answered");
    checker(&servers, held).await;
}

async fn kill_one(servers: &mut [Placement], number: usize) {
    let number = number % servers.len();
    servers[number].kill_and_start().await;
}

async fn on(postgres: &Postgres, servers: usize) -> Vec<Placement> {
    let url = postgres.create("storm").await.unwrap();
    let mut started = Vec::new();
    for _ in 0..servers {
        started.push(Placement::begin_with(Some(url.clone())).await);
    }
    started
}

#[tokio::test]
async fn one_server_on_sqlite_loses_nothing_when_it_is_killed() {
    storm(vec![Placement::begin_with(None).await], KILLS, kill_one).await;
}

#[tokio::test]
async fn three_servers_on_postgresql_lose_nothing_when_they_are_killed() {
    let postgres = Postgres::start(Durability::None).await.unwrap();
    storm(on(&postgres, 3).await, KILLS, kill_one).await;
}

/// Waits until all servers report that they are not ready.
async fn are_not_ready(servers: &[Placement]) {
    for server in servers {
        let reported = until(async || {
            let answer = get(server.side, "/readyz").await;
            so(answer.as_ref().is_some_and(|(status, _)| *status == 503), || format!("{answer:?}"))
        });
        reported.await.unwrap();
        let answer = request(server.api, "GET", "/resource_providers", &Value::Null).await.unwrap();
        assert_eq!((answer.status, answer.header("Retry-After")), (503, Some("1")), "{}", answer.body);
    }
}

#[tokio::test]
async fn two_servers_lose_nothing_when_their_database_goes_away() {
    let mut postgres = Postgres::start(Durability::Disk).await.unwrap();
    let servers = on(&postgres, 2).await;
    storm(servers, 4, async |servers, number| {
        if number % 2 == 0 {
            postgres.shut_down().await.unwrap();
            are_not_ready(servers).await;
            postgres.restart().await.unwrap();
        } else {
            postgres.pause().unwrap();
            are_not_ready(servers).await;
            postgres.resume().unwrap();
        }
        for server in servers {
            server.is_ready().await;
        }
    })
    .await;
}
