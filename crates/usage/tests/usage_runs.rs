//! Single runs: what they write, what they count, and what they wait for.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use berth_core::testing::at;
use berth_crds::{CommittedResource, ResourceType, testing};
use berth_testkit::{Fault, Verb, path_of, seeds};
use serde_json::json;
use tokio::time::Instant;

use support::{HOUR, MINUTE, NODE1, NODE2, PERIOD, Process, Stage, with_project, with_zone};

const ASSIGNED: &str = "cortex_committed_resource_usage_assigned_vms_total";
const DURATION: &str = "cortex_committed_resource_usage_reconcile_duration_seconds_count";
const AGE: &str = "cortex_committed_resource_usage_status_age_seconds";

fn series(process: &Process, name: &str) -> Vec<String> {
    process.metrics.render().lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
}

fn written(stage: &Stage) -> Vec<String> {
    let names = stage.take_writes().into_iter().map(|line| {
        let from = line.find("commitment-").unwrap_or_else(|| panic!("{line}"));
        line[from..].split(['/', ' ']).next().unwrap().to_owned()
    });
    names.collect()
}

/// Commitments in both zones, and a second project with a VM.
fn two_projects() -> Stage {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 1);
    stage.commit(&with_zone(seeds::waiting_commitment("uuid-2", 1), seeds::OTHER_ZONE));
    stage.commit(&with_project(seeds::waiting_commitment("uuid-3", 1), "p-2"));
    stage.insert_row("vm-1", testing::FLAVOR, NODE1, 1);
    stage.insert_row("vm-2", testing::FLAVOR, NODE1, 2);
    stage.edit_row("vm-2", |row| row.project = "p-2".into());
    stage.run_on(NODE1, &["vm-1", "vm-2"]);
    stage
}

