//! Several replicas that all answer Nova, of which one decides. Runs the real binary on a real API server.

use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::support::free_ports::free_addresses;
use crate::support::http;
use crate::support::nova::{
    answers_in_order, ask, booked, hosts, hosts_are_known_at, of_another_project, of_project, only_asks, post, starts,
    wants,
};
use crate::support::objects::{host, rejectable};
use crate::support::replicas::{LEASE, Replicas, TWO};
use crate::support::waiting::{repetitions, so};
use crate::support::world::World;

const ADDRESS: &str = "reservations.cortex.cloud/api-address";
const CLIENTS: usize = 32;
const CLASSES: &str = "cortex_scheduler_api_request_duration_seconds_count";

/// Two replicas of which the first leads, two hosts, and a commitment with one slot on the second of them, so that only the slot
/// makes it the first of an answer.
async fn begin(uuid: &str) -> Replicas {
    let world = World::without_operator().await;
    world.create(&host("node2", 2)).await;
    let replicas = Replicas::two(world).await;
    replicas.world.create(&rejectable(uuid, 1)).await;
    replicas.world.accepted(uuid).await;
    replicas.world.create(&host("node1", 2)).await;
    for name in TWO {
        hosts_are_known_at(&replicas.world, api(&replicas, name)).await;
    }
    replicas
}

fn api(replicas: &Replicas, name: &str) -> SocketAddr {
    replicas.get(name).api()
}

async fn counted(replicas: &Replicas, name: &str, class: &str) -> u64 {
    http::sum(&replicas.get(name).metrics().await, CLASSES, &[&format!("error=\"{class}\"")])
}

async fn runs(replicas: &Replicas, name: &str) -> u64 {
    http::sum(&replicas.get(name).metrics().await, "cortex_filter_weigher_pipeline_requests_total", &[])
}

async fn published(replicas: &Replicas) -> Option<String> {
    let lease = replicas.leases.get(LEASE).await.unwrap();
    lease.metadata.annotations.unwrap_or_default().get(ADDRESS).cloned()
}

/// The host of the slot of the commitment, and the other one, as soon as both replicas prefer the first one.
async fn here_and_there(replicas: &Replicas) -> [String; 2] {
    let both = ["node2", "node1"].map(str::to_owned);
    for name in TWO {
        let prefers = async |replicas: &Replicas| answers_in_order(api(replicas, name), &both).await;
        replicas.until("the slot is preferred", prefers).await;
    }
    both
}

fn request(vm: &str) -> Value {
    wants(vm, &["node1", "node2"])
}

#[tokio::test]
async fn a_follower_answers_questions_itself_and_passes_requests_on_to_the_leader() {
    let replicas = begin("both-01").await;
    let [leader, follower] = TWO;
    assert_eq!(published(&replicas).await, Some(format!("http://{}", api(&replicas, leader))));
    let both = here_and_there(&replicas).await;

    let before = [runs(&replicas, leader).await, runs(&replicas, follower).await];
    assert_eq!(ask(api(&replicas, follower), &only_asks(request("vm-1"))).await, both);
    assert_eq!([runs(&replicas, leader).await, runs(&replicas, follower).await], [before[0], before[1] + 1]);

    assert_eq!(ask(api(&replicas, follower), &request("vm-1")).await, both);
    assert_eq!([runs(&replicas, leader).await, runs(&replicas, follower).await], [before[0] + 1, before[1] + 1]);
    booked(&replicas.world, "vm-1").await;
    assert_eq!(replicas.writers(), [leader], "the follower writes nothing");
    assert_eq!(replicas.changes_by(follower).iter().filter(|write| write.resource.starts_with("res")).count(), 0);

    // Capacity that one replica has given is not given again by another: capacity for three slots is left, and two are
    // requested here.
    for (name, vm) in [(follower, "vm-2"), (leader, "vm-3"), (follower, "vm-4")] {
        // Of a project of its own: the claims of one project take at most half of a zone.
        let request = of_project(request(vm), vm);
        assert_eq!(ask(api(&replicas, name), &request).await.len().min(1), 1, "{vm}");
    }
    for name in TWO {
        assert_eq!(ask(api(&replicas, name), &request("vm-5")).await, [""; 0], "{name}");
    }
    // Refusals of the leader are forwarded unchanged.
    let mut wrong = request("vm-6");
    wrong["pipeline"] = "kvm-nothing".into();
    let posted = post(api(&replicas, follower), &wrong).await;
    let text = "failed to process scheduling decision: pipeline not found or not ready: \"kvm-nothing\"\n";
    assert_eq!((posted.status, &*posted.body), (404, text), "{posted:?}");
    assert_eq!(counted(&replicas, follower, "answered by the leader").await, 1);

    starts(&replicas.world, "vm-1", &both[0]).await;
    replicas.end(leader).await;
}

