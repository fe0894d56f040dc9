//! Discovery and authorization: the version, the served kinds, and which rights a client has.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::KindInfo;
use crate::refusal::Refusal;
use crate::request::{Call, Target};
use crate::verb::Verb;

/// The reported version.
const VERSION: (&str, &str) = ("1", "36");

/// A right that one client, or every client, lacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Denied {
    pub(crate) who: Option<String>,
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
}

/// The answer for a path without objects.
pub(crate) fn discover<'a>(path: &str, kinds: impl Iterator<Item = &'a Arc<KindInfo>>) -> Result<Value, Refusal> {
    let kinds: Vec<&KindInfo> = kinds.map(|kind| &**kind).collect();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let named = kinds.iter().filter(|kind| !kind.group.is_empty());
    let groups: BTreeSet<_> = named.map(|kind| (kind.group.as_str(), kind.version.as_str())).collect();
    let found = match segments.as_slice() {
        ["version"] => Some(version()),
        ["api"] => Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })),
        ["api", version] => served(&kinds, "", version),
        ["apis"] => {
            let groups: Vec<_> = groups.iter().map(|(name, version)| group(name, version)).collect();
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["apis", name] => groups.iter().find(|(group, _)| group == name).map(|(name, version)| group(name, version)),
        ["apis", "authorization.k8s.io", "v1"] => {
            let review = json!({ "name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview",
                                 "namespaced": false, "kind": "SelfSubjectAccessReview", "verbs": ["create"] });
            Some(resources("authorization.k8s.io/v1", &[review]))
        }
        ["apis", group, version] => served(&kinds, group, version),
        _ => None,
    };
    found.ok_or_else(Refusal::page_not_found)
}

fn version() -> Value {
    let (major, minor) = VERSION;
    json!({ "major": major, "minor": minor, "gitVersion": format!("v{major}.{minor}.0"), "gitCommit": "double",
            "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z", "goVersion": "none", "compiler": "none",
            "platform": "memory" })
}

fn group(name: &str, version: &str) -> Value {
    let version = json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    json!({ "kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": [version], "preferredVersion": version })
}

fn resources(group_version: &str, resources: &[Value]) -> Value {
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources })
}

fn served(kinds: &[&KindInfo], group: &str, version: &str) -> Option<Value> {
    let kinds: Vec<_> = kinds.iter().filter(|kind| kind.group == group && kind.version == version).collect();
    let first = kinds.first()?;
    Some(resources(&first.group_version, &kinds.iter().flat_map(|kind| entries(kind)).collect::<Vec<_>>()))
}

fn entries(kind: &KindInfo) -> Vec<Value> {
    let entry = |name: String, verbs: &[&str]| {
        json!({ "name": name, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
                "verbs": verbs })
    };
    let all = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    let mut entries = vec![entry(kind.plural.clone(), &all)];
    if kind.status {
        let mut status = entry(format!("{}/status", kind.plural), &["get", "patch", "update"]);
        status["singularName"] = json!("");
        entries.push(status);
    }
    entries
}

/// Whether the client has the right for a call.
pub(crate) fn check(denied: &BTreeSet<Denied>, who: &str, call: &Call) -> Result<(), Refusal> {
    let Target::Objects { kind, namespace, name, status } = &call.target else { return Ok(()) };
    if denied.is_empty() || call.verb == Verb::Discover {
        return Ok(());
    }
    let segments: Vec<&str> = kind.split('/').collect();
    let (group, plural) = match segments.as_slice() {
        ["", "apis", group, _, plural] => (*group, plural),
        ["", "api", _, plural] => ("", plural),
        _ => return Ok(()),
    };
    let resource = if *status { format!("{plural}/status") } else { (*plural).to_owned() };
    if may(denied, who, call.verb.right(), group, &resource) {
        return Ok(());
    }
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let object = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!(
        "{plural}{dot}{group}{object} is forbidden: User {who:?} cannot {} resource {resource:?} in API group {group:?} {place}",
        call.verb.right()
    );
    Err(Refusal::new(403, "Forbidden", name, message))
}

fn may(denied: &BTreeSet<Denied>, who: &str, verb: &str, group: &str, resource: &str) -> bool {
    !denied.iter().any(|right| {
        right.who.as_deref().is_none_or(|denied| denied == who)
            && (right.verb == verb || right.verb == "*")
            && right.group == group
            && right.resource == resource
    })
}

/// The answer to an access review.
pub(crate) fn review(denied: &BTreeSet<Denied>, who: &str, path: &str, body: &Value) -> Result<Value, Refusal> {
    if path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
        return Err(Refusal::page_not_found());
    }
    let attributes = &body["spec"]["resourceAttributes"];
    let text = |key: &str| attributes[key].as_str().unwrap_or_default();
    let resource = match text("subresource") {
        "" => text("resource").to_owned(),
        sub => format!("{}/{sub}", text("resource")),
    };
    let mut answer = body.clone();
    answer["status"] = json!({ "allowed": may(denied, who, text("verb"), text("group"), &resource) });
    Ok(answer)
}
