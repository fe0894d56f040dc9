//! Faults of an election: missing rights, and a lease that a process of another program holds. Runs the real binary on
//! a real API server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::http;
use crate::support::objects::{host, non_rejectable};
use crate::support::operator::Operator;
use crate::support::replicas::{LEASE, Replicas, TWO};
use crate::support::waiting::so;
use crate::support::world::World;

/// An account with all rights except those on leases.
async fn account_without_leases(world: &mut World) -> PathBuf {
    let account = world.control_plane().service_account("harbour", "berth").await.unwrap();
    let role = ["--clusterrole=berth", "--serviceaccount=harbour:berth"];
    world.kubectl(&["create", "clusterrolebinding", "harbour", role[0], role[1]]).await;
    let events = ["--role=berth-events", role[1], "--namespace=default"];
    world.kubectl(&["create", "rolebinding", "harbour", events[0], events[1], events[2]]).await;
    account
}

/// The authorizer watches roles, and sees them a moment after they are written.
async fn until_granted(world: &World, account: &str) {
    for [verb, resource] in [["delete", "reservations.cortex.cloud"], ["create", "events.events.k8s.io"]] {
        world
            .until_reported(resource, async |world, _| {
                let question = ["auth", "can-i", verb, resource, "--namespace=default", "--kubeconfig", account];
                let answer = world.try_kubectl(&question).await;
                so(answer.as_deref() == Ok("yes\n"), || format!("{answer:?}"))
            })
            .await;
    }
}

#[tokio::test]
async fn without_rights_on_leases_and_config_maps_it_ends_with_lines_that_report_what_to_grant() {
    let mut world = World::without_operator().await;
    let account = account_without_leases(&mut world).await;
    until_granted(&world, account.to_str().unwrap()).await;
    let config = account.with_file_name("empty.json");
    std::fs::write(&config, "{}").unwrap();
    let operator = Operator::start_as("no-lease", world.control_plane(), &account, &config, &["--leader-elect"]).await;
    let (code, log) = operator.ended().await;
    let reported: Vec<_> = log.lines().filter(|line| line.starts_with("berth: ")).collect();
    let texts = [
        "create configmaps",
        "get, create, update leases.coordination.k8s.io",
        "get, list, watch, update configmaps named berth-liquid-info",
        "get, update configmaps named berth-claims",
    ]
    .map(|right| {
        let grant = "grant it with a Role and a binding to our account";
        format!("berth: cluster home: we may not {right} in namespace harbour; {grant}")
    });
    assert_eq!((code, reported), (Some(1), texts.iter().map(String::as_str).collect()), "{log}");
}

/// A lease as client-go writes it, with a label of a user.
fn of_the_reference() -> Lease {
    let lease = json!({
        "metadata": { "name": LEASE, "labels": { "keep": "me" } },
        "spec": {
            "holderIdentity": "cortex-7d4b9c_0a1b2c3d", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        },
    });
    serde_json::from_value(lease).unwrap()
}

async fn renew(replicas: &Replicas) {
    let change = json!({ "spec": { "renewTime": "2026-01-01T00:00:02.000000Z" } });
    replicas.leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

/// Waits until leases have been read this many times from now on.
async fn until_read(replicas: &Replicas, times: u64) {
    let reads = async || {
        let text = replicas.world.kubectl(&["get", "--raw", "/metrics"]).await;
        http::sum(&text, "apiserver_request_total", &["resource=\"leases\"", "verb=\"GET\""])
    };
    let before = reads().await;
    replicas
        .until("the lease is read", async |_| {
            let more = reads().await - before;
            so(more >= times, || format!("{more} reads"))
        })
        .await;
}

/// The lease is the reference's, so that each of the two programs can replace the other.
#[tokio::test]
async fn a_lease_of_the_reference_is_respected_until_it_is_not_renewed() {
    let world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("waits-1", 4)).await;
    let mut replicas = Replicas::none(world).await;
    replicas.put(&of_the_reference()).await;
    let name = TWO[0];
    replicas.start(name).await;
    replicas
        .until("it names the holder", async |replicas| {
            let log = replicas.get(name).log();
            let line = log.lines().find(|line| line.contains("waiting for the lease of another process"));
            so(line.is_some_and(|line| line.contains("cortex-7d4b9c_0a1b2c3d")), || log.clone())
        })
        .await;
    until_read(&replicas, 2).await;
    let renewed = Instant::now();
    renew(&replicas).await;
    assert_eq!((replicas.leaders().await, replicas.writers()), (vec![], vec![]));
    replicas.leader_is(name).await;
    let took = renewed.elapsed();
    let lease = Duration::from_secs(15);
    assert!(took >= lease && took < lease + Duration::from_secs(5), "{took:?} after the last renewal");

    let after = serde_json::to_value(replicas.leases.get(LEASE).await.unwrap()).unwrap();
    let spec = &after["spec"];
    assert_eq!((&spec["leaseTransitions"], &after["metadata"]["labels"]["keep"]), (&json!(4), &json!("me")));
    assert_ne!(spec["holderIdentity"], Value::from("cortex-7d4b9c_0a1b2c3d"));
    replicas.world.accepted("waits-1").await;
    let leases = replicas.leases.clone();
    replicas.end(name).await;
    let free = serde_json::to_value(leases.get(LEASE).await.unwrap()).unwrap();
    assert_eq!(free["spec"]["holderIdentity"], "", "the lease was released");
}
