//! The election, and writes behind its fence, against a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Candidate, Cluster, ClusterMetrics, Election, Ended, Leadership};
use berth_control_plane::ControlPlane;
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::Metrics;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

fn replica(cluster: &Cluster, identity: &str) -> (Leadership, JoinHandle<Ended>) {
    let metrics = ClusterMetrics::register(&Metrics::new(&BTreeMap::new()).unwrap()).unwrap().lease;
    let [namespace, name, identity] = ["default", "berth", identity].map(str::to_owned);
    let address = Some(format!("http://{identity}:8080"));
    let candidate = Candidate { namespace, name, identity, address, clock: Arc::new(SystemClock), metrics };
    let (leadership, work) = Election::new(cluster, candidate);
    (leadership, tokio::spawn(work))
}

async fn acquired(leadership: &Leadership) {
    timeout(Duration::from_secs(20), leadership.acquired()).await.unwrap();
}

async fn spec(cluster: &Cluster) -> LeaseSpec {
    let api: Api<Lease> = Api::namespaced(cluster.client.clone(), "default");
    api.get("berth").await.unwrap().spec.unwrap()
}

/// The lease once it was renewed after `before`.
async fn renewed(cluster: &Cluster, before: &LeaseSpec) -> LeaseSpec {
    let poll = async {
        loop {
            let now = spec(cluster).await;
            if now.renew_time > before.renew_time {
                return now;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(10), poll).await.unwrap()
}

#[tokio::test]
async fn two_replicas_take_turns() {
    let control_plane = ControlPlane::start().await.unwrap();
    let cluster = Cluster::connect(Some(control_plane.kubeconfig()), "berth/test").await.unwrap();
    let (first, first_work) = replica(&cluster, "first");
    acquired(&first).await;
    let (second, second_work) = replica(&cluster, "second");
    // Two renewals, of which the second relies on the answer to the first.
    let started = spec(&cluster).await;
    let once = renewed(&cluster, &started).await;
    let twice = renewed(&cluster, &once).await;
    assert_eq!((twice.acquire_time, twice.lease_transitions), (started.acquire_time, Some(0)));
    assert_eq!((second.is_leader(), second.holder().as_deref()), (false, Some("first")));
    assert_eq!(second.leader(), first.leader());
    assert_eq!(first.leader().unwrap().address.as_deref(), Some("http://first:8080"));
    assert!(first.fence().check().is_ok() && second.fence().check().is_err());

    first.release().await;
    assert_eq!(first_work.await.unwrap(), Ended::Released);
    acquired(&second).await;
    let now = spec(&cluster).await;
    assert_eq!((now.holder_identity.as_deref(), now.lease_transitions), (Some("second"), Some(1)));
    assert_eq!(second.leader().unwrap().address.as_deref(), Some("http://second:8080"));
    assert_eq!((now.lease_duration_seconds, first.fence().check().is_err()), (Some(15), true));
    second_work.abort();
}
