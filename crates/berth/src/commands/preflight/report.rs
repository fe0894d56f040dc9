//! All findings, as text or JSON.

use serde::Serialize;

use super::super::output::counted;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// It works, and something is to be known or done.
    Warning,
    /// The start ends, or something that is configured does not work.
    Failure,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

/// A sentence, which says what to do unless it is fine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) state: State,
    /// What it is about: `configuration`, `cluster home`.
    pub(super) about: String,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn new(state: State, about: impl Into<String>, text: impl Into<String>) -> Self {
        Self { state, about: about.into(), text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    pub(super) failures: usize,
    pub(super) warnings: usize,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(findings: Vec<Finding>) -> Self {
        let count = |state| findings.iter().filter(|finding| finding.state == state).count();
        Self { failures: count(State::Failure), warnings: count(State::Warning), findings }
    }

    pub(super) fn summary(&self) -> String {
        let counts = format!("{}, {}", counted(self.failures, "failure"), counted(self.warnings, "warning"));
        match self.failures {
            0 => format!("ready to start: {counts}"),
            _ => format!("not ready to start: {counts}"),
        }
    }

    pub(super) fn text(&self) -> String {
        let line = |Finding { state, about, text }: &Finding| format!("{:<8} {about}: {text}\n", state.as_str());
        let lines = self.findings.iter().map(line);
        lines.chain((self.failures == 0).then(|| self.summary() + "\n")).collect()
    }
}
