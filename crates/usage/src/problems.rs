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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_cluster::ObjectKey;
    use berth_core::ClusterName;
    use berth_crds::testing;

    use super::*;

    fn stored(uuid: &str, others: &[&str]) -> StoredCommitment {
        let mut object = testing::commitment(uuid, "8Gi");
        object.status.get_or_insert_default().accepted_spec = Some(object.spec.clone());
        let key = |name: &str| ObjectKey::new(ClusterName::home(), name);
        let others = others.iter().map(|name| key(name)).collect();
        StoredCommitment { key: key("first"), object: Arc::new(object), others }
    }

    #[test]
    fn all_objects_with_one_uuid_are_named() {
        assert_eq!(find(&stored("uuid-1", &[])), None);
        let text = find(&stored("uuid-1", &["second", "third"])).unwrap();
        assert!(["home/first", "home/second, home/third"].iter().all(|part| text.contains(part)), "{text}");
        let text = find(&stored("no", &[])).unwrap();
        assert!(text.contains("home/first is not valid: unexpected commitment format"), "{text}");
    }

    #[test]
    fn a_problem_is_remembered_until_it_is_over() {
        let (problems, project) = (Problems::default(), ProjectId::from("p"));
        problems.log(&project, &[stored("uuid-1", &["second"])]);
        assert_eq!(problems.0.lock().len(), 1);
        problems.log(&project, &[stored("uuid-1", &[])]);
        assert!(problems.0.lock().is_empty());
    }
}
