//! The worked scenarios of whole runs. The clock shows 2026-03-01T12:00:00Z; a unit is one GiB.

use berth_crds::{CommitmentState, CommittedResource, labels, testing};
use berth_openstack::limes::ListedCommitment;
use serde_json::json;

use crate::support::limes::{Failure, listed};
use crate::support::{GROUP, HOUR, Process, Stage, time};

const CREATES: &str = "cortex_committed_resource_syncer_cr_creates_total";
const UPDATES: &str = "cortex_committed_resource_syncer_cr_updates_total";
const DELETES: &str = "cortex_committed_resource_syncer_cr_deletes_total";
const ERRORS: &str = "cortex_committed_resource_syncer_errors_total";
const ACTIVE: &str = "cortex_committed_resource_syncer_limes_commitments_active";
const UNMATCHED: &str = "cortex_committed_resource_syncer_crd_unmatched";
const COMPLETE: &str = "berth_limes_syncer_view_complete";

fn skipped(reason: &str) -> String {
    format!("cortex_committed_resource_syncer_commitments_skipped_total{{reason=\"{reason}\"}}")
}

fn planned(uuid: &str) -> ListedCommitment {
    ListedCommitment { status: "planned".to_owned(), ..listed(uuid, 16) }
}

/// The first scenario: five commitments in one project, of which two become objects.
async fn first_run() -> (Stage, Process) {
    let stage = Stage::new(1);
    stage.limes.set("p-0", five());
    let mut process = Process::start(&stage);
    assert!(!process.sync().await);
    (stage, process)
}

fn five() -> Vec<ListedCommitment> {
    let over = ListedCommitment { expires_at: Some(time("2026-02-28T00:00:00Z")), ..listed("c-00003", 16) };
    let instances = ListedCommitment { resource_name: format!("hw_version_{GROUP}_instances"), ..listed("c-00004", 1) };
    let volume = ListedCommitment { service_type: "volumev2".to_owned(), ..listed("c-00005", 1) };
    vec![listed("c-00001", 32), planned("c-00002"), over, instances, volume]
}

