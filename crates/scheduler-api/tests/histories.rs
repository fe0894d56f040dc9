//! Histories on a double of an API server: what is written where the kind is installed, and which events are sent where
//! it is not.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Fence, Routes, Store, Writer};
use berth_core::flavor::Flavor;
use berth_core::{Resources, SlotKey};
use berth_crds::testing::slot;
use berth_crds::{History, Reservation};
use berth_scheduler::{Answer, Booking, Decision, Request, SchedulerError, Shortage};
use berth_scheduler_api::Outcome;
use berth_scheduler_api::history::{Histories, HistoryMetrics, HistoryParts};
use berth_testkit::{Fault, Verb, path_of};
use kube::ResourceExt;

use support::{Scene, until};

const VM: &str = "11111111-2222-3333-4444-555555555555";
const NAME: &str = "nova-11111111-2222-3333-4444-555555555555";

struct Process {
    scene: Scene,
    histories: Histories,
    reservations: Store<Reservation>,
}

async fn begin(installed: bool) -> Process {
    let scene = Scene::new();
    if installed {
        assert!(scene.server.install_kind::<History>());
    }
    scene.server.create(&slot("uuid-1", 1)).unwrap();
    let reservations = Store::new(&[]);
    scene.synced(&reservations).await;
    let writer = Writer::new(Store::new(&[]), scene.cluster.clone()).fenced(Fence::open());
    let parts = HistoryParts {
        writer,
        routes: Routes::home_only(),
        reservations: reservations.clone(),
        events: scene.events(),
        clock: scene.clock.clone(),
        metrics: HistoryMetrics::register(&scene.metrics).unwrap(),
    };
    let (histories, work) = Histories::new(parts, scene.stop.clone());
    tokio::spawn(work);
    Process { scene, histories, reservations }
}

impl Process {
    async fn counts(&self, outcome: &str, number: u32) {
        self.scene.counts(&format!("berth_histories_total{{outcome=\"{outcome}\"}} {number}")).await;
    }

    fn status(&self) -> berth_crds::HistoryStatus {
        self.scene.server.get::<History>(NAME).unwrap().status.unwrap()
    }

    /// The events about an object, as `type reason action`, and the notes.
    fn events(&self, kind: &str) -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.scene.server.all_raw("/apis/events.k8s.io/v1/events");
        let about = all.iter().filter(|event| event["regarding"]["kind"] == kind);
        about
            .map(|event| {
                let words = ["type", "reason", "action"].map(|key| text(&event[key]));
                (words.join(" "), text(&event["note"]))
            })
            .collect()
    }
}

fn outcome(vm: &str, hosts: &[&str], booked: bool) -> Outcome {
    let flavor = Flavor { name: "f".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
    let request = Request { pipeline: "p".to_owned(), zone: "az-a".into(), ..Request::new(vm, flavor) };
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).into()).collect();
    let removed = Shortage { hosts: hosts.len(), ..Shortage::default() };
    let slot = SlotKey::new("home".into(), slot("uuid-1", 1).name_any().as_str());
    let booking = Booking { vm: vm.into(), size: Resources::default(), slot, leaves: Vec::new() };
    let answer = Answer {
        hosts: hosts.clone(),
        decision: Decision { hosts, removed, ..Decision::default() },
        booking: booked.then_some(booking),
        ..Answer::default()
    };
    Outcome {
        request: Arc::new(request),
        request_id: "req".to_owned(),
        global_request_id: String::new(),
        result: Ok(Arc::new(answer)),
    }
}

#[tokio::test(start_paused = true)]
async fn history_is_created_and_then_continued() {
    let process = begin(true).await;
    process.histories.take(&outcome(VM, &["a", "b"], true));
    process.counts("written", 1).await;
    let history: History = process.scene.server.get(NAME).unwrap();
    assert_eq!((history.spec.scheduling_domain.as_str(), history.spec.resource_id.as_str()), ("nova", VM));
    assert_eq!(process.status().current.unwrap().target_host.as_deref(), Some("a"));
    assert!(process.status().history.is_empty());

    process.histories.take(&outcome(VM, &[], false));
    process.counts("written", 2).await;
    let status = process.status();
    assert_eq!((status.history.len(), status.current.unwrap().successful), (1, false));
    assert_eq!(status.history[0].ordered_hosts, ["a", "b"]);
    until("there are both events", || async { process.events("History").len() == 2 }).await;
    let events = process.events("History");
    let words: Vec<_> = events.iter().map(|(words, _)| words.as_str()).collect();
    assert_eq!(words, ["Normal SchedulingSucceeded Scheduled", "Warning SchedulingFailed FailedScheduling"]);
    assert!(events[0].1.ends_with("Selected host: a."), "{events:?}");
    assert!(process.events("Reservation").is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_the_kind_the_slot_gets_an_event_and_the_kind_is_rarely_asked_for() {
    let process = begin(false).await;
    assert_eq!(process.reservations.len(), 1);
    process.histories.take(&outcome(VM, &["a"], true));
    process.histories.take(&outcome("other", &["a"], false));
    process.counts("not_installed", 2).await;
    until("there is an event of the slot", || async { process.events("Reservation").len() == 1 }).await;
    let (words, note) = process.events("Reservation").remove(0);
    assert_eq!(words, "Normal SchedulingSucceeded Scheduled");
    assert!(note.starts_with(&format!("VM {VM} is expected in this slot.\n\nStarted with 1 host(s).")), "{note}");
    let asked = process.scene.server.calls().iter().filter(|call| call.contains("histories")).count();
    assert_eq!(asked, 1, "until a minute is over");

    process.scene.server.install_kind::<History>();
    tokio::time::sleep(Duration::from_secs(61)).await;
    process.histories.take(&outcome(VM, &["a"], true));
    process.counts("written", 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_named_or_written_is_counted_and_stops_nothing() {
    let process = begin(true).await;
    process.histories.take(&outcome("Not a name", &["a"], false));
    process.counts("no_name", 1).await;
    let path = path_of::<History>(NAME);
    process.scene.server.fail(Verb::Get, &path, 1, Fault::Forbidden);
    process.histories.take(&outcome(VM, &["a"], false));
    process.counts("failed", 1).await;
    process.scene.server.fail(Verb::PatchStatus, &path, 1, Fault::Conflict);
    process.histories.take(&outcome(VM, &["a"], false));
    process.counts("written", 1).await;
    let mut failed = outcome(VM, &[], false);
    failed.result = Err(SchedulerError::Pipeline("p".to_owned()));
    process.histories.take(&failed);
    process.scene.server.fail_always(Verb::Get, &path, Fault::Hang);
    process.histories.take(&outcome(VM, &["a"], false));
    for number in 0..1100 {
        process.histories.take(&outcome(&format!("vm-{number}"), &["a"], false));
    }
    assert!(process.scene.metrics.render().contains("berth_histories_total{outcome=\"queue_full\"}"));
}
