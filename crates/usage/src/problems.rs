//! What keeps the usage of a commitment from being computed, logged once.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::ProjectId;
use berth_crds::facts;
use parking_lot::Mutex;
use tracing::warn;

use crate::plan::StoredCommitment;

/// The problems of each project that were logged.
#[derive(Debug, Default)]
pub(crate) struct Problems(Mutex<BTreeMap<ProjectId, BTreeSet<String>>>);

impl Problems {
    /// Logs those that are new, and forgets those that are over.
    pub(crate) fn log(&self, project: &ProjectId, commitments: &[StoredCommitment]) {
        let found: BTreeSet<String> = commitments.iter().filter_map(find).collect();
        let mut logged = self.0.lock();
        let known = logged.remove(project).unwrap_or_default();
        for problem in found.difference(&known) {
            warn!(reason = problem, "usage of a commitment not computed");
        }
        if !found.is_empty() {
            logged.insert(project.clone(), found);
        }
    }
}

fn find(commitment: &StoredCommitment) -> Option<String> {
    let StoredCommitment { key, object, others } = commitment;
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        let others = others.join(", ");
        return Some(format!("{key} has the same spec.commitmentUUID as {others}; delete all but one of them"));
    }
    let error = facts::accepted_spec(object)?.validate().err()?;
    Some(format!("the accepted spec of {key} is not valid: {error}; correct the commitment"))
}
