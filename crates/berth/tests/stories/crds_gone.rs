//! CRDs that are removed and installed again while the operator runs. Runs the real binary on a real API server.

use std::time::Duration;

use berth_crds::{CommittedResource, names};
use kube::ResourceExt;
use tokio::time::sleep;

use crate::support::http;
use crate::support::objects::{host, non_rejectable};
use crate::support::seen::{Seen, ready};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const RESERVATIONS: &str = "reservations.cortex.cloud";
const HYPERVISORS: &str = "hypervisors.kvm.cloud.sap";
const COMMITMENTS: &str = "committedresources.cortex.cloud";
const KNOWLEDGES: &str = "knowledges.cortex.cloud";
const CAPACITIES: &str = "flavorgroupcapacities.cortex.cloud";
const CHANGES: &str = "commitmentchanges.cortex.cloud";

/// How long a CRD is away: long enough to see repeated attempts.
const AWAY: Duration = Duration::from_secs(8);

async fn remove(world: &World, crds: &[&str]) {
    world.kubectl(&[&["delete", "crd", "--timeout=30s"], crds].concat()).await;
}

/// A missing CRD causes only a few log lines, and ever rarer reconciliations.
fn it_is_reported_by_a_few_lines(world: &World, kinds: &[&str]) {
    let log = world.operator().log();
    for kind in kinds {
        let reported = log.lines().filter(|line| {
            line.contains("watch failed") && line.contains(kind) && line.contains("(404): install its CRD")
        });
        assert_eq!(reported.count(), 1, "{kind}:\n{log}");
    }
    let warnings = log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).count();
    assert!(warnings <= 14, "{warnings} warnings:\n{log}");
}

/// While the CRDs are missing, the operator hardly does anything.
async fn little_happens(world: &World) {
    let done = async || {
        let metrics = world.operator().metrics().await;
        ["berth_controller_runs_total", "berth_watch_failures_total", "berth_writes_total"]
            .map(|name| http::sum(&metrics, name, &[]))
    };
    let before = done().await;
    sleep(AWAY).await;
    let after = done().await;
    let [reconciliations, tries, writes] = [0, 1, 2].map(|at| after[at] - before[at]);
    let little = reconciliations <= 20 && tries <= 24 && writes <= 8;
    assert!(little, "{reconciliations} reconciliations, {tries} tries, {writes} writes:\n{}", world.operator().log());
}

async fn held(world: &World, uuids: &[&str]) -> Seen {
    for uuid in uuids {
        world.create(&non_rejectable(uuid, 2)).await;
        world.accepted(uuid).await;
    }
    world.rest().await
}

#[tokio::test]
async fn slots_are_made_anew_when_their_kind_comes_back() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    held(&world, &["first-1", "second-1"]).await;
    remove(&world, &[RESERVATIONS]).await;
    world.until_metric("berth_store_complete", &["kind=\"Reservation\""], 0).await;
    little_happens(&world).await;
    world.install_all().await;
    world.until_metric("berth_store_complete", &["kind=\"Reservation\""], 1).await;
    for uuid in ["first-1", "second-1"] {
        assert_eq!(world.accepted(uuid).await.hosts_of(uuid), ["node1", "node1"]);
    }
    it_is_reported_by_a_few_lines(&world, &["Reservation"]);
    world.end().await;
}

#[tokio::test]
async fn slots_stay_where_they_are_when_the_kind_of_hosts_goes_and_comes_back() {
    let mut world = World::without_operator().await;
    // Far longer than the API server needs to report that the kind is gone.
    world.use_grace(Duration::from_secs(30));
    world.start().await;
    let hosts = [host("node1", 2), host("node2", 2)];
    for host in &hosts {
        world.create(host).await;
    }
    let before = held(&world, &["first-1", "second-1"]).await;
    remove(&world, &[HYPERVISORS]).await;
    world.until_metric("berth_store_complete", &["kind=\"Hypervisor\""], 0).await;
    little_happens(&world).await;
    // A new commitment has to wait now.
    world.create(&non_rejectable("newest-1", 1)).await;
    let unknown = "Hypervisor objects of cluster home are not completely known: its watch fails: ";
    let commitments = world.api::<CommittedResource>();
    let reported = until(async || {
        let commitment = commitments.get(&names::commitment("newest-1")).await.map_err(|error| error.to_string())?;
        let reported =
            ready(&commitment).map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        so(reported.starts_with(&format!("Reserving: {unknown}")), || reported)
    });
    reported.await.unwrap();
    world.install_all().await;
    for host in &hosts {
        world.create(host).await;
    }
    world.until_metric("berth_store_complete", &["kind=\"Hypervisor\""], 1).await;
    for uuid in ["first-1", "second-1"] {
        let seen = world.accepted(uuid).await;
        assert_eq!(seen.hosts_of(uuid), before.hosts_of(uuid));
    }
    for slot in before.slots() {
        let now = world.now().await;
        let same = now
            .slot(&slot.name_any())
            .is_some_and(|now| now.metadata.resource_version == slot.metadata.resource_version);
        assert!(same, "{} was written\n{now}", slot.name_any());
    }
    world.delete_commitment("newest-1").await;
    world.until("it has gone", |seen| so(seen.commitment("newest-1").is_none(), || "not yet".to_owned())).await;
    it_is_reported_by_a_few_lines(&world, &["Hypervisor"]);
    world.end().await;
}

#[tokio::test]
async fn everything_goes_and_comes_back() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    held(&world, &["first-1"]).await;
    let all = [COMMITMENTS, RESERVATIONS, HYPERVISORS, KNOWLEDGES, CAPACITIES, CHANGES];
    world.kubectl(&[&["delete", "crd", "--wait=false"], &all[..]].concat()).await;
    let gone = until(async || {
        let left = world.kubectl(&["get", "crd", "--output=name"]).await;
        so(!all.iter().any(|crd| left.contains(crd)), || left)
    });
    gone.await.unwrap();
    // The stores of pipelines, quotas and datasources, which are not needed, are still there.
    world.until_metric("berth_store_complete", &[], 3).await;
    little_happens(&world).await;
    world.install_all().await;
    world.until_metric("berth_store_complete", &[], 9).await;
    assert_eq!(world.now().await.versions().len(), 0, "{}", world.report().await);
    world.publish_usual_flavor_groups().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("first-1", 2)).await;
    world.accepted("first-1").await;
    let kinds =
        ["Reservation", "Hypervisor", "Knowledge", "CommittedResource", "FlavorGroupCapacity", "CommitmentChange"];
    it_is_reported_by_a_few_lines(&world, &kinds);
    world.end().await;
}
