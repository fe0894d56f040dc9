//! A real API server: the kinds Pipeline and History are installed while the process runs, and Pipeline is removed
//! again.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Cluster, ClusterMetrics, Events, ObjectKey, Reconciler as _, Routes, Store, Writer, feed_optional,
};
use berth_control_plane::ControlPlane;
use berth_core::ClusterName;
use berth_core::flavor::Flavor;
use berth_crds::{History, Pipeline, generate};
use berth_scheduler::{Answer, BuiltIn, Decision, Request, Settings, Shortage};
use berth_scheduler_api::Outcome;
use berth_scheduler_api::history::{Histories, HistoryMetrics, HistoryParts};
use berth_scheduler_api::pipelines::{Context, PipelineController, PipelineLoader};
use berth_telemetry::clock::{Clock, SystemClock};
use berth_telemetry::config::Pipelines as Mode;
use berth_telemetry::metrics::Metrics;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const LONG_ENOUGH: Duration = Duration::from_secs(90);

async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG_ENOUGH, waiting).await.unwrap_or_else(|_| panic!("{what}: not within {LONG_ENOUGH:?}"));
}

async fn install(control_plane: &ControlPlane, crds: Vec<CustomResourceDefinition>, name: &str) {
    let crd = crds.into_iter().find(|crd| crd.name_any() == name).unwrap();
    let crd = serde_json::to_string(&crd).unwrap();
    control_plane.run_kubectl(&["apply", "--server-side", "--filename=-"], Some(&crd)).await.unwrap();
    let wait = ["wait", "--for=condition=Established", &format!("crd/{name}"), "--timeout=60s"];
    control_plane.run_kubectl(&wait, None).await.unwrap();
}

async fn create(control_plane: &ControlPlane, name: &str, filter: &str) {
    let object = json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline", "metadata": { "name": name },
        "spec": { "schedulingDomain": "nova", "type": "filter-weigher", "filters": [{ "name": filter }] },
    });
    // For a moment after its CRD is established a kind may still be unknown.
    until("the pipeline is created", || async {
        control_plane.run_kubectl(&["apply", "--filename=-"], Some(&object.to_string())).await.is_ok()
    })
    .await;
}

async fn conditions(cluster: &Cluster, name: &str) -> Vec<String> {
    let object = Api::<Pipeline>::all(cluster.client.clone()).get(name).await.unwrap();
    let conditions = object.status.unwrap_or_default().conditions;
    conditions.iter().map(|one| format!("{} {}", one.type_, one.status)).collect()
}

fn outcome() -> Outcome {
    let flavor = Flavor { name: "f".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
    let request = Request { pipeline: "p".to_owned(), zone: "az-a".into(), ..Request::new("vm-1", flavor) };
    let removed = Shortage { hosts: 1, ..Shortage::default() };
    let decision = Decision { hosts: vec!["node1".into()], removed, ..Decision::default() };
    let answer = Answer { hosts: decision.hosts.clone(), decision, ..Answer::default() };
    let (request_id, global_request_id) = (String::new(), String::new());
    Outcome { request: Arc::new(request), request_id, global_request_id, result: Ok(Arc::new(answer)) }
}

#[tokio::test]
async fn pipelines_and_histories_on_a_real_api_server() {
    let control_plane = ControlPlane::start().await.unwrap();
    let cluster = Cluster::connect(Some(control_plane.kubeconfig()), "berth/test").await.unwrap();
    let metrics = Metrics::new(&[].into()).unwrap();
    let counted = ClusterMetrics::register(&metrics).unwrap();
    let (stop, clock): (_, Arc<dyn Clock>) = (CancellationToken::new(), Arc::new(SystemClock));

    let store = Store::<Pipeline>::new(&[]);
    let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
    let loader = PipelineLoader::new(&store, Mode::BuiltInAndCrd, scheduler);
    loader.register(&metrics).unwrap();
    tokio::spawn(feed_optional(store.clone(), cluster.clone(), stop.clone(), counted.stores.clone()));
    timeout(LONG_ENOUGH, loader.loaded()).await.unwrap();
    assert!(!store.is_served(&ClusterName::home()));

    install(&control_plane, generate::all(), "pipelines.cortex.cloud").await;
    create(&control_plane, "good", "filter_correct_az").await;
    create(&control_plane, "broken", "filter_external_customer").await;
    until("both are found", || async { store.len() == 2 }).await;
    let row = |name: &str, state: &str| {
        let row = format!("cortex_pipeline_state{{domain=\"nova\",pipeline=\"{name}\",state=\"{state}\"}} 1");
        metrics.render().contains(&row)
    };
    assert!(row("good", "ready") && row("broken", "unknown"));
    let controller = PipelineController::new(Context {
        pipelines: Writer::new(store.clone(), cluster.clone()),
        clock: clock.clone(),
    });
    for name in ["good", "broken"] {
        controller.reconcile(ObjectKey::new(ClusterName::home(), name)).await.unwrap();
    }
    assert_eq!(conditions(&cluster, "good").await, ["Ready True", "AllStepsReady True", "AllStepsIndexed True"]);
    assert_eq!(conditions(&cluster, "broken").await, ["Ready False", "AllStepsReady False"]);

    let (events, _) = Events::new(&cluster.clone().into(), None, counted.events, stop.clone());
    let parts = HistoryParts {
        writer: Writer::new(Store::new(&[]), cluster.clone()),
        routes: Routes::home_only(),
        reservations: Store::new(&[]),
        events,
        clock,
        metrics: HistoryMetrics::register(&metrics).unwrap(),
    };
    let (histories, work) = Histories::new(parts, stop.clone());
    tokio::spawn(work);
    let counts = |row: &'static str| metrics.render().contains(row);
    histories.take(&outcome());
    let row = "berth_histories_total{outcome=\"not_installed\"} 1";
    until("the kind is missed", || async { counts(row) }).await;
    install(&control_plane, generate::optional(), "histories.cortex.cloud").await;
    // The process asks again only after a minute, so the test asks.
    let api = Api::<History>::all(cluster.client.clone());
    let writer = Writer::new(Store::<History>::new(&[]), cluster.clone());
    let decided = berth_scheduler_api::history::decided(&outcome()).unwrap();
    let mut history = berth_scheduler_api::history::new("nova-vm-1", &decided);
    until("it is served", || async { writer.create(&ClusterName::home(), &history).await.is_ok() }).await;
    let stored = api.get("nova-vm-1").await.unwrap();
    history.clone_from(&stored);
    history.status = Some(berth_scheduler_api::history::next(&stored, &decided, SystemClock.now()));
    writer.patch_status(&ObjectKey::new(ClusterName::home(), "nova-vm-1"), &stored, &history).await.unwrap();
    assert_eq!(api.get("nova-vm-1").await.unwrap().status, history.status, "the API server has pruned nothing");

    control_plane.run_kubectl(&["delete", "crd", "pipelines.cortex.cloud"], None).await.unwrap();
    until("the kind is gone", || async { !store.is_served(&ClusterName::home()) && store.is_empty() }).await;
    stop.cancel();
}
