use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use axum::{Json, Router};
use berth_cluster::{Cluster, Right, Routes, Verb, needs, preflight};
use berth_core::ClusterName;
use berth_crds::{FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, Reservation};
use berth_telemetry::config::{Configuration, Controller, Pipelines};
use insta::assert_snapshot;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::wiring::{Duties, rights};

const SYSTEM: &str = "berth-system";

fn parsed(place: Place, namespace: &str) -> Vec<Value> {
    documents(place, namespace).iter().map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// What is shipped for those who do not use the chart, from which it is rendered: documents of a folder of `config`.
fn shipped(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap());
    let all = files.flat_map(|text| text.split("---\n").map(str::to_owned).collect::<Vec<_>>());
    // A file begins with what it is.
    all.filter(|document| document.contains("kind:")).collect()
}

/// Documents by kind, namespace and name, with the text of their rules, which has the reasons, however names are quoted.
fn by_name(documents: &[String]) -> BTreeMap<String, (Value, String)> {
    let rules = |text: &str| text.split_once("rules:\n").map(|(_, rules)| rules.replace('"', "")).unwrap_or_default();
    let entry = |text: &String| {
        let value: Value = serde_saphyr::from_str(text).unwrap();
        let meta = &value["metadata"];
        (format!("{} {}/{}", value["kind"], meta["namespace"], meta["name"]), (value, rules(text)))
    };
    documents.iter().map(entry).collect()
}

#[test]
fn what_is_shipped_grants_what_the_code_declares() {
    for (folder, place) in [("rbac", Place::Home), ("rbac/remote", Place::Remote)] {
        let (shipped, declared) = (by_name(&shipped(folder)), by_name(&documents(place, SYSTEM)));
        let names = |all: &BTreeMap<String, _>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&shipped), names(&declared), "{folder}: run make chart-files");
        for (name, declared) in declared {
            assert_eq!(shipped[&name], declared, "{folder}: {name}: run make chart-files");
        }
    }
}

#[test]
fn another_namespace_is_that_of_the_account_and_of_the_lease_also_if_yaml_has_other_plans_with_its_name() {
    for namespace in ["harbour", "no", "12", "1e3"] {
        let documents = parsed(Place::Home, namespace);
        let of = |kind: &str, name: &str| {
            let found = documents.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
            found.unwrap_or_else(|| panic!("no {kind} {name}: {documents:#?}"))
        };
        of("Namespace", namespace);
        assert_eq!(of("ServiceAccount", "berth")["metadata"]["namespace"], namespace);
        assert_eq!(of("Role", "berth-leader-election")["metadata"]["namespace"], namespace);
        assert_eq!(of("Role", "berth-events")["metadata"]["namespace"], "default");
        for (kind, name) in
            [("ClusterRoleBinding", "berth"), ("RoleBinding", "berth-leader-election"), ("RoleBinding", "berth-events")]
        {
            let subject = json!([{ "kind": "ServiceAccount", "name": "berth", "namespace": namespace }]);
            assert_eq!(of(kind, name)["subjects"], subject);
        }
    }
}

