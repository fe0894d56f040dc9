//! Which replica leads and its address: what the holder publishes, and how long others use it.

use berth_crds::labels::API_ADDRESS;

use super::*;
use crate::Leader;

const OURS: &str = "http://10.0.0.7:8080";
const THEIRS: &str = "http://10.0.0.8:8080";

/// A replica that answers at an address, on the same API server.
fn replica(server: &Arc<Mutex<Server>>, identity: &str, address: Option<&str>) -> (Leadership, JoinHandle<Ended>) {
    let script = server.clone();
    let cluster = scripted(move |request| script.lock().reply(request));
    let address = address.map(str::to_owned);
    let candidate = Candidate { address, ..candidate(identity, metrics().1.lease) };
    let (leadership, work) = Election::new(&cluster, candidate);
    (leadership, tokio::spawn(work))
}

fn server(lease: Option<Value>) -> Arc<Mutex<Server>> {
    let mut server = Server { lease: None, version: 0, health: Health::Well, log: Vec::new(), start: Instant::now() };
    if let Some(lease) = lease {
        server.put(lease);
    }
    Arc::new(Mutex::new(server))
}

fn published(server: &Arc<Mutex<Server>>) -> Value {
    server.lock().lease.as_ref().unwrap()["metadata"]["annotations"][API_ADDRESS].clone()
}

fn held_by_another(address: &str) -> Value {
    let mut lease = foreign(15);
    lease["metadata"]["annotations"] = json!({ API_ADDRESS: address, "team": "blue" });
    lease
}

fn named(identity: &str, address: Option<&str>) -> Leader {
    Leader { identity: identity.to_owned(), address: address.map(str::to_owned) }
}

async fn leads(leadership: &Leadership) {
    timeout(Duration::from_secs(60), leadership.acquired()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_publishes_its_address_with_the_writes_that_it_makes_anyway() {
    let server = server(None);
    let (first, _) = replica(&server, "first", Some(OURS));
    assert_eq!(first.leader(), None);
    leads(&first).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((published(&server), first.leader()), (json!(OURS), Some(named("first", Some(OURS)))));
    let calls: Vec<String> = server.lock().log.iter().map(|(_, call)| call.clone()).collect();
    assert_eq!(calls, ["GET null", "POST \"first\"", "PUT \"first\"", "PUT \"first\""]);
}

#[tokio::test(start_paused = true)]
async fn a_follower_knows_the_leader_as_long_as_its_lease_is_seen_to_be_good() {
    let server = server(None);
    let (first, work) = replica(&server, "first", Some(OURS));
    leads(&first).await;
    let (second, _) = replica(&server, "second", Some(THEIRS));
    sleep(Duration::from_secs(40)).await;
    assert_eq!(second.leader(), Some(named("first", Some(OURS))));

    work.abort();
    server.lock().health = Health::Hangs;
    sleep(Duration::from_secs(12)).await;
    assert_eq!(second.leader(), Some(named("first", Some(OURS))));
    sleep(Duration::from_secs(4)).await;
    assert_eq!((second.leader(), second.holder().as_deref()), (None, Some("first")));
}

#[tokio::test(start_paused = true)]
async fn taking_over_replaces_the_address_also_with_nothing() {
    for address in [Some(OURS), None] {
        let server = server(Some(held_by_another(THEIRS)));
        let (me, _) = replica(&server, "me", address);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(me.leader(), Some(named("other", Some(THEIRS))));
        leads(&me).await;
        assert_eq!((published(&server), me.leader()), (json!(address), Some(named("me", address))));
        assert_eq!(server.lock().lease.as_ref().unwrap()["metadata"]["annotations"]["team"], "blue");
    }
}

#[tokio::test(start_paused = true)]
async fn releasing_the_lease_removes_the_address_and_the_leader() {
    let server = server(None);
    let (me, _) = replica(&server, "me", Some(OURS));
    leads(&me).await;
    // A write without an answer: the lease is released 5 s later, and until then other replicas must not forward to us.
    drop(me.fence().sending());
    let releasing = tokio::spawn({
        let me = me.clone();
        async move { me.release().await }
    });
    sleep(Duration::from_secs(1)).await;
    assert_eq!(me.leader(), None);
    releasing.await.unwrap();
    assert_eq!((published(&server), me.leader()), (Value::Null, None));
    let (other, _) = replica(&server, "other", Some(THEIRS));
    leads(&other).await;
    assert_eq!(other.leader(), Some(named("other", Some(THEIRS))));
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_has_lost_names_no_leader() {
    let server = server(None);
    let (me, work) = replica(&server, "me", Some(OURS));
    leads(&me).await;
    server.lock().health = Health::Hangs;
    me.lost().await;
    assert_eq!((me.leader(), work.await.unwrap()), (None, Ended::Lost(Lost::NotRenewed)));
}
