//! A run over many projects and commitments: it writes nothing if nothing has changed, and its cost grows with their number.

use std::time::Duration;

use tokio::time::Instant;

use crate::support::limes::listed;
use crate::support::{HOUR, Process, Stage};

const PROJECTS: usize = 1000;
const COMMITMENTS: usize = 4;

#[tokio::test(start_paused = true)]
async fn a_run_that_creates_many_commitments_publishes_a_hundred_events() {
    let stage = Stage::new(1);
    stage.limes.set("p-0", (0..150).map(|number| listed(&format!("c-{number:05}"), 32)).collect());
    let mut process = Process::start(&stage);
    process.sync_in_order().await;
    assert_eq!(stage.server.all::<berth_crds::CommittedResource>().unwrap().len(), 150);
    let events = stage.server.published_events().await;
    assert_eq!(events.iter().filter(|event| event.starts_with("Normal SyncedFromLimes")).count(), 100);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_unchanged_commitments_are_not_written() {
    let stage = Stage::new(PROJECTS);
    stage.limes.set_latency(Duration::from_millis(700));
    for project in 0..PROJECTS {
        let uuids = (0..COMMITMENTS).map(|number| format!("c-{project:05}-{number}"));
        stage.limes.set(&format!("p-{project}"), uuids.map(|uuid| listed(&uuid, 32)).collect());
    }
    let mut process = Process::start(&stage);
    process.sync_in_order().await;
    let created = PROJECTS * COMMITMENTS;
    assert_eq!(stage.server.all::<berth_crds::CommittedResource>().unwrap().len(), created);
    process.wait(HOUR).await;
    stage.take_writes();
    stage.limes.take_requests();
    let (began, real) = (Instant::now(), std::time::Instant::now());
    process.sync_in_order().await;
    println!("{created} commitments of {PROJECTS} projects: {:?} of the machine", real.elapsed());
    assert_eq!(stage.take_writes(), [""; 0]);
    let requests = stage.limes.take_requests();
    assert_eq!(requests.len(), PROJECTS + 1);
    let seconds = requests.iter().map(|(_, at)| (*at - began).as_secs()).fold(vec![0; 60], |mut counts, second| {
        counts[usize::try_from(second).unwrap()] += 1;
        counts
    });
    assert!(seconds.iter().all(|count| *count <= 22), "20 in a second, a tenth more or less: {seconds:?}");
    assert!(stage.limes.most_under_way() <= 16);
}