#[tokio::test]
async fn after_the_death_of_the_leader_requests_are_put_off_until_the_next_one_leads() {
    let mut replicas = begin("next-1").await;
    let [old, new] = TWO;
    let both = here_and_there(&replicas).await;
    let follower = api(&replicas, new);
    assert_eq!(ask(follower, &request("vm-1")).await, both);
    booked(&replicas.world, "vm-1").await;
    starts(&replicas.world, "vm-1", &both[0]).await;

    replicas.kill(old);
    let posted = post(follower, &request("vm-2")).await;
    assert_eq!(posted.status, 503, "{posted:?}");
    assert!(posted.header("retry-after").is_some_and(|seconds| ["1", "2"].contains(&seconds)), "{posted:?}");
    assert!(posted.body.ends_with("try again\n"), "{posted:?}");
    assert_eq!(ask(follower, &only_asks(request("vm-2"))).await.len(), 2, "a request without a booking is answered");

    let answered = replicas
        .until("the next one decides", async |_| {
            let posted = post(follower, &request("vm-2")).await;
            so(posted.status == 503 || posted.status == 200, || format!("{posted:?}")).unwrap();
            so(posted.status == 200, || format!("{posted:?}")).map(|()| hosts(&posted.body))
        })
        .await;
    assert!(!answered.is_empty(), "{}", replicas.get(new).end_of_log());
    replicas.leader_is(new).await;
    assert_eq!(published(&replicas).await, Some(format!("http://{follower}")));
    starts(&replicas.world, "vm-2", &answered[0]).await;
    replicas.end(new).await;
}

#[tokio::test]
async fn the_next_leader_keeps_what_nova_was_promised() {
    let mut replicas = begin("kept-01").await;
    let [old, new] = TWO;
    let both = ["node1", "node2"];
    let unknown = |vm: &str| of_project(wants(vm, &both), vm);
    let mut given = Vec::new();
    for vm in ["vm-1", "vm-2", "vm-3"] {
        given.push((vm, ask(api(&replicas, new), &unknown(vm)).await[0].clone()));
    }
    replicas.kill(old);
    replicas.world.create(&rejectable("late-001", 1)).await;
    replicas.leader_is(new).await;
    let waits = "waiting until ";
    replicas.world.reported("late-001", "Reserving", waits).await;
    let answered = replicas
        .until("it decides", async |_| {
            let posted = post(api(&replicas, new), &unknown("vm-4")).await;
            so(posted.status == 200, || format!("{posted:?}")).map(|()| hosts(&posted.body))
        })
        .await;
    assert_eq!(answered, [""; 0], "three slots of four are promised, and one is taken");
    replicas.world.delete_commitment("late-001").await;
    for (vm, host) in given {
        starts(&replicas.world, vm, &host).await;
    }
    replicas.end(new).await;
}

