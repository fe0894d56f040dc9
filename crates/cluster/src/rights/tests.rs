use std::collections::BTreeMap;
use std::sync::Arc;

use berth_crds::{Hypervisor, Reservation};
use berth_telemetry::config::{ApiServers, Remote};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::preflight;
use crate::testing::{Reply, Request, Thing, scripted};

const OWN: &str = "harbour";

fn home() -> ClusterName {
    ClusterName::home()
}

fn at_home(rights: &[Right]) -> Vec<Need> {
    needs(rights, &Routes::home_only(), &home(), OWN)
}

fn secret(verbs: &[Verb]) -> Right {
    Right::resource("", "v1", "secrets", verbs).in_namespace("other").named(["b", "a"])
}

/// Home serves everything but Reservations, the remote only those.
fn split_routes() -> (Routes, ClusterName) {
    let reservations = config::Kind::parse("cortex.cloud/v1alpha1/Reservation").unwrap();
    let remote = Remote {
        host: "https://there".to_owned(),
        ca_cert: None,
        insecure_skip_tls_verify: false,
        kinds: BTreeSet::from([reservations]),
        labels: BTreeMap::from([(config::ZONE_LABEL.to_owned(), "az-a".to_owned())]),
    };
    let hosts = config::Kind::parse("kvm.cloud.sap/v1/Hypervisor").unwrap();
    let routes = Routes::new(&ApiServers { home: Some(BTreeSet::from([hosts])), remotes: vec![remote] });
    let remote = routes.names().into_iter().find(|name| *name != home()).unwrap();
    (routes, remote)
}

#[test]
fn what_is_needed_of_the_same_objects_is_one_need() {
    let rights = [
        Right::kind::<Thing>(Verb::READ),
        Right::status::<Thing>(&[Verb::Patch]),
        Right::kind::<Thing>(&[Verb::Patch, Verb::Get]),
        Right::kind::<Thing>(&[Verb::Get]).named(["a"]),
    ];
    let all = Need::kind::<Thing>(&[Verb::Get, Verb::List, Verb::Watch, Verb::Patch]);
    let named = Need { names: BTreeSet::from(["a".to_owned()]), ..Need::kind::<Thing>(&[Verb::Get]) };
    assert_eq!(at_home(&rights), [all, Need::status::<Thing>(&[Verb::Patch]), named]);
}

#[test]
fn a_kind_has_to_be_installed_if_anybody_cannot_do_without() {
    let (read, patch) = (Right::kind::<Thing>(&[Verb::Get]), Right::kind::<Thing>(&[Verb::Patch]));
    let both = Need::kind::<Thing>(&[Verb::Get, Verb::Patch]);
    assert_eq!(at_home(&[read.clone().optional(), patch.clone().optional()]), [both.clone().optional()]);
    for rights in [[read.clone().optional(), patch.clone()], [read, patch.optional()]] {
        assert_eq!(at_home(&rights).as_slice(), std::slice::from_ref(&both));
    }
}

#[test]
fn a_cluster_is_asked_about_the_kinds_that_it_serves_and_home_about_its_own_affairs() {
    let (routes, remote) = split_routes();
    let rights = [
        Right::kind::<Hypervisor>(Verb::READ),
        Right::kind::<Reservation>(Verb::READ),
        Right::status::<Reservation>(&[Verb::Patch]).at_home(),
        Right::events_about::<Reservation>(),
        Right::resource("", "v1", "configmaps", &[Verb::Get]).in_own_namespace().at_home(),
        Right::resource("", "v1", "pods", &[Verb::Get]).in_own_namespace(),
    ];
    let pods = Need::namespaced("", "v1", "pods", OWN, &[Verb::Get]);
    let events = Need::namespaced("events.k8s.io", "v1", "events", "default", &[Verb::Create, Verb::Patch]);
    assert_eq!(
        needs(&rights, &routes, &home(), OWN),
        [
            Need::kind::<Hypervisor>(Verb::READ),
            Need::namespaced("", "v1", "configmaps", OWN, &[Verb::Get]),
            pods.clone()
        ]
    );
    assert_eq!(needs(&rights, &routes, &remote, OWN), [Need::kind::<Reservation>(Verb::READ), events, pods]);
}

