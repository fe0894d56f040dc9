//! Says once what is in the way of the election, and once that it is over. It decides nothing.

use tracing::{debug, info, warn};

use crate::WriteError;

/// What was said last.
#[derive(Default)]
pub(super) struct Trouble {
    said: Option<String>,
}

impl Trouble {
    pub fn met(&mut self, error: &WriteError) {
        if matches!(error, WriteError::Conflict { .. } | WriteError::AlreadyExists { .. }) {
            debug!(%error, "another process was quicker");
            return;
        }
        let text = error.to_string();
        if self.said.as_ref() != Some(&text) {
            warn!(error = text, "the election of a leader does not get through; it goes on trying");
            self.said = Some(text);
        }
    }

    pub fn over(&mut self) {
        if self.said.take().is_some() {
            info!("the election of a leader gets through again");
        }
    }
}
