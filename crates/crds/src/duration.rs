//! Durations in their wire format.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time in the grammar of Go, for example `1h0m0s` or `100ms`.
///
/// The schema admits any text (`recency: soon`), so only the text is kept: an object with a bad duration stays
/// readable, and the reader of the value reports what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Duration(pub String);

impl Duration {
    /// The text as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for Duration {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
