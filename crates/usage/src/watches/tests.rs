use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::COMMITMENT_INDEXES;
use berth_cluster::testing::filled;
use berth_core::ClusterName;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommitmentState, testing};
use jiff::Timestamp;

use super::*;

fn change<K>(old: Option<K>, new: Option<K>) -> Change<K> {
    let key = ObjectKey::new(ClusterName::home(), "any");
    Change { key, old: old.map(Arc::new), new: new.map(Arc::new) }
}

fn texts(keys: &BTreeSet<ProjectKey>) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn of_project(project: &str) -> CommittedResource {
    let mut object = testing::commitment("uuid-1", "8Gi");
    object.spec.project_id = project.to_owned();
    object
}

fn mapped(edit: impl FnOnce(&mut CommittedResource)) -> Vec<String> {
    let (old, mut new) = (of_project("p"), of_project("p"));
    edit(&mut new);
    texts(&map_commitment(&change(Some(old), Some(new))))
}

#[test]
fn a_commitment_requests_its_project_when_the_assignment_may_differ() {
    assert_eq!(texts(&map_commitment(&change(None, Some(of_project("p"))))), ["p"]);
    assert_eq!(texts(&map_commitment(&change(Some(of_project("p")), None))), ["p"]);
    assert_eq!(mapped(|object| object.spec.state = CommitmentState::Superseded), ["p"]);
    assert_eq!(mapped(|object| object.spec.project_id = "q".to_owned()), ["p", "q"], "both");
    assert_eq!(mapped(|object| object.status.get_or_insert_default().accepted_spec = Some(object.spec.clone())), ["p"]);
    let ready = ready_condition(Status::True, "Accepted", "", Some(1), Timestamp::UNIX_EPOCH);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().conditions = vec![ready]), ["p"]);
}

#[test]
fn usage_that_is_written_and_a_spec_that_is_not_accepted_request_nothing() {
    assert_eq!(mapped(|object| object.spec.amount = "9Gi".into()), [""; 0]);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().used_declared_gib = Some(1)), [""; 0]);
    assert_eq!(mapped(|object| object.status.get_or_insert_default().status_summary = Some("x".into())), [""; 0]);
}

#[test]
fn all_projects_are_those_with_commitments() {
    let mut other = of_project("q");
    other.metadata.name = Some("other".to_owned());
    let known = filled(COMMITMENT_INDEXES, &ClusterName::home(), [of_project("p"), other]);
    assert_eq!(texts(&all_projects(&known)), ["p", "q"]);
}