fn without(uuid: &str) -> Vec<ListedCommitment> {
    five().into_iter().filter(|one| one.uuid != uuid).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_run_in_an_empty_cluster_creates_what_is_ours() {
    let (stage, process) = first_run().await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("32Gi"));
    assert_eq!(
        (stage.amount("c-00002").as_deref(), stage.state("c-00002")),
        (Some("0"), Some(CommitmentState::Planned))
    );
    assert_eq!([stage.amount("c-00003"), stage.amount("c-00004"), stage.amount("c-00005")], [None, None, None]);
    let object = stage.commitment("c-00001").unwrap();
    assert_eq!(object.metadata.finalizers, Some(vec![labels::RELEASE_SLOTS.to_owned()]), "from the start");
    assert_eq!((object.spec.project_id.as_str(), object.spec.domain_id.as_str()), ("p-0", "d-1"));
    assert!(object.spec.confirmed_at.is_some() && !object.spec.allow_rejection);
    assert_eq!(process.metric(&skipped("invalid_resource_name")), 1);
    assert_eq!(process.metric(&skipped("non_compute")), 1);
    assert_eq!([ACTIVE, CREATES, UNMATCHED, COMPLETE, ERRORS].map(|name| process.metric(name)), [3, 2, 0, 1, 0]);
    let events = stage.server.published_events().await;
    let note = format!("created, because Limes lists it: 32Gi memory of {GROUP} in {}, state confirmed", testing::ZONE);
    assert!(events.contains(&format!("Normal SyncedFromLimes commitment-c-00001 {note}")), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_run_without_a_change_writes_nothing() {
    let (_stage, mut process) = first_run().await;
    process.stage.take_writes();
    process.wait(HOUR).await;
    process.sync().await;
    assert_eq!(process.stage.take_writes(), [""; 0]);
    assert_eq!([CREATES, UPDATES].map(|name| process.metric(name)), [2, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_amount_that_becomes_zero_is_written_once() {
    let (stage, mut process) = first_run().await;
    let mut all = five();
    all[0].amount = 0;
    stage.limes.set("p-0", all);
    for _ in 0..2 {
        process.wait(HOUR).await;
        process.sync().await;
        assert_eq!((stage.amount("c-00001").as_deref(), process.metric(UPDATES)), (Some("0"), 1));
    }
    let events = stage.server.published_events().await;
    let note = "corrected after the list of Limes: amount 32Gi -> 0";
    assert!(events.contains(&format!("Normal SyncedFromLimes commitment-c-00001 {note}")), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_is_missing_in_limes_stays_and_is_counted() {
    let (stage, mut process) = first_run().await;
    stage.limes.set("p-0", without("c-00001"));
    process.wait(HOUR).await;
    process.sync_times(5).await;
    assert_eq!((stage.amount("c-00001").as_deref(), process.metric(UNMATCHED)), (Some("32Gi"), 1));
}

#[tokio::test(start_paused = true)]
async fn a_commitment_in_another_zone_stays_and_counts_as_listed() {
    let (stage, mut process) = first_run().await;
    let mut all = five();
    all[1].availability_zone = "az-2".to_owned();
    stage.limes.set("p-0", all);
    process.wait(HOUR).await;
    process.sync().await;
    assert_eq!(stage.commitment("c-00002").unwrap().spec.availability_zone, testing::ZONE);
    assert_eq!((process.metric(&skipped("az_mismatch")), process.metric(UNMATCHED)), (1, 0));
    let events = stage.server.published_events().await;
    assert!(events.iter().any(|event| event.starts_with("Warning NotSynced commitment-c-00002 ")), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_commitment_whose_end_has_passed_is_deleted_and_not_missing() {
    let (stage, mut process) = first_run().await;
    let mut over = testing::commitment("c-00009", "0");
    over.spec.end_time = Some(berth_crds::Time(time("2026-02-28T00:00:00Z")));
    stage.server.create(&over).unwrap();
    process.wait(HOUR).await;
    process.sync().await;
    assert_eq!((stage.commitment("c-00009"), process.metric(DELETES), process.metric(UNMATCHED)), (None, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_limes_lists_as_superseded_is_superseded_and_stays() {
    let (stage, mut process) = first_run().await;
    let mut all = five();
    (all[0].status, all[0].expires_at) = ("superseded".to_owned(), Some(time("2026-12-31T00:00:00Z")));
    stage.limes.set("p-0", all);
    process.wait(HOUR).await;
    process.sync().await;
    assert_eq!((stage.state("c-00001"), process.metric(UPDATES)), (Some(CommitmentState::Superseded), 1));
    assert!(stage.commitment("c-00001").unwrap().metadata.deletion_timestamp.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_project_that_limes_does_not_know_leaves_the_view_incomplete_and_the_others_are_compared() {
    let stage = Stage::new(8);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    stage.limes.fail("p-7", Some(Failure::Unknown));
    let mut process = Process::start(&stage);
    assert!(!process.sync().await, "the run has not failed");
    assert_eq!(stage.amount("c-00001").as_deref(), Some("32Gi"));
    assert_eq!([ERRORS, COMPLETE].map(|name| process.metric(name)), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn cores_are_restored_and_names_are_in_lower_case() {
    let stage = Stage::new(1);
    let cores = ListedCommitment {
        resource_name: format!("hw_version_{GROUP}_cores"),
        unit: "piece".to_owned(),
        ..listed("C-00001-X", 40)
    };
    stage.limes.set("p-0", vec![cores]);
    Process::start(&stage).sync().await;
    let object: CommittedResource = stage.server.get("commitment-c-00001-x").unwrap();
    assert_eq!((object.spec.commitment_uuid.as_str(), object.spec.amount.as_str()), ("C-00001-X", "40"));
    assert_eq!(object.spec.resource_type, berth_crds::ResourceType::Cores);
}

#[tokio::test(start_paused = true)]
async fn limes_that_answers_nothing_at_all_changes_nothing() {
    let (stage, mut process) = first_run().await;
    stage.limes.remove_all();
    process.stage.take_writes();
    process.wait(HOUR).await;
    process.sync_times(4).await;
    stage.limes.remove_projects();
    process.sync_times(4).await;
    assert_eq!(process.stage.take_writes(), [""; 0]);
    assert_eq!(process.metric(COMPLETE), 0);
}

#[tokio::test(start_paused = true)]
async fn without_flavor_groups_the_run_is_skipped_and_is_no_error() {
    let stage = Stage::new(1);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    stage.server.delete::<berth_crds::Knowledge>(berth_crds::names::FLAVOR_GROUPS).unwrap();
    let not_ready =
        berth_crds::Knowledge { status: None, ..berth_testkit::seeds::flavor_groups(time("2026-03-01T00:00:00Z")) };
    stage.server.create(&not_ready).unwrap();
    let mut process = Process::start(&stage);
    assert!(process.sync().await, "it is tried again soon");
    assert_eq!((stage.amount("c-00001"), process.metric(ERRORS)), (None, 0));
    assert_eq!(stage.limes.take_requests(), [], "Limes is not asked");
}

#[tokio::test(start_paused = true)]
async fn one_write_that_fails_stops_no_other_and_the_next_attempt_repairs_it() {
    let stage = Stage::new(1);
    stage.limes.set("p-0", vec![listed("c-00001", 32), listed("c-00002", 16)]);
    let mut process = Process::start(&stage);
    let path = berth_testkit::path_of::<CommittedResource>("");
    stage.server.fail(berth_testkit::Verb::Create, &path, 1, berth_testkit::Fault::Internal);
    process.sync().await;
    assert_eq!(
        ["c-00001", "c-00002"].map(|uuid| stage.amount(uuid)),
        [Some("32Gi".to_owned()), Some("16Gi".to_owned())]
    );
    assert!(process.metric("berth_limes_syncer_write_errors_total") >= 1);
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_a_new_commitment_goes_when_limes_lists_it() {
    let stage = Stage::new(1);
    stage.create_by_change("c-00001", "32Gi");
    stage.edit("c-00001", &json!({ "spec": { "domainID": "d-1", "startTime": "2026-02-01T00:00:00Z" } }));
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    let mut process = Process::start(&stage);
    process.wait(HOUR).await;
    let generation = |stage: &Stage| stage.commitment("c-00001").unwrap().metadata.generation;
    let before = generation(&stage);
    process.sync().await;
    let annotations = stage.commitment("c-00001").unwrap().metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key(labels::NOT_YET_LISTED), "{annotations:?}");
    assert_eq!(generation(&stage), before, "the spec is as it was");
}

#[tokio::test(start_paused = true)]
async fn what_changed_after_a_view_is_not_corrected_after_it_although_a_later_run_has_failed() {
    let (stage, mut process) = first_run().await;
    let mut all = five();
    all[0].amount = 64;
    stage.limes.set("p-0", all);
    stage.clock.trust(false);
    process.wait(HOUR).await;
    process.sync().await;
    process.wait(HOUR).await;
    stage.edit("c-00001", &json!({ "spec": { "amount": "96Gi" } }));
    stage.limes.fail_keystone(Some(Failure::Internal));
    process.sync().await;
    process.wait(HOUR).await;
    process.sync().await;
    stage.clock.trust(true);
    process.retry().await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("96Gi"));
}

#[tokio::test(start_paused = true)]
async fn a_paused_commitment_stays_as_it_is_and_is_corrected_after_the_pause() {
    let (stage, mut process) = first_run().await;
    stage.pause("c-00001");
    stage.limes.set("p-0", vec![listed("c-00001", 64)]);
    process.wait(HOUR).await;
    process.sync_times(2).await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("32Gi"));
    stage.edit("c-00001", &json!({ "metadata": { "annotations": { labels::PAUSED: null } } }));
    process.driver.settle().await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("32Gi"), "an event alone compares nothing");
    process.sync().await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("64Gi"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_while_the_commitments_cannot_be_read() {
    let stage = Stage::new(1);
    stage.limes.set("p-0", vec![listed("c-00001", 32)]);
    let mut process = Process::start(&stage);
    let (store, home) = (process.world.stores.commitments.clone(), berth_core::ClusterName::home());
    berth_cluster::testing::failing(&store, &home, Some("no route"));
    process.sync().await;
    assert_eq!((stage.amount("c-00001"), process.metric(COMPLETE)), (None, 0));
    berth_cluster::testing::failing(&store, &home, None);
    process.driver.settle().await;
    assert_eq!(stage.amount("c-00001").as_deref(), Some("32Gi"), "the cluster that can be read again requests it");
}