#[test]
fn a_rule_that_is_limited_to_objects_names_them() {
    let secrets = Right::resource("", "v1", "secrets", &[Verb::Get, Verb::Create]).in_own_namespace();
    let roles = roles(&[secrets.named(["keystone", "s3"]).because("Credentials.").optional()], SYSTEM);
    let [role] = &roles[..] else { panic!("{roles:#?}") };
    assert_snapshot!(role_and_binding(role, SYSTEM).join("---\n"), @r#"
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata:
      name: berth-secrets
      namespace: berth-system
    rules:
    # Credentials.
    # The kind need not be installed.
    - apiGroups: [""]
      resources: [secrets]
      verbs: [create]
    # Credentials.
    # The kind need not be installed.
    - apiGroups: [""]
      resources: [secrets]
      resourceNames: [keystone, s3]
      verbs: [get]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata:
      name: berth-secrets
      namespace: berth-system
    roleRef:
      apiGroup: rbac.authorization.k8s.io
      kind: Role
      name: berth-secrets
    subjects:
    - kind: ServiceAccount
      name: berth
      namespace: berth-system
    "#);
}

/// An API server that serves all kinds and allows what the roles of the operator allow.
fn authorized() -> Cluster {
    let documents = parsed(Place::Home, SYSTEM);
    let bound: BTreeSet<_> = documents.iter().filter_map(|one| one["roleRef"]["name"].as_str()).collect();
    let is_bound = |role: &&Value| role["metadata"]["name"].as_str().is_some_and(|name| bound.contains(name));
    let roles = documents.iter().filter(|one| !one["rules"].is_null()).filter(is_bound).cloned().collect();
    let router = Router::new().fallback(answer).with_state(Arc::new(roles));
    let service = router.map_request(|request: axum::http::Request<Body>| request.map(axum::body::Body::new));
    Cluster { name: ClusterName::home(), client: Client::new(service, SYSTEM) }
}

async fn answer(State(roles): State<Arc<Vec<Value>>>, uri: Uri, review: Option<Json<Value>>) -> Json<Value> {
    let Some(Json(review)) = review else {
        return Json(if uri.path() == "/version" { version() } else { served(&roles) });
    };
    let allowed = is_allowed(&roles, &review["spec"]["resourceAttributes"]);
    Json(json!({ "metadata": {}, "spec": {}, "status": { "allowed": allowed } }))
}

fn version() -> Value {
    json!({ "major": "1", "minor": "31", "gitVersion": "v1.31.0", "gitCommit": "", "gitTreeState": "", "buildDate": "",
            "goVersion": "", "compiler": "", "platform": "" })
}

/// All resources that the rules name, in every group.
fn served(roles: &[Value]) -> Value {
    let resources = roles.iter().flat_map(|role| role["rules"].as_array().unwrap());
    let resources = resources.flat_map(|rule| rule["resources"].as_array().unwrap());
    let resource = |name| json!({ "name": name, "singularName": "", "namespaced": false, "kind": "", "verbs": [] });
    json!({ "groupVersion": "", "resources": resources.map(resource).collect::<Vec<_>>() })
}

fn is_allowed(roles: &[Value], asked: &Value) -> bool {
    let resource = asked["resource"].as_str().unwrap().to_owned();
    let resource = asked["subresource"].as_str().map_or(resource.clone(), |sub| format!("{resource}/{sub}"));
    let contains = |list: &Value, text: &str| list.as_array().is_some_and(|all| all.iter().any(|one| one == text));
    let grants = |rule: &Value| {
        contains(&rule["apiGroups"], asked["group"].as_str().unwrap_or_default())
            && contains(&rule["resources"], &resource)
            && contains(&rule["verbs"], asked["verb"].as_str().unwrap())
            && (rule["resourceNames"].is_null()
                || contains(&rule["resourceNames"], asked["name"].as_str().unwrap_or_default()))
    };
    let here = |role: &&Value| role["kind"] == "ClusterRole" || role["metadata"]["namespace"] == asked["namespace"];
    roles.iter().filter(here).flat_map(|role| role["rules"].as_array().unwrap()).any(grants)
}

/// All sets of controllers, with all settings that change the rights.
fn configurations() -> Vec<Configuration> {
    let mut all = Vec::new();
    for set in 0..1_u32 << Controller::ALL.len() {
        let enabled = Controller::ALL.into_iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
        let enabled: BTreeSet<_> = enabled.map(|(_, controller)| controller).collect();
        for pipelines in [Pipelines::Crd, Pipelines::BuiltIn, Pipelines::BuiltInAndCrd] {
            for (check, evict) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut one = Configuration { enabled_controllers: enabled.clone(), ..Configuration::default() };
                one.scheduler.pipelines = pipelines;
                one.reservation_controller.enable_oversubscription_check = check;
                one.reservation_controller.enable_oversubscription_eviction = evict;
                all.push(one);
            }
        }
    }
    all
}

#[tokio::test]
async fn whatever_is_configured_the_preflight_asks_for_nothing_that_is_not_granted() {
    let cluster = authorized();
    for configuration in configurations() {
        for flag in [false, true] {
            let rights = rights(&configuration, Duties { competes: flag, checks_callers: flag });
            assert!(rights.iter().all(|right| all_rights().contains(right)), "{configuration:#?}");
            let needs = needs(&rights, &Routes::home_only(), &cluster.name, SYSTEM);
            assert_eq!(preflight(&cluster, &needs).await, Ok(()), "{configuration:#?}");
        }
    }
}

