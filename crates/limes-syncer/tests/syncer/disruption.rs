//! The disruption limit keeps the syncer from ending commitments, and their controller learns when it has to show that.

use berth_crds::conditions::safety::{DISRUPTION_LIMITED, UNKNOWN_TO_LIMES};
use berth_crds::{CommitmentState, CommittedResource, Knowledge, labels, names, testing};
use berth_testkit::next;
use serde_json::json;

use crate::support::limes::listed;
use crate::support::{HOUR, Process, Stage};

const LEFT_OVER: &str = "c-99999";
/// More than may be disturbed.
const SLOTS: u64 = 21;

/// Three complete views have not listed a commitment that a change has created. It has many slots on hosts.
async fn held_back() -> Process {
    let stage = Stage::new(1);
    stage.limes.set("p-0", (0..20).map(|number| listed(&format!("c-{number:05}"), 32)).collect());
    let mut process = Process::start(&stage);
    process.sync().await;
    stage.create_by_change(LEFT_OVER, "672Gi");
    for number in 0..SLOTS {
        let mut slot = testing::slot(LEFT_OVER, number);
        slot.spec.target_host = Some("node1".to_owned());
        stage.server.create(&slot).unwrap();
    }
    process.wait(HOUR).await;
    process.sync_times(4).await;
    assert_eq!(stage.state(LEFT_OVER), Some(CommitmentState::Confirmed), "21 of 21 slots are more than 20");
    process
}

/// The commitments whose controller has to show something.
fn requested(process: &Process) -> Vec<String> {
    std::iter::from_fn(|| next(&process.commitment_requests)).map(|key| key.name.to_string()).collect()
}

/// As the controller of commitments does.
fn show(stage: &Stage) {
    let condition = json!({ "type": DISRUPTION_LIMITED, "status": "True", "reason": UNKNOWN_TO_LIMES, "message": "",
                            "lastTransitionTime": "2026-03-01T12:00:00Z" });
    let status = json!({ "status": { "conditions": [condition] } });
    stage.server.edit_status::<CommittedResource>(&names::commitment(LEFT_OVER), &status).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_is_not_ended_is_to_show_why_until_it_does() {
    let mut process = held_back().await;
    let name = names::commitment(LEFT_OVER);
    assert_eq!(requested(&process), [name.as_str()]);
    process.retry().await;
    assert_eq!(requested(&process), [name.as_str()], "it does not show it yet");
    show(&process.stage);
    process.retry().await;
    assert_eq!(requested(&process), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn when_limes_lists_it_again_nothing_is_left_to_show() {
    let mut process = held_back().await;
    show(&process.stage);
    requested(&process);
    process.stage.limes.set(
        "p-0",
        (0..20).map(|number| listed(&format!("c-{number:05}"), 32)).chain([listed(LEFT_OVER, 672)]).collect(),
    );
    process.sync().await;
    assert_eq!(requested(&process), [names::commitment(LEFT_OVER)]);
}

#[tokio::test(start_paused = true)]
async fn after_a_confirmation_it_is_ended() {
    let mut process = held_back().await;
    let until = process.stage.clock_in_an_hour().to_string();
    let patch = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: until } } });
    process.stage.server.edit::<Knowledge>(names::FLAVOR_GROUPS, &patch).unwrap();
    process.retry().await;
    assert_eq!(process.stage.state(LEFT_OVER), Some(CommitmentState::Superseded));
}
