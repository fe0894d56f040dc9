//! The conditions of a Pipeline: a function of the check.

use std::collections::BTreeMap;
use std::fmt::Write;

use berth_crds::conditions::{Status, condition, pipeline as texts, set_condition_by_reason};
use berth_crds::{Condition, PipelineStatus};
use jiff::Timestamp;

use super::PipelineReport;

/// The status after this report about the object of this generation. Equal to `old` if there is nothing new to report.
pub fn status(
    old: &PipelineStatus,
    report: &PipelineReport,
    generation: Option<i64>,
    now: Timestamp,
) -> PipelineStatus {
    let mut new = old.clone();
    for (type_, found) in [
        (berth_crds::conditions::READY, Some(ready(report))),
        (texts::ALL_STEPS_READY, Some(steps_ready(report))),
        (texts::ALL_STEPS_INDEXED, steps_indexed(report)),
    ] {
        if let Some(PipelineCondition { status, reason, message }) = found {
            let condition: Condition = condition(type_, status, reason, &message, generation, now);
            set_condition_by_reason(&mut new.conditions, condition);
        }
    }
    new
}

/// The status of an object that is not ours, or not any more: without the conditions about an earlier generation of it.
/// Later ones are those of the scheduler that it belongs to now.
pub fn status_of_foreign(old: &PipelineStatus, generation: Option<i64>) -> PipelineStatus {
    let ours = [berth_crds::conditions::READY, texts::ALL_STEPS_READY, texts::ALL_STEPS_INDEXED];
    let is_old = |condition: &Condition| condition.observed_generation.is_some_and(|seen| Some(seen) < generation);
    let mut new = old.clone();
    new.conditions.retain(|condition| !(ours.contains(&condition.type_.as_str()) && is_old(condition)));
    new
}

struct PipelineCondition {
    status: Status,
    reason: &'static str,
    message: String,
}

fn new_condition(status: Status, reason: &'static str, message: impl Into<String>) -> PipelineCondition {
    PipelineCondition { status, reason, message: message.into() }
}

fn ready(report: &PipelineReport) -> PipelineCondition {
    match &report.unreadable {
        Some(error) => new_condition(Status::False, texts::PIPELINE_INIT_FAILED, unreadable(error)),
        None if report.filters.is_empty() => new_condition(Status::True, texts::PIPELINE_READY, texts::IS_READY),
        None => new_condition(Status::False, texts::PIPELINE_INIT_FAILED, texts::FILTERS_FAILED),
    }
}

fn steps_ready(report: &PipelineReport) -> PipelineCondition {
    if let Some(error) = &report.unreadable {
        return new_condition(Status::False, texts::PIPELINE_INIT_FAILED, unreadable(error));
    }
    if !report.filters.is_empty() {
        return new_condition(Status::False, texts::PIPELINE_INIT_FAILED, failed("filters", &report.filters));
    }
    if !report.weighers.is_empty() {
        let message = format!("{}. ", failed("weighers", &report.weighers));
        return new_condition(Status::False, texts::SOME_STEPS_NOT_READY, message);
    }
    new_condition(Status::True, texts::ALL_STEPS_READY, texts::STEPS_READY)
}

/// Not touched while the pipeline is not usable.
fn steps_indexed(report: &PipelineReport) -> Option<PipelineCondition> {
    if !report.is_usable() {
        return None;
    }
    Some(if report.unknown.is_empty() {
        new_condition(Status::True, texts::ALL_STEPS_INDEXED, texts::STEPS_INDEXED)
    } else {
        let (count, names) = (report.unknown.len(), report.unknown.join(" "));
        let message = format!("pipeline contains {count} unknown steps: [{names}]");
        new_condition(Status::False, texts::PIPELINE_CONTAINS_UNKNOWN_STEPS, message)
    })
}

fn unreadable(error: &str) -> String {
    format!("the object cannot be read, correct it: {error}")
}

fn failed(what: &str, errors: &BTreeMap<String, String>) -> String {
    let mut text = format!("{} {what} failed to initialize: map[", errors.len());
    for (number, (name, error)) in errors.iter().enumerate() {
        let space = if number == 0 { "" } else { " " };
        // Writing into a String does not fail.
        let _ = write!(text, "{space}{name}:{error}");
    }
    text.push(']');
    text
}
