//! The History object after a decision: a function of the object before it.

use berth_crds::conditions::{Status, history as texts, ready_condition, set_condition, stored_message, whole_seconds};
use berth_crds::history::{CurrentDecision, FormerDecision};
use berth_crds::{History, HistorySpec, HistoryStatus, ObjectReference, labels};
use jiff::Timestamp;

use super::{HistoryDecision, RunResult};

const KEPT: usize = 10;
/// The number of hosts that are kept of each decision.
const HOSTS: usize = 3;

/// The object of a workload that has none yet.
pub fn new(name: &str, decided: &HistoryDecision) -> History {
    let zone = Some(decided.zone.clone()).filter(|zone| !zone.is_empty());
    let spec = HistorySpec {
        scheduling_domain: labels::NOVA.to_owned(),
        resource_id: decided.resource.clone(),
        availability_zone: zone,
    };
    History::new(name, spec)
}

pub fn next(object: &History, decided: &HistoryDecision, now: Timestamp) -> HistoryStatus {
    let mut status = object.status.clone().unwrap_or_default();
    let last = status.current.take().filter(|current| current.timestamp.is_some());
    status.history.extend(last.map(former));
    let surplus = status.history.len().saturating_sub(KEPT);
    status.history.drain(..surplus);
    status.current = Some(current(decided, now));
    let (state, reason, message) = ready(&decided.verdict);
    let condition = ready_condition(state, reason, &message, object.metadata.generation, now);
    set_condition(&mut status.conditions, condition);
    status
}

fn current(decided: &HistoryDecision, now: Timestamp) -> CurrentDecision {
    let target = match &decided.verdict {
        RunResult::Selected(host) => Some(host.to_string()),
        RunResult::NoHost | RunResult::Failed(_) => None,
    };
    CurrentDecision {
        timestamp: Some(whole_seconds(now)),
        pipeline_ref: Some(ObjectReference { name: Some(decided.pipeline.clone()), ..ObjectReference::default() }),
        intent: Some(decided.intent.to_owned()),
        successful: target.is_some(),
        target_host: target,
        explanation: Some(stored_message(&decided.explanation)).filter(|text| !text.is_empty()),
        ordered_hosts: decided.hosts.iter().take(HOSTS).map(ToString::to_string).collect(),
    }
}

fn ready(verdict: &RunResult) -> (Status, &'static str, String) {
    match verdict {
        RunResult::Selected(_) => (Status::True, texts::SCHEDULING_SUCCEEDED, texts::SUCCEEDED.to_owned()),
        RunResult::NoHost => (Status::False, texts::NO_HOST_FOUND, texts::NO_HOST.to_owned()),
        RunResult::Failed(error) => (Status::False, texts::PIPELINE_RUN_FAILED, format!("{}{error}", texts::FAILED)),
    }
}

/// How the last decision is kept when there is a newer one.
fn former(current: CurrentDecision) -> FormerDecision {
    let CurrentDecision { timestamp, pipeline_ref, intent, successful, ordered_hosts, .. } = current;
    FormerDecision { timestamp, pipeline_ref, intent, ordered_hosts, successful }
}
