use std::sync::Arc;

use berth_cluster::testing::filled;
use berth_cluster::{ObjectKey, indexes};
use berth_core::ClusterName;
use berth_crds::{ProjectQuotaSpec, ProjectQuotaStatus, testing};
use serde_json::json;

use super::*;

fn change<K: Clone>(old: Option<&K>, new: Option<&K>) -> Change<K> {
    let key = ObjectKey::new(ClusterName::home(), "any");
    Change { key, old: old.cloned().map(Arc::new), new: new.cloned().map(Arc::new) }
}

fn keys(projects: &[&str]) -> BTreeSet<ProjectKey> {
    projects.iter().map(|project| ProjectKey::from(*project)).collect()
}

fn quota(project: &str) -> ProjectQuota {
    let mut quota = ProjectQuota::new("any", ProjectQuotaSpec { project_id: project.to_owned(), ..Default::default() });
    quota.metadata.generation = Some(1);
    quota
}

#[test]
fn a_quota_that_comes_changes_or_goes_is_computed_and_our_own_status_is_not() {
    let old = quota("p");
    assert_eq!(map_quota(&change(None, Some(&old))), keys(&["p"]));
    assert_eq!(map_quota(&change(Some(&old), None)), keys(&["p"]));
    let mut pushed = old.clone();
    pushed.spec.quota.insert("hw_version_a_ram".to_owned(), 1);
    assert_eq!(map_quota(&change(Some(&old), Some(&pushed))), keys(&["p"]));
    let mut computed = old.clone();
    let total_usage = [("hw_version_a_ram".to_owned(), 1)].into();
    computed.status = Some(ProjectQuotaStatus { observed_generation: Some(1), total_usage, ..Default::default() });
    assert_eq!(map_quota(&change(Some(&old), Some(&computed))), keys(&[]));
    assert_eq!(map_quota(&change(Some(&computed), Some(&old))), keys(&["p"]), "its numbers are gone");
}

#[test]
fn a_commitment_concerns_its_project_when_what_it_pays_for_may_differ() {
    let old = testing::commitment("uuid-1", "8Gi");
    let mut same = old.clone();
    same.status.get_or_insert_default().status_summary = Some("text".to_owned());
    assert_eq!(map_commitment(&change(Some(&old), Some(&same))), keys(&[]));
    for status in [
        json!({ "usedDeclaredGiB": 8 }),
        json!({ "usedResources": { "memory": "8Gi" } }),
        json!({ "assignedInstances": ["vm-1"] }),
        json!({ "acceptedSpec": old.spec }),
    ] {
        let mut used = old.clone();
        used.status = Some(serde_json::from_value(status.clone()).unwrap());
        assert_eq!(map_commitment(&change(Some(&old), Some(&used))), keys(&[testing::PROJECT]), "{status}");
    }
    let ready = json!({ "type": "Ready", "status": "False", "reason": "DuplicateUUID", "message": "",
        "lastTransitionTime": "2026-03-01T12:00:00Z" });
    let mut duplicate = old.clone();
    duplicate.status = Some(serde_json::from_value(json!({ "conditions": [ready] })).unwrap());
    for (before, after) in [(&old, &duplicate), (&duplicate, &old)] {
        assert_eq!(
            map_commitment(&change(Some(before), Some(after))),
            keys(&[testing::PROJECT]),
            "another one is served"
        );
    }
    let mut moved = old.clone();
    moved.spec.project_id = "other".to_owned();
    assert_eq!(map_commitment(&change(Some(&old), Some(&moved))), keys(&["other", testing::PROJECT]));
}

#[test]
fn all_projects_are_those_with_a_quota() {
    let quotas = filled(indexes::QUOTA_INDEXES, &ClusterName::home(), [quota("p")]);
    assert_eq!(all_projects(&quotas), keys(&["p"]));
}
