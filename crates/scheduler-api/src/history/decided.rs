//! The recorded part of a decision. Decisions are recorded if the run reached the engine and may have effects.

use berth_core::HostName;
use berth_scheduler::{Answer, Request, SchedulerError};

use super::explanation;
use crate::Outcome;

/// A decision as a History tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryDecision {
    pub resource: String,
    /// The wanted zone; empty means any.
    pub zone: String,
    pub pipeline: String,
    /// The purpose of the request; `Unknown` if the request does not state it.
    pub intent: &'static str,
    pub verdict: RunResult,
    /// The hosts of the answer, the best first.
    pub hosts: Vec<HostName>,
    pub explanation: String,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunResult {
    Selected(HostName),
    NoHost,
    /// A step could not do its work, for this reason.
    Failed(String),
}

/// Whether there is a decision to record.
pub(super) fn is_recorded(outcome: &Outcome) -> bool {
    let options = &outcome.request.options;
    !options.skip_history && !options.read_only && outcome.result.as_ref().err().is_none_or(has_started)
}

/// The decision to record, if any.
pub fn decided(outcome: &Outcome) -> Option<HistoryDecision> {
    let request = &*outcome.request;
    if !is_recorded(outcome) {
        return None;
    }
    let (verdict, hosts, explanation) = match &outcome.result {
        Ok(answer) => describe_answer(answer),
        Err(error) => failed(error),
    };
    Some(HistoryDecision {
        resource: request.instance.to_string(),
        zone: request.zone.to_string(),
        pipeline: request.pipeline_name().ok()?.to_owned(),
        intent: intent(request),
        verdict,
        hosts,
        explanation,
    })
}

fn intent(request: &Request) -> &'static str {
    request.intent().map_or("Unknown", berth_scheduler::Intent::as_str)
}

fn describe_answer(answer: &Answer) -> (RunResult, Vec<HostName>, String) {
    match (&answer.decision.failed, answer.hosts.first()) {
        (Some(error), _) => failed(error),
        (None, Some(host)) => (RunResult::Selected(host.clone()), answer.hosts.clone(), explanation(answer)),
        (None, None) => (RunResult::NoHost, Vec::new(), explanation(answer)),
    }
}

fn failed(error: &SchedulerError) -> (RunResult, Vec<HostName>, String) {
    (RunResult::Failed(error.to_string()), Vec::new(), format!("Pipeline run failed: {error}."))
}

/// Whether the run came as far as its first step.
fn has_started(error: &SchedulerError) -> bool {
    !matches!(
        error,
        SchedulerError::Pipeline(_)
            | SchedulerError::Inference(_)
            | SchedulerError::NoHypervisorType(_)
            | SchedulerError::UnknownHypervisorType(_)
    )
}
