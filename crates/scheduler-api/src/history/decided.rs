//! What of a decision is remembered, and which decisions are: those of runs that reached the engine and may leave
//! something behind.

use berth_core::HostName;
use berth_scheduler::{Answer, Request, SchedulerError};

use super::explanation;
use crate::Outcome;

/// A decision as a History tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The workload: the UUID of the server.
    pub resource: String,
    /// The wanted zone; empty means any.
    pub zone: String,
    /// The pipeline that was run.
    pub pipeline: String,
    /// What the host was wanted for; `Unknown` when the request does not say.
    pub intent: &'static str,
    /// What came of it.
    pub verdict: Verdict,
    /// The hosts of the answer, the best first.
    pub hosts: Vec<HostName>,
    /// Why, for people.
    pub explanation: String,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A host.
    Selected(HostName),
    /// None that could be answered.
    NoHost,
    /// A step could not do its work, for this reason.
    Failed(String),
}

/// What is to be remembered; `None` if nothing is.
pub fn decided(outcome: &Outcome) -> Option<Decided> {
    let request = &*outcome.request;
    if request.options.skip_history || request.options.read_only {
        return None;
    }
    let (verdict, hosts, explanation) = match &outcome.result {
        Ok(answer) => told(answer),
        Err(error) if began(error) => failed(error),
        Err(_) => return None,
    };
    Some(Decided {
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

fn told(answer: &Answer) -> (Verdict, Vec<HostName>, String) {
    match (&answer.decision.failed, answer.hosts.first()) {
        (Some(error), _) => failed(error),
        (None, Some(host)) => (Verdict::Selected(host.clone()), answer.hosts.clone(), explanation(answer)),
        (None, None) => (Verdict::NoHost, Vec::new(), explanation(answer)),
    }
}

fn failed(error: &SchedulerError) -> (Verdict, Vec<HostName>, String) {
    (Verdict::Failed(error.to_string()), Vec::new(), format!("Pipeline run failed: {error}."))
}

/// Whether the run came as far as its first step.
fn began(error: &SchedulerError) -> bool {
    !matches!(
        error,
        SchedulerError::Pipeline(_)
            | SchedulerError::Inference(_)
            | SchedulerError::NoHypervisorType(_)
            | SchedulerError::UnknownHypervisorType(_)
    )
}