#[tokio::test(start_paused = true)]
async fn when_a_vm_moves_only_the_commitments_of_its_project_are_written_and_within_a_second() {
    let stage = two_projects();
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    assert_eq!(stage.vms("uuid-3"), ["vm-2"]);
    stage.take_writes();
    let moved = Instant::now();
    stage.run_on(NODE2, &["vm-1"]);
    stage.run_on(NODE1, &["vm-2"]);
    process.driver.settle().await;
    assert!(moved.elapsed() < Duration::from_secs(1));
    assert_eq!(stage.vms("uuid-2"), ["vm-1"]);
    assert_eq!(written(&stage), ["commitment-uuid-1", "commitment-uuid-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_changes_otherwise_leads_to_no_run() {
    let stage = two_projects();
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    let patch = json!({ "status": { "numInstances": 7, "instances": [
        { "id": "vm-2", "name": "renamed", "active": true }, { "id": "vm-1", "name": "vm-1", "active": true }] } });
    stage.server.edit_status::<berth_crds::Hypervisor>(NODE1, &patch).unwrap();
    process.world.deliver().unwrap();
    assert!(process.driver.requests.is_empty());
}

/// There is no cool-down: the second change is shown as soon as the first.
#[tokio::test(start_paused = true)]
async fn a_change_is_computed_at_once_however_recent_the_last_run_was() {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 2);
    let mut process = Process::start(&stage, 0);
    process.driver.wait(MINUTE).await;
    stage.start_vm("vm-1", testing::FLAVOR, 0);
    process.publish();
    process.driver.wait(Duration::from_millis(900)).await;
    assert_eq!(stage.usage("uuid-1").1, "480Gi");
    stage.edit_spec("uuid-1", &json!({ "amount": "240Gi" }));
    stage.accept("uuid-1");
    process.driver.wait(Duration::from_millis(900)).await;
    assert_eq!(stage.usage("uuid-1").1, "0");
}

#[tokio::test(start_paused = true)]
async fn without_a_change_each_commitment_is_written_at_most_once_an_hour() {
    let stage = two_projects();
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    stage.take_writes();
    for _ in 0..4 {
        process.driver.wait(HOUR).await;
        process.publish();
        let mut names = written(&stage);
        names.sort();
        assert_eq!(names, ["commitment-uuid-1", "commitment-uuid-2", "commitment-uuid-3"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_commitment_of_cores_shows_the_cores_of_vms_that_count_in_memory_as_well() {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 1);
    let mut cores = seeds::waiting_commitment("uuid-2", 1);
    (cores.spec.resource_type, cores.spec.amount) = (ResourceType::Cores, "40".into());
    stage.commit(&cores);
    stage.start_vm("vm-1", testing::FLAVOR, 0);
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    assert_eq!(stage.usage("uuid-1"), (vec!["vm-1".to_owned()], "480Gi".to_owned(), "30".to_owned()));
    assert_eq!(stage.usage("uuid-2"), (vec![], "0".to_owned(), "30".to_owned()));
    assert_eq!(stage.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_vm_of_an_unknown_group_counts_nowhere() {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 1);
    stage.start_vm("vm-1", "tiny", 0);
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    assert_eq!(stage.vms("uuid-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn two_objects_with_one_uuid_are_not_written_until_one_is_gone() {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 1);
    stage.start_vm("vm-1", testing::FLAVOR, 0);
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    // Old objects may have another name.
    let mut other = serde_json::to_value(stage.commitment("uuid-1")).unwrap();
    other["metadata"] = json!({ "name": "commitment-uuid-1-old" });
    stage.server.create_raw(other).unwrap();
    stage.take_writes();
    stage.remove_row("vm-1");
    stage.run_on(NODE1, &[]);
    process.publish();
    process.driver.wait(2 * HOUR).await;
    process.publish();
    process.driver.settle().await;
    assert_eq!(stage.take_writes(), [""; 0]);
    assert_eq!(stage.vms("uuid-1"), ["vm-1"], "its usage stays");
    stage.server.delete::<CommittedResource>("commitment-uuid-1-old").unwrap();
    process.driver.settle().await;
    assert_eq!(stage.vms("uuid-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_does_not_keep_the_others_of_the_project_from_being_written() {
    let stage = Stage::new();
    stage.commit_slots("uuid-1", 1);
    stage.commit_slots("uuid-2", 1);
    let path = path_of::<CommittedResource>("commitment-uuid-1");
    stage.server.fail(Verb::PatchStatus, &path, 1, Fault::Internal);
    let mut process = Process::start(&stage, 0);
    process.driver.settle().await;
    assert!(series(&process, DURATION).contains(&format!("{DURATION}{{result=\"error\"}} 1")));
    assert_eq!(stage.usage("uuid-1").1, "0");
    assert_eq!(stage.usage("uuid-2").1, "0");
}

#[tokio::test(start_paused = true)]
async fn before_the_first_read_nothing_is_written_and_after_it_every_project_is() {
    let stage = two_projects();
    stage.edit_row("vm-2", |row| row.project = "p-9".into());
    let mut process = Process::start_without_vms(&stage, 0);
    process.driver.wait(10 * MINUTE).await;
    assert_eq!(stage.take_writes(), [""; 0]);
    process.publish();
    process.driver.wait(Duration::from_secs(1)).await;
    let mut names = written(&stage);
    names.sort();
    assert_eq!(names, ["commitment-uuid-1", "commitment-uuid-2", "commitment-uuid-3"], "also one without VMs");
}

#[tokio::test(start_paused = true)]
async fn metrics_count_runs_and_show_the_vms_of_projects_that_have_some() {
    let stage = two_projects();
    let mut process = Process::start(&stage, 0);
    assert_eq!(series(&process, DURATION).len(), 2, "both results are there from the start");
    process.driver.settle().await;
    let of = |project: &str| format!("{ASSIGNED}{{project_id=\"{project}\"}} 1");
    assert_eq!(series(&process, ASSIGNED), [of(testing::PROJECT), of("p-2")]);
    process.driver.wait(PERIOD + Duration::from_secs(1)).await;
    let ages = series(&process, AGE);
    assert!(ages.contains(&format!("{AGE}_count 2")), "{ages:?}");
    assert!(ages.iter().any(|line| line.starts_with(&format!("{AGE}_sum 6"))), "two of 300 s: {ages:?}");
    stage.server.delete::<CommittedResource>("commitment-uuid-3").unwrap();
    process.driver.settle().await;
    assert_eq!(series(&process, ASSIGNED), [of(testing::PROJECT)], "the project is gone");
    stage.edit_spec("uuid-1", &json!({ "endTime": at(-86_400).to_string() }));
    process.driver.settle().await;
    assert_eq!(series(&process, ASSIGNED), [""; 0], "nothing is active");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_configured_later_is_used_from_its_first_snapshot_on() {
    let stage = two_projects();
    let mut process = Process::start_without_vms(&stage, 0);
    process.vms.set_configured(false);
    process.driver.settle().await;
    assert_eq!(written(&stage), [""; 0]);
    assert_eq!(
        series(&process, DURATION),
        [r#"{result="error"} 0"#, r#"{result="success"} 0"#].map(|end| format!("{DURATION}{end}"))
    );
    process.vms.set_configured(true);
    process.publish();
    process.driver.settle().await;
    let mut names = written(&stage);
    names.sort();
    assert_eq!(names, ["commitment-uuid-1", "commitment-uuid-2", "commitment-uuid-3"]);
}
