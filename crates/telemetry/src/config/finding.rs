//! Findings about a configuration, and the documentation of keys.

use std::fmt;

use berth_core::text::escape_line;

use super::mask::mask_urls;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The process does not start.
    Error,
    /// Something written down has no effect; an error with `--strict-config`.
    Unknown,
    /// Works, but should be changed.
    Warning,
    /// Worth a line in the log.
    Info,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The JSON path, for example `committedResourceController.maxRequeueInterval`, or the name of a file.
    pub path: String,
    /// What was found and what was expected.
    pub text: String,
}

impl Finding {
    /// Longer texts are cut, in characters: they repeat what they found.
    const LONGEST: usize = 500;

    pub(super) fn new(severity: Severity, path: String, text: String) -> Self {
        let text = if text.contains("://") { mask_urls(&text) } else { text };
        Self { severity, path, text: escape_line(&text, Self::LONGEST) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// All findings of one reconciliation of a configuration; never empty where it is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

/// One line for each, without those that are only for the log.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| match finding.severity {
            Severity::Error => write!(f, "\n  {finding}"),
            Severity::Unknown | Severity::Warning => write!(f, "\n  {finding} (a warning only)"),
            Severity::Info => Ok(()),
        })
    }
}

impl Findings {
    /// Whether the process can start with this.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// With `strict` what has no effect is an error, otherwise a warning.
    pub(super) fn settle(&mut self, strict: bool) {
        let unknown = if strict { Severity::Error } else { Severity::Warning };
        for finding in self.0.iter_mut().filter(|finding| finding.severity == Severity::Unknown) {
            finding.severity = unknown;
        }
    }

    /// Writes each finding to the log, once the log exists.
    pub fn log(&self) {
        for Finding { severity, path, text } in &self.0 {
            match severity {
                Severity::Error => tracing::error!(key = path, "{text}"),
                Severity::Unknown | Severity::Warning => {
                    tracing::warn!(key = path, "{text}");
                }
                Severity::Info => tracing::info!(key = path, "{text}"),
            }
        }
    }
}

/// The documentation of one key, as the code knows it. `docs/configuration.md` is compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDoc {
    /// The JSON path; `<group>` and `[]` stand for entries of maps and lists.
    pub path: String,
    /// What the value must be.
    pub kind: String,
    /// The value in effect when the key is absent.
    pub default: String,
    /// What the key is for, with units.
    pub meaning: &'static str,
}
