//! The invariant of the service info that Limes is told.

use crate::{Invariant, Key, Violation};

/// The published info.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedInfo {
    pub version: i64,
    /// The whole info as it is served.
    pub content: String,
}

/// Published info has changed, or was written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Republished {
    pub(crate) key: Key,
    pub(crate) before: PublishedInfo,
    pub(crate) after: PublishedInfo,
}

/// Limes compares versions only: a version that it knows already has no news for it.
pub(crate) fn misversioned(republished: &Republished) -> Option<Violation> {
    let Republished { key, before, after } = republished;
    let text = if after.version < before.version {
        format!("its version went back from {} to {}", before.version, after.version)
    } else if after.version == before.version && after.content != before.content {
        format!("version {} has another content than before", after.version)
    } else {
        return None;
    };
    Some(Violation::new(Invariant::InfoVersion, key, text))
}
