//! Pipeline objects on a double of an API server: what is loaded when they, or their kind, appear and disappear, and
//! their conditions.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;

use berth_cluster::{Fence, Manager, Options, Queue, Requests, Store, Writer};
use berth_core::ClusterName;
use berth_crds::Pipeline;
use berth_scheduler::{BuiltIn, Request, SchedulerError, Settings};
use berth_scheduler_api::pipelines::{Context, PipelineController, PipelineLoader};
use berth_telemetry::config::Pipelines as Mode;
use berth_testkit::{Fault, Verb, path_of};
use serde_json::{Value, json};

use support::{Scene, until};

const GENERAL_PURPOSE: &str = "kvm-general-purpose-load-balancing";

/// A server, and a process that loads pipelines.
struct Process {
    scene: Scene,
    store: Store<Pipeline>,
    scheduler: Arc<BuiltIn>,
    loader: PipelineLoader,
}

impl Process {
    fn new(mode: Mode) -> Self {
        let (scene, store) = (Scene::new(), Store::new(&[]));
        let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
        let loader = PipelineLoader::new(&store, mode, scheduler.clone());
        Self { scene, store, scheduler, loader }
    }

    fn lead(&self, fence: Fence) {
        let writer = Writer::new(self.store.clone(), self.scene.cluster.clone()).fenced(fence);
        let controller =
            Arc::new(PipelineController::new(Context { pipelines: writer, clock: self.scene.clock.clone() }));
        let mut manager = Manager::new(self.scene.counted.controllers.clone(), Queue::Kube);
        manager.add(controller, Requests::closed(), Options::default());
        for (_, work) in manager.leader_work(&self.scene.stop) {
            tokio::spawn(work);
        }
    }

    fn create(&self, name: &str, filters: &[&str]) {
        self.scene.server.create(&pipeline(name, filters)).unwrap();
    }

    fn knows(&self, name: &str) -> bool {
        let flavor = berth_core::testing::amber().flavors[0].clone();
        let request = Request { pipeline: name.to_owned(), ..Request::new("vm", flavor) };
        !matches!(self.scheduler.run(&request), Err(SchedulerError::Pipeline(_)))
    }

    fn conditions(&self, name: &str) -> Vec<String> {
        let object: Pipeline = self.scene.server.get(name).unwrap();
        let conditions = object.status.unwrap_or_default().conditions;
        conditions.iter().map(|one| format!("{} {} {:?}", one.type_, one.reason, one.observed_generation)).collect()
    }
}

fn pipeline(name: &str, filters: &[&str]) -> Pipeline {
    let filters: Value = filters.iter().map(|name| json!({ "name": name })).collect();
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline", "metadata": { "name": name },
        "spec": { "schedulingDomain": "nova", "type": "filter-weigher", "filters": filters },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn conditions_follow_the_object_and_are_written_once() {
    let process = Process::new(Mode::BuiltInAndCrd);
    process.lead(Fence::open());
    process.create("mine", &["filter_correct_az", "filter_quota_enforcement"]);
    process.scene.synced(&process.store).await;
    process.loader.loaded().await;
    assert!(process.knows("mine") && process.knows(GENERAL_PURPOSE));
    let reported = ["Ready PipelineReady Some(1)", "AllStepsReady AllStepsReady Some(1)"];
    let reported = [&reported[..], &["AllStepsIndexed AllStepsIndexed Some(1)"]].concat();
    until("the conditions are written", || async { process.conditions("mine") == reported }).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let writes = process.scene.server.take_log();
    assert_eq!(writes, ["status pipelines/mine"], "the watch event of its own write changes nothing");

    let broken = json!({ "spec": { "filters": [{ "name": "filter_external_customer" }] } });
    process.scene.server.edit::<Pipeline>("mine", &broken).unwrap();
    let reported = ["Ready PipelineInitFailed Some(2)", "AllStepsReady PipelineInitFailed Some(2)"];
    let reported = [&reported[..], &["AllStepsIndexed AllStepsIndexed Some(1)"]].concat();
    until("the conditions are written", || async { process.conditions("mine") == reported }).await;
    assert!(process.knows("mine"), "its previous version");

    process.scene.server.edit::<Pipeline>("mine", &json!({ "spec": { "type": "detector" } })).unwrap();
    until("its conditions are gone", || async { process.conditions("mine").is_empty() }).await;
    process.scene.server.delete::<Pipeline>("mine").unwrap();
    until("it is gone", || async { process.store.is_empty() }).await;
    assert!(!process.knows("mine"));
}

/// The account of the operator may list and watch Pipelines, but not get them.
#[tokio::test(start_paused = true)]
async fn conditions_whose_write_has_no_answer_are_written_without_a_read() {
    for fault in [Fault::LoseAnswer, Fault::CutBefore, Fault::Hang] {
        let process = Process::new(Mode::BuiltInAndCrd);
        process.lead(Fence::open());
        process.scene.server.fail(Verb::PatchStatus, &path_of::<Pipeline>("mine"), 1, fault);
        process.scene.server.fail_always(Verb::Get, &path_of::<Pipeline>("mine"), Fault::Forbidden);
        process.create("mine", &["filter_correct_az"]);
        process.scene.synced(&process.store).await;
        until("the conditions are written", || async { process.conditions("mine").len() == 3 }).await;
        tokio::time::sleep(std::time::Duration::from_secs(120)).await;
        assert_eq!(process.store.doubts(), [], "{fault:?}");
        let calls = process.scene.server.calls();
        assert!(!calls.iter().any(|call| call.contains(" get ") && call.contains("pipelines/mine")), "{calls:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_reported_and_stays_in_use_as_it_was() {
    let process = Process::new(Mode::BuiltInAndCrd);
    process.lead(Fence::open());
    process.create("mine", &["filter_correct_az"]);
    process.scene.synced(&process.store).await;
    until("it is in use", || async { process.conditions("mine").len() == 3 }).await;
    let unreadable = json!({ "spec": { "filters": [{ "name": 7 }] } });
    process.scene.server.edit_raw(&path_of::<Pipeline>(""), "mine", &unreadable).unwrap();
    let reported = || async {
        let object = process.scene.server.get_raw(&path_of::<Pipeline>(""), "mine").unwrap();
        let message = object["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned();
        message.starts_with("the object cannot be read, correct it: ")
    };
    until("the condition is written", reported).await;
    assert!(process.knows("mine"));
    process.scene.server.take_log();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(process.scene.server.take_log().is_empty(), "once");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_loads_pipelines_and_writes_nothing() {
    let process = Process::new(Mode::BuiltInAndCrd);
    process.create("mine", &["filter_correct_az"]);
    process.scene.synced(&process.store).await;
    assert!(process.knows("mine"));
    assert!(process.conditions("mine").is_empty() && process.scene.server.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_kind_comes_and_goes_without_a_restart() {
    let process = Process::new(Mode::BuiltInAndCrd);
    process.scene.server.remove_kind::<Pipeline>();
    process.scene.follow(&process.store);
    process.loader.loaded().await;
    assert!(!process.store.is_served(&ClusterName::home()) && process.knows(GENERAL_PURPOSE));

    assert!(process.scene.server.install_kind::<Pipeline>());
    process.create("mine", &["filter_correct_az"]);
    process.create(GENERAL_PURPOSE, &["filter_external_customer"]);
    until("they are found", || async { process.knows("mine") && !process.knows(GENERAL_PURPOSE) }).await;

    process.scene.server.remove_kind::<Pipeline>();
    until("they are gone", || async { !process.knows("mine") && process.knows(GENERAL_PURPOSE) }).await;
    assert_eq!(process.loader.problem(), None);
}