/// Asks for the same VM again and again; returns how often.
async fn asks(at: SocketAddr, vm: String, stop: CancellationToken) -> u64 {
    let (request, mut answers) = (of_another_project(request(&vm)), 0);
    while !stop.is_cancelled() {
        let posted = post(at, &request).await;
        assert_eq!(posted.status, 200, "{posted:?}");
        answers += 1;
    }
    answers
}

#[tokio::test]
async fn restarts_of_the_leader_refuse_no_request_of_nova() {
    let mut replicas = begin("roll-01").await;
    let [mut leads, mut follows] = TWO;
    for restart in 0..repetitions("RESTARTS", 3) {
        let (mut clients, stop) = (JoinSet::new(), CancellationToken::new());
        for client in 0..CLIENTS {
            clients.spawn(asks(api(&replicas, follows), format!("vm-{restart}-{client}"), stop.clone()));
        }
        replicas.stop(leads).await;
        replicas.leader_is(follows).await;
        replicas.start(leads).await;
        sleep(Duration::from_secs(1)).await;
        stop.cancel();
        while let Some(answers) = clients.join_next().await {
            assert!(answers.unwrap() > 1);
        }
        (leads, follows) = (follows, leads);
    }
    replicas.end(leads).await;
}

/// A lease that another process holds, with or without its address.
fn held_by_another(address: Option<&str>) -> Value {
    json!({
        "metadata": { "name": LEASE, "annotations": address.map(|address| json!({ ADDRESS: address })) },
        "spec": {
            "holderIdentity": "somebody-else", "leaseDurationSeconds": 15, "leaseTransitions": 1,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": format!("{:.6}", Timestamp::now()),
        },
    })
}

#[tokio::test]
async fn a_replica_that_cannot_reach_a_leader_reports_it_and_never_asks_itself() {
    let world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    let mut replicas = Replicas::none(world).await;
    let lease: Lease = serde_json::from_value(held_by_another(None)).unwrap();
    replicas.put(&lease).await;
    let name = TWO[0];
    replicas.start(name).await;
    let at = api(&replicas, name);
    hosts_are_known_at(&replicas.world, at).await;
    let [nobody] = free_addresses();
    let (nobody, itself) = (format!("http://{nobody}"), format!("http://{at}"));
    for (address, text) in [
        (None, "no replica leads at the moment; try again"),
        (Some(nobody.as_str()), "the leader cannot be reached: "),
        (Some("file:///etc/passwd"), "the leader cannot be reached: "),
        (Some("http://"), "the leader cannot be reached: "),
        (Some("not an address"), "the leader cannot be reached: "),
        (Some(itself.as_str()), "this replica has lost the leadership; try again"),
    ] {
        let change = Patch::Merge(held_by_another(address));
        replicas.leases.patch(LEASE, &PatchParams::default(), &change).await.unwrap();
        replicas
            .until(&format!("with {address:?} the answer has {text:?}"), async |_| {
                let posted = post(at, &wants("vm-1", &["node1"])).await;
                assert_eq!(posted.status, 503, "{posted:?}");
                assert!(posted.header("retry-after").is_some(), "{posted:?}");
                so(posted.body.starts_with(text), || format!("{posted:?}"))
            })
            .await;
        assert_eq!(
            ask(at, &only_asks(wants("vm-1", &["node1"]))).await,
            ["node1"],
            "the follower answers requests without a booking"
        );
    }
    assert_eq!(replicas.get(name).probe("/readyz").await.map(|(status, _)| status), Some(200));
    let questions = runs(&replicas, name).await;
    assert!(questions < 20, "{questions} runs: the replica has asked itself");
    replicas.leader_is(name).await;
    // It gets the lease before it has read everything again.
    replicas
        .until("it decides", async |_| {
            let posted = post(at, &wants("vm-1", &["node1"])).await;
            so(posted.status == 200 && hosts(&posted.body) == ["node1"], || format!("{posted:?}"))
        })
        .await;
    starts(&replicas.world, "vm-1", "node1").await;
    replicas.end(name).await;
}
