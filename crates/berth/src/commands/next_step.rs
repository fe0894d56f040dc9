//! The list of next steps with their times, as text and as JSON.

use std::time::Duration;

use berth_scheduler_api::explain::{Reconciliation, ReconciliationFailure, ReconciliationState};
use jiff::Timestamp;
use serde::Serialize;

use super::table::table;
use super::times::{moment, span};

const AT_NEXT_RECONCILIATION: &str = "at the next reconciliation";

/// The bound of steps that are shown for the same time.
const SHOWN: usize = 5;

/// Something that happens. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NextStep {
    pub(super) what: String,
    pub(super) at: Option<Timestamp>,
    /// After so many seconds at the latest.
    pub(super) within_seconds: Option<u64>,
    pub(super) once: Option<String>,
}

impl NextStep {
    pub(super) fn at_next_reconciliation(what: impl Into<String>) -> Self {
        Self { what: what.into(), at: None, within_seconds: None, once: None }
    }

    pub(super) fn at(then: Timestamp, what: impl Into<String>) -> Self {
        Self { at: Some(then), ..Self::at_next_reconciliation(what) }
    }

    pub(super) fn within(time: Duration, what: impl Into<String>) -> Self {
        Self { within_seconds: Some(time.as_secs().max(1)), ..Self::at_next_reconciliation(what) }
    }

    pub(super) fn once(so: impl Into<String>, what: impl Into<String>) -> Self {
        Self { once: Some(so.into()), ..Self::at_next_reconciliation(what) }
    }

    /// The next reconciliation as the operator has it planned; `None` if only a change causes one.
    pub(super) fn reconciliation(known: &Reconciliation, now: Timestamp) -> Option<Self> {
        let failing = known.failure.as_ref().map(describe_failure);
        let (when, what) = match known.state {
            ReconciliationState::Running => (now, "the operator reconciles it"),
            ReconciliationState::Queued => (now, "it waits for its turn to be reconciled"),
            ReconciliationState::Idle if failing.is_some() => (known.next?, "it is reconciled again"),
            ReconciliationState::Idle => (known.next?, "it is reconciled again, and at once after a change"),
        };
        Some(Self::at(when, what.to_owned() + &failing.unwrap_or_default()))
    }

    fn when(&self, now: Timestamp) -> String {
        match (self.at, self.within_seconds, &self.once) {
            (Some(then), ..) => format!("at {}", moment(then, now)),
            (_, Some(seconds), _) => format!("within {}", span(Duration::from_secs(seconds))),
            (.., Some(so)) => format!("once {so}"),
            _ => AT_NEXT_RECONCILIATION.to_owned(),
        }
    }
}

fn describe_failure(failure: &ReconciliationFailure) -> String {
    let ReconciliationFailure { class, attempts, error } = failure;
    let error = error.replace('\n', " ");
    format!("; it failed {attempts} {} in a row ({class}): {error}", if *attempts == 1 { "time" } else { "times" })
}

/// The last part of a screen. Of many things that happen at the same time the first ones are enough.
pub(super) fn lines(all: &[NextStep], now: Timestamp) -> String {
    let mut rows = Vec::new();
    for run in all.chunk_by(|a, b| a.when(now) == b.when(now)) {
        let shown = if run.len() > SHOWN + 1 { SHOWN } else { run.len() };
        rows.extend(run[..shown].iter().map(|next| vec![next.when(now), next.what.clone()]));
        if run.len() > shown {
            rows.push(vec![String::new(), format!("... and {} more", run.len() - shown)]);
        }
    }
    let due = all.iter().any(|next| next.when(now) == AT_NEXT_RECONCILIATION);
    let remark = if due {
        "  A reconciliation takes seconds; if nothing happens, no operator leads, or its log says why.\n"
    } else {
        ""
    };
    format!("\nWhat happens next\n{}{remark}", table(&rows, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_reports_when() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let all = [
            NextStep::at_next_reconciliation("a"),
            NextStep::once("capacity becomes free", "b"),
            NextStep::within(Duration::from_secs(240), "c"),
            NextStep::at("2026-03-01T12:01:00Z".parse().unwrap(), "d"),
        ];
        let text = "\nWhat happens next\n  at the next reconciliation                         a\n  once capacity becomes free                       b\n  \
                    within 4m 0s                             c\n  at 2026-03-01T12:01:00Z (in 1m 0s)       d\n  \
                    A reconciliation takes seconds; if nothing happens, no operator leads, or its log says why.\n";
        let many: Vec<_> = (0..8).map(|number| NextStep::at_next_reconciliation(number.to_string())).collect();
        assert!(
            lines(&many, now)
                .contains("  at the next reconciliation  4\n                              ... and 3 more\n")
        );
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&lines(&all, now)), squeezed(text));
    }
}