#[test]
fn creating_is_needed_and_granted_for_all_names_where_the_rest_is_limited_to_some() {
    let rights = [secret(&[Verb::Get, Verb::Create, Verb::Patch])];
    let create = Need::namespaced("", "v1", "secrets", "other", &[Verb::Create]);
    let names = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    let rest = Need::namespaced("", "v1", "secrets", "other", &[Verb::Get, Verb::Patch]);
    assert_eq!(at_home(&rights), [create, Need { names: names.clone(), ..rest }]);
    let [role] = &roles(&rights, OWN)[..] else { panic!("one role") };
    let rules: Vec<_> = role.rules.iter().map(|rule| (&rule.names, rule.verbs.iter().copied().collect())).collect();
    assert_eq!(rules, [(&BTreeSet::new(), vec![Verb::Create]), (&names, vec![Verb::Get, Verb::Patch])]);
}

#[test]
fn each_namespace_has_roles_of_its_own_and_cluster_scoped_rights_are_in_one() {
    let rights = [
        Right::kind::<Thing>(&[Verb::Get]).because("Read."),
        Right::events_about::<Thing>(),
        Right::resource("", "v1", "configmaps", &[Verb::Get]).in_own_namespace(),
        Right::resource("", "v1", "configmaps", &[Verb::Patch]).in_namespace(OWN).granted_by("configmaps"),
        Right::kind::<Thing>(&[Verb::Delete, Verb::Get]).because("Removed.").optional(),
        Right::kind::<Thing>(&[Verb::Get]).because("Read."),
    ];
    let roles = roles(&rights, OWN);
    let names: Vec<_> = roles.iter().map(|role| (role.name.as_str(), role.namespace.as_deref())).collect();
    assert_eq!(names, [("berth", None), ("berth-events", Some("default")), ("berth-configmaps", Some(OWN))]);
    let thing = Rule {
        group: "test.berth".to_owned(),
        resource: "things".to_owned(),
        names: BTreeSet::new(),
        verbs: BTreeSet::from([Verb::Get, Verb::Delete]),
        why: vec!["Read.", "Removed."],
        optional: false,
    };
    assert_eq!(roles[0].rules, [thing]);
    assert_eq!(roles[2].rules.len(), 1, "{roles:#?}");
}

/// The result of the preflight, and verb and name of each review, for a server that denies what `denies` says.
async fn asked(
    rights: &[Right],
    denies: impl Fn(&str, Option<&str>) -> bool + Send + Sync + 'static,
) -> (Vec<String>, Vec<String>) {
    let reviews = Arc::new(Mutex::new(Vec::new()));
    let seen = reviews.clone();
    let cluster = scripted(move |request: &Request| match request.path.as_str() {
        "/version" => Reply::Json(
            200,
            json!({
                "major": "1", "minor": "31", "gitVersion": "v1.31.0", "gitCommit": "", "gitTreeState": "", "buildDate": "",
                "goVersion": "", "compiler": "", "platform": "",
            }),
        ),
        "/api/v1" => Reply::Json(
            200,
            json!({ "groupVersion": "v1", "resources": [
            { "name": "secrets", "singularName": "", "namespaced": true, "kind": "Secret", "verbs": [] },
        ] }),
        ),
        _ => {
            let asked = &request.body["spec"]["resourceAttributes"];
            let (verb, name) = (asked["verb"].as_str().unwrap(), asked.get("name").and_then(Value::as_str));
            seen.lock().push(format!("{verb} {}", name.unwrap_or("-")));
            let allowed = !denies(verb, name);
            Reply::Json(201, json!({ "metadata": {}, "spec": {}, "status": { "allowed": allowed } }))
        }
    });
    let problems = preflight(&cluster, &at_home(rights)).await.err().unwrap_or_default();
    let mut reviews = reviews.lock().clone();
    reviews.sort();
    (problems.iter().map(ToString::to_string).collect(), reviews)
}

#[tokio::test]
async fn the_preflight_asks_for_every_name_and_verb_and_once_whether_objects_may_be_created() {
    let rights = [secret(&[Verb::Get, Verb::Create, Verb::Patch])];
    let (problems, reviews) = asked(&rights, |_, _| false).await;
    assert_eq!(reviews, ["create -", "get a", "get b", "patch a", "patch b"]);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn a_missing_right_names_the_objects_that_it_is_missing_for() {
    let rights = [secret(&[Verb::Get, Verb::Create, Verb::Patch])];
    let (problems, _) = asked(&rights, |verb, name| verb == "create" || (verb == "patch" && name == Some("b"))).await;
    let rest = "in namespace other; grant it with a Role and a binding to our account";
    let one = format!("cluster home: we may not create secrets {rest}");
    assert_eq!(problems, [one.clone(), format!("cluster home: we may not patch secrets named b {rest}")]);
    let (problems, _) = asked(&rights, |_, _| true).await;
    assert_eq!(problems, [one, format!("cluster home: we may not get, patch secrets named a, b {rest}")]);
}
