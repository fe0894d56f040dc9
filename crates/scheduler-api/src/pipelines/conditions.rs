//! What the conditions of a Pipeline say: a function of what was found.

use std::collections::BTreeMap;
use std::fmt::Write;

use berth_crds::conditions::{Status, condition, pipeline as texts, set_condition_by_reason};
use berth_crds::{Condition, PipelineStatus};
use jiff::Timestamp;

use super::Report;

/// The status after this report about the object of this generation. Only what says something new differs from `old`.
pub fn status(old: &PipelineStatus, report: &Report, generation: Option<i64>, now: Timestamp) -> PipelineStatus {
    let mut new = old.clone();
    for (type_, says) in [
        (berth_crds::conditions::READY, Some(ready(report))),
        (texts::ALL_STEPS_READY, Some(steps_ready(report))),
        (texts::ALL_STEPS_INDEXED, steps_indexed(report)),
    ] {
        if let Some(Says { status, reason, message }) = says {
            let condition: Condition = condition(type_, status, reason, &message, generation, now);
            set_condition_by_reason(&mut new.conditions, condition);
        }
    }
    new
}

struct Says {
    status: Status,
    reason: &'static str,
    message: String,
}

fn says(status: Status, reason: &'static str, message: impl Into<String>) -> Says {
    Says { status, reason, message: message.into() }
}

fn ready(report: &Report) -> Says {
    match &report.unreadable {
        Some(error) => says(Status::False, texts::PIPELINE_INIT_FAILED, unreadable(error)),
        None if report.filters.is_empty() => says(Status::True, texts::PIPELINE_READY, texts::IS_READY),
        None => says(Status::False, texts::PIPELINE_INIT_FAILED, texts::FILTERS_FAILED),
    }
}

fn steps_ready(report: &Report) -> Says {
    if let Some(error) = &report.unreadable {
        return says(Status::False, texts::PIPELINE_INIT_FAILED, unreadable(error));
    }
    if !report.filters.is_empty() {
        return says(Status::False, texts::PIPELINE_INIT_FAILED, failed("filters", &report.filters));
    }
    if !report.weighers.is_empty() {
        let message = format!("{}. ", failed("weighers", &report.weighers));
        return says(Status::False, texts::SOME_STEPS_NOT_READY, message);
    }
    says(Status::True, texts::ALL_STEPS_READY, texts::STEPS_READY)
}

/// Not touched while the pipeline is not usable.
fn steps_indexed(report: &Report) -> Option<Says> {
    if !report.is_usable() {
        return None;
    }
    Some(if report.unknown.is_empty() {
        says(Status::True, texts::ALL_STEPS_INDEXED, texts::STEPS_INDEXED)
    } else {
        let (count, names) = (report.unknown.len(), report.unknown.join(" "));
        let message = format!("pipeline contains {count} unknown steps: [{names}]");
        says(Status::False, texts::PIPELINE_CONTAINS_UNKNOWN_STEPS, message)
    })
}

fn unreadable(error: &str) -> String {
    format!("the object cannot be read, correct it: {error}")
}

/// As Go prints a map.
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
