//! What happens next, and when: a list for people and for programs.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::table::table;
use super::times::{moment, span};

const SOON: &str = "at the next look";

/// So many things at the same time are shown.
const SHOWN: usize = 5;

/// Something that happens. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Next {
    pub(super) what: String,
    /// At this moment.
    pub(super) at: Option<Timestamp>,
    /// After so many seconds at the latest.
    pub(super) within_seconds: Option<u64>,
    /// As soon as this is so.
    pub(super) once: Option<String>,
}

impl Next {
    /// At the next look of the operator.
    pub(super) fn soon(what: impl Into<String>) -> Self {
        Self { what: what.into(), at: None, within_seconds: None, once: None }
    }

    /// At a moment.
    pub(super) fn at(then: Timestamp, what: impl Into<String>) -> Self {
        Self { at: Some(then), ..Self::soon(what) }
    }

    /// Within a time.
    pub(super) fn within(time: Duration, what: impl Into<String>) -> Self {
        Self { within_seconds: Some(time.as_secs().max(1)), ..Self::soon(what) }
    }

    /// When something has become so.
    pub(super) fn once(so: impl Into<String>, what: impl Into<String>) -> Self {
        Self { once: Some(so.into()), ..Self::soon(what) }
    }

    fn when(&self, now: Timestamp) -> String {
        match (self.at, self.within_seconds, &self.once) {
            (Some(then), ..) => format!("at {}", moment(then, now)),
            (_, Some(seconds), _) => format!("within {}", span(Duration::from_secs(seconds))),
            (.., Some(so)) => format!("once {so}"),
            _ => SOON.to_owned(),
        }
    }
}

/// The last part of a screen. Of many things that happen at the same time the first ones are enough.
pub(super) fn lines(all: &[Next], now: Timestamp) -> String {
    let mut rows = Vec::new();
    for run in all.chunk_by(|a, b| a.when(now) == b.when(now)) {
        let shown = if run.len() > SHOWN + 1 { SHOWN } else { run.len() };
        rows.extend(run[..shown].iter().map(|next| vec![next.when(now), next.what.clone()]));
        if run.len() > shown {
            rows.push(vec![String::new(), format!("... and {} more", run.len() - shown)]);
        }
    }
    let due = all.iter().any(|next| next.when(now) == SOON);
    let remark =
        if due { "  A look takes seconds; if nothing happens, no operator leads, or its log says why.\n" } else { "" };
    format!("\nWhat happens next\n{}{remark}", table(&rows, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_says_when() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let all = [
            Next::soon("a"),
            Next::once("room is freed", "b"),
            Next::within(Duration::from_secs(240), "c"),
            Next::at("2026-03-01T12:01:00Z".parse().unwrap(), "d"),
        ];
        let text = "\nWhat happens next\n  at the next look                         a\n  once room is freed                       b\n  \
                    within 4m 0s                             c\n  at 2026-03-01T12:01:00Z (in 1m 0s)       d\n  \
                    A look takes seconds; if nothing happens, no operator leads, or its log says why.\n";
        let many: Vec<_> = (0..8).map(|number| Next::soon(number.to_string())).collect();
        assert!(lines(&many, now).contains("  at the next look  4\n                    ... and 3 more\n"));
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&lines(&all, now)), squeezed(text));
    }
}
