//! The rules of `config/rbac`, at home and in another cluster, and how some of their verbs are removed on a running API server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::table::Row;
use crate::support::waiting::{so, until};

/// The rights in the cluster that the operator runs in.
pub const HOME: &str = include_str!("../../../../../config/rbac/operator.yaml");
/// The rights in another cluster.
pub const REMOTE: &str = include_str!("../../../../../config/rbac/remote/operator.yaml");
const ACCOUNT: &str = "system:serviceaccount:berth-system:berth";

/// A verb of a rule: the role, the resource, the object if it is limited to one, and the verb.
pub type Right = [String; 4];

pub fn right(row: &Row) -> Right {
    [row.role, row.resource, row.name, row.verb].map(str::to_owned)
}

/// The roles of the operator in a file.
fn roles(file: &str) -> Vec<Value> {
    let documents = serde_saphyr::from_multiple::<Value>(file).unwrap();
    documents.into_iter().filter(|one| one["rules"].is_array()).collect()
}

fn words(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn rights_of(granted: &Value, rule: &Value) -> Vec<Right> {
    let owner = granted["metadata"]["name"].as_str().unwrap();
    let name = words(&rule["resourceNames"]).next().unwrap_or_default();
    let of_resource =
        |resource| words(&rule["verbs"]).map(move |verb| [owner, resource, name, verb].map(str::to_owned));
    words(&rule["resources"]).flat_map(of_resource).collect()
}

/// All verbs of all rules of a file.
pub fn rights(file: &str) -> BTreeSet<Right> {
    let of_role = |role: &Value| {
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        rules.iter().flat_map(|rule| rights_of(role, rule)).collect::<Vec<_>>()
    };
    roles(file).iter().flat_map(of_role).collect()
}

/// The rules of a role without these rights.
fn rules_without(role: &Value, removed: &BTreeSet<Right>) -> Vec<Value> {
    let mut rules = role["rules"].as_array().cloned().unwrap_or_default();
    for rule in &mut rules {
        let left: Vec<_> = rights_of(role, rule).into_iter().filter(|right| !removed.contains(right)).collect();
        rule["verbs"] = left.iter().map(|[_, _, _, verb]| verb.as_str()).collect();
    }
    rules.retain(|rule| rule["verbs"] != json!([]));
    rules
}

/// The roles of a file in the cluster that they are for.
pub struct Grants {
    roles: Vec<Value>,
    client: Client,
}

impl Grants {
    pub fn new(file: &str, client: Client) -> Self {
        Self { roles: roles(file), client }
    }

    /// Grants everything but this, and waits until the API server decides so.
    pub async fn grant_without(&self, removed: &BTreeSet<Right>) {
        for role in &self.roles {
            let rules = Patch::Merge(json!({ "rules": rules_without(role, removed) }));
            let kind = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", role["kind"].as_str().unwrap());
            let resource = ApiResource::from_gvk(&kind);
            let api: Api<DynamicObject> = match role["metadata"]["namespace"].as_str() {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
                None => Api::all_with(self.client.clone(), &resource),
            };
            api.patch(role["metadata"]["name"].as_str().unwrap(), &PatchParams::default(), &rules).await.unwrap();
        }
        for role in &self.roles {
            for rule in role["rules"].as_array().into_iter().flatten() {
                for right in rights_of(role, rule) {
                    decided(&self.client, (role, rule), &right, !removed.contains(&right)).await;
                }
            }
        }
    }
}

/// Rights take effect a moment after they are written.
async fn decided(client: &Client, (owner, rule): (&Value, &Value), [_, resource, name, verb]: &Right, expected: bool) {
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let attributes = ResourceAttributes {
        group: words(&rule["apiGroups"]).next().and_then(text),
        namespace: owner["metadata"]["namespace"].as_str().and_then(text),
        name: text(name),
        resource: text(resource),
        subresource: text(sub),
        verb: text(verb),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: text(ACCOUNT),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let asked = until(async || {
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| error.to_string())?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        so(allowed == expected, || format!("{verb} {resource}/{sub} {name}: {allowed}"))
    });
    asked.await.unwrap();
}

/// The file is what is applied to the API servers of all tests.
#[test]
fn these_rights_are_those_that_the_world_grants() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/rbac/operator.yaml");
    assert_eq!(fs::read_to_string(path).unwrap(), HOME);
}