#[tokio::test]
async fn what_no_part_needs_is_not_granted() {
    let beyond = [
        Right::kind::<Knowledge>(&[Verb::Patch]),
        Right::kind::<Knowledge>(&[Verb::Get]),
        Right::kind::<FlavorGroupCapacity>(&[Verb::Patch]),
        Right::kind::<Hypervisor>(&[Verb::Get]),
        Right::kind::<Pipeline>(&[Verb::Get]),
        Right::status::<Reservation>(&[Verb::Delete]),
        Right::resource("", "v1", "secrets", &[Verb::Get]).in_own_namespace(),
        Right::resource("events.k8s.io", "v1", "events", &[Verb::Create]).in_own_namespace(),
    ];
    let needs = needs(&beyond, &Routes::home_only(), &ClusterName::home(), SYSTEM);
    let problems = preflight(&authorized(), &needs).await.unwrap_err();
    let denied = problems.iter().filter(|problem| problem.to_string().contains("we may not")).count();
    // Those about one kind are asked about together.
    assert_eq!(denied, beyond.len() - 1, "{problems:#?}");
}

fn size(rights: &[Right]) -> usize {
    roles(rights, SYSTEM).iter().flat_map(|role| &role.rules).map(|rule| rule.verbs.len()).sum()
}

#[test]
fn what_is_not_enabled_asks_for_less() {
    let count = |change: fn(&mut Configuration)| {
        let mut configuration = Configuration::default();
        change(&mut configuration);
        size(&rights(&configuration, Duties { competes: true, checks_callers: true }))
    };
    let all = count(|_| {});
    assert_eq!(all, size(&all_rights()));
    let without_commitments =
        count(|keys| keys.enabled_controllers.retain(|one| *one != Controller::CommittedResources));
    let without_nova = count(|keys| keys.enabled_controllers.retain(|one| *one != Controller::NovaPipelines));
    let without_objects = count(|keys| keys.scheduler.pipelines = Pipelines::BuiltIn);
    let nothing = count(|keys| keys.enabled_controllers.clear());
    assert!(all > without_commitments && all > without_nova && all > without_objects);
    // Eight kinds are followed, there is the lease, and the API server is asked about callers.
    assert_eq!(nothing, 8 * Verb::FOLLOW.len() + 3 + 2);
}

#[test]
fn roles_for_people_have_no_bindings_and_change_nothing_but_by_dry_runs() {
    let documents = parsed(Place::Home, SYSTEM);
    let people = ["berth-explain", "berth-crds-check", "berth-metrics"];
    assert!(!documents.iter().any(|one| people.iter().any(|role| one["roleRef"]["name"] == *role)));
    for role in people {
        let found = documents.iter().find(|one| one["metadata"]["name"] == role).unwrap();
        assert_eq!(found["kind"], "ClusterRole");
        let rules = found["rules"].as_array().unwrap();
        let verbs = rules.iter().flat_map(|rule| rule["verbs"].as_array().unwrap());
        let verbs: BTreeSet<_> = verbs.filter_map(Value::as_str).collect();
        assert_eq!(verbs.contains("create"), role == "berth-crds-check", "{verbs:?}");
        assert!(verbs.iter().all(|verb| ["get", "list", "create"].contains(verb)), "{verbs:?}");
    }
}

#[test]
fn what_a_remote_is_not_asked_for_is_not_granted_there() {
    let resources = |place| {
        let own = parsed(place, SYSTEM).into_iter().filter(|one| one["metadata"]["name"] == "berth");
        let rules = own.flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default());
        rules.map(|rule| rule["resources"][0].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let (home, remote) = (resources(Place::Home), resources(Place::Remote));
    let only_at_home: Vec<_> = home.difference(&remote).map(String::as_str).collect();
    let expected = [
        "commitmentchanges",
        "commitmentchanges/status",
        "datasources",
        "pipelines",
        "pipelines/status",
        "subjectaccessreviews",
        "tokenreviews",
    ];
    assert_eq!((only_at_home.as_slice(), remote.is_subset(&home)), (&expected[..], true));
}
