//! Real API servers: remotes that are reached with the credentials of home, and a CRD that is removed and installed.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use berth_cluster::{
    Cluster, ClusterHealth, ClusterMetrics, Clusters, Completeness, Need, Store, Verb, feed, watch_cluster_health,
};
use berth_control_plane::ControlPlane;
use berth_core::ClusterName;
use berth_crds::{Knowledge, generate};
use berth_telemetry::config::{ApiServers, Remote};
use berth_telemetry::metrics::Metrics;
use kube::ResourceExt;
use kube::core::crd::CustomResourceExt as _;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const LONG_ENOUGH: Duration = Duration::from_secs(90);

fn metrics() -> ClusterMetrics {
    ClusterMetrics::register(&Metrics::new(&BTreeMap::new()).unwrap()).unwrap()
}

async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG_ENOUGH, waiting).await.unwrap_or_else(|_| panic!("{what}: not within {LONG_ENOUGH:?}"));
}

fn remote(url: &str, ca_cert: Option<String>, insecure_skip_tls_verify: bool) -> Remote {
    Remote { host: url.to_owned(), ca_cert, insecure_skip_tls_verify, kinds: BTreeSet::new(), labels: BTreeMap::new() }
}

async fn clusters(account: &std::path::Path, remote: Remote) -> Clusters {
    let servers = ApiServers { home: None, remotes: vec![remote] };
    Cluster::connect_all(Some(account), "berth/test", &servers, None).await.unwrap()
}

#[tokio::test]
async fn a_remote_is_reached_with_the_account_of_home_and_its_own_root() {
    let home = ControlPlane::start().await.unwrap();
    let account = home.service_account("harbour", "pilot").await.unwrap();
    let other = ControlPlane::start_trusting(&[&account]).await.unwrap();
    let (url, root) = (other.url(), other.root_certificate().unwrap());
    let cluster_health = ClusterHealth::new(metrics().cluster_health);
    let needs = vec![Need::namespaced("", "v1", "configmaps", "default", &[Verb::Get])];

    // Without its own root certificate that of home counts, which has not signed it.
    let strange = clusters(&account, remote(url, None, false)).await;
    let problems = cluster_health.check(strange.remotes().next().unwrap(), &needs).await.unwrap_err();
    assert!(problems.len() == 1 && problems[0].to_string().contains("certificate"), "{problems:?}");
    let trusting = clusters(&account, remote(url, None, true)).await;
    trusting.remotes().next().unwrap().client.apiserver_version().await.unwrap();

    let all = clusters(&account, remote(url, Some(root), false)).await;
    let name = url.strip_prefix("https://").unwrap();
    let far = all.get(&name.into()).unwrap().clone();
    let stop = CancellationToken::new();
    let watching = tokio::spawn(watch_cluster_health(cluster_health.clone(), far.clone(), needs, stop.clone()));
    let denied = format!(
        "cluster {name}: we may not get configmaps in namespace default; grant it with a Role and a binding to our account"
    );
    until("the missing right is reported", || async { cluster_health.problems() == [denied.clone()] }).await;
    for grant in [
        ["create", "role", "pilot", "--verb=get", "--resource=configmaps"],
        ["create", "rolebinding", "pilot", "--role=pilot", "--serviceaccount=harbour:pilot"],
    ] {
        other.run_kubectl(&grant, None).await.unwrap();
    }
    until("the right is granted", || async { cluster_health.problems().is_empty() }).await;
    stop.cancel();
    watching.await.unwrap();
}

async fn install(control_plane: &ControlPlane) {
    let crd = generate::all().into_iter().find(|crd| crd.name_any() == Knowledge::crd_name()).unwrap();
    let crd = serde_json::to_string(&crd).unwrap();
    control_plane.run_kubectl(&["apply", "--server-side", "--filename=-"], Some(&crd)).await.unwrap();
    let name = format!("crd/{}", Knowledge::crd_name());
    control_plane.run_kubectl(&["wait", "--for=condition=Established", &name, "--timeout=60s"], None).await.unwrap();
}

async fn learn(control_plane: &ControlPlane, names: &[&str]) {
    for name in names {
        let knowledge = serde_json::json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge", "metadata": { "name": name },
            "spec": { "schedulingDomain": "nova", "extractor": { "name": "flavor_groups" } },
        });
        // For a moment after its CRD is established a kind may still be unknown.
        let created = async {
            while control_plane.run_kubectl(&["apply", "--filename=-"], Some(&knowledge.to_string())).await.is_err() {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(LONG_ENOUGH, created).await.unwrap();
    }
}

fn shown(store: &Store<Knowledge>) -> (Vec<String>, bool) {
    let names = store.all().iter().map(|entry| entry.key.name.to_string()).collect();
    (names, store.completeness(&ClusterName::home()) == Completeness::Complete)
}

#[tokio::test]
async fn a_crd_that_is_removed_and_installed_again_ends_with_what_the_server_has() {
    let control_plane = ControlPlane::start().await.unwrap();
    install(&control_plane).await;
    learn(&control_plane, &["a", "b"]).await;
    let cluster = Cluster::connect(Some(control_plane.kubeconfig()), "berth/test").await.unwrap();
    let (store, stop) = (Store::<Knowledge>::new(&[]), CancellationToken::new());
    let feeding = tokio::spawn(feed(store.clone(), cluster, stop.clone(), metrics().stores));
    let holds = |names: &'static [&'static str]| {
        let store = store.clone();
        move || {
            let expected = (names.iter().map(ToString::to_string).collect::<Vec<_>>(), true);
            let found = shown(&store);
            async move { found == expected }
        }
    };
    until("the first list", holds(&["a", "b"])).await;
    control_plane.run_kubectl(&["delete", "crd", Knowledge::crd_name()], None).await.unwrap();
    until("the kind is gone", || async { !shown(&store).1 }).await;
    install(&control_plane).await;
    learn(&control_plane, &["b", "c"]).await;
    until("what is there after the CRD is back", holds(&["b", "c"])).await;
    learn(&control_plane, &["d"]).await;
    until("the watch works", holds(&["b", "c", "d"])).await;
    stop.cancel();
    feeding.await.unwrap();
}
