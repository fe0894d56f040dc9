//! Every verb of every rule of the roles for people and for Prometheus is removed, and the command that needs it says so. Runs the
//! real binary on a real API server.

use std::collections::BTreeSet;

use berth_crds::{ProjectQuota, names, testing};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};

use crate::callers::outside;
use crate::support::desk::Desk;
use crate::support::http::get_secure;
use crate::support::objects::{ZONE, capacity, host, non_rejectable};
use crate::support::operator::SECURE_METRICS;
use crate::support::waiting::{so, until};
use crate::support::world::{World, bound};

const ROLES: &str = include_str!("../../../../config/rbac/people-roles.yaml");
/// The role of the account, which has one right less than it should.
const LESS: &str = "one-right-less";

const EXPLAIN: &str = "berth-explain";
const CHECK: &str = "berth-crds-check";
const METRICS: &str = "berth-metrics";

/// What needs a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    ExplainCommitment,
    ExplainZone,
    Schedule,
    CheckObjects,
    CheckDefinitions,
    Scrape,
}

impl Use {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::ExplainCommitment => &["explain", "commitment", "story-1"],
            Self::ExplainZone => &["explain", "zone", ZONE],
            Self::Schedule => &["schedule", "--flavor", testing::FLAVOR, "--zone", ZONE],
            Self::CheckObjects => &["crds", "check"],
            Self::CheckDefinitions => &["crds", "--check-only"],
            Self::Scrape => &[],
        }
    }
}

/// The role, the resource or path, the object if there is but one, the verb, and what says that it is missing.
type Row = (&'static str, &'static str, &'static str, &'static str, Use, &'static str);

const ROWS: [Row; 25] = [
    (EXPLAIN, "configmaps", "berth-claims", "get", Use::Schedule, "cannot get resource \\\"configmaps\\\""),
    (EXPLAIN, "configmaps", "berth-claims", "list", Use::Schedule, "cannot list resource \\\"configmaps\\\""),
    (EXPLAIN, "configmaps", "berth-liquid-info", "get", Use::ExplainZone, "cannot get resource \"configmaps\""),
    (EXPLAIN, "configmaps", "berth-liquid-info", "list", Use::ExplainZone, "cannot list resource \"configmaps\""),
    (EXPLAIN, "leases", "berth", "get", Use::ExplainCommitment, "the Lease berth cannot be read"),
    (EXPLAIN, "leases", "berth", "list", Use::ExplainCommitment, "the Lease berth cannot be read"),
    (EXPLAIN, "commitmentchanges", "", "list", Use::ExplainCommitment, "cannot list resource \"commitmentchanges\""),
    (EXPLAIN, "committedresources", "", "list", Use::ExplainCommitment, "cannot list resource \"committedresources\""),
    (EXPLAIN, "flavorgroupcapacities", "", "list", Use::ExplainZone, "cannot list resource \"flavorgroupcapacities\""),
    (EXPLAIN, "knowledges", "", "list", Use::ExplainCommitment, "cannot list resource \"knowledges\""),
    (EXPLAIN, "pipelines", "", "list", Use::ExplainCommitment, "cannot list resource \"pipelines\""),
    (EXPLAIN, "projectquotas", "", "list", Use::ExplainZone, "cannot list resource \"projectquotas\""),
    (EXPLAIN, "reservations", "", "list", Use::ExplainCommitment, "cannot list resource \"reservations\""),
    (EXPLAIN, "hypervisors", "", "list", Use::ExplainZone, "cannot list resource \"hypervisors\""),
    (EXPLAIN, "/v1/explain/*", "", "get", Use::ExplainCommitment, "the bearer of this token may not get this path"),
    (CHECK, "customresourcedefinitions", "", "get", Use::CheckDefinitions, "cannot get resource \"customresourcedef"),
    (CHECK, "committedresources", "", "list", Use::CheckObjects, "cannot list resource \"committedresources\""),
    (CHECK, "committedresources", "", "create", Use::CheckObjects, "cannot create resource \"committedresources\""),
    (CHECK, "flavorgroupcapacities", "", "list", Use::CheckObjects, "cannot list resource \"flavorgroupcapacities\""),
    (CHECK, "flavorgroupcapacities", "", "create", Use::CheckObjects, "cannot create resource \"flavorgroupcapaci"),
    (CHECK, "projectquotas", "", "list", Use::CheckObjects, "cannot list resource \"projectquotas\""),
    (CHECK, "projectquotas", "", "create", Use::CheckObjects, "cannot create resource \"projectquotas\""),
    (CHECK, "reservations", "", "list", Use::CheckObjects, "cannot list resource \"reservations\""),
    (CHECK, "reservations", "", "create", Use::CheckObjects, "cannot create resource \"reservations\""),
    (METRICS, "/metrics", "", "get", Use::Scrape, "403"),
];

fn rules(role: &str) -> Vec<Value> {
    let documents = serde_saphyr::from_multiple::<Value>(ROLES).unwrap();
    let found = documents.into_iter().find(|one| one["metadata"]["name"] == role).unwrap();
    found["rules"].as_array().cloned().unwrap()
}

/// The resource or path and the object of a rule, each of which has only one.
fn subject(rule: &Value) -> (String, String) {
    let first = |list: &Value| list[0].as_str().unwrap_or_default().to_owned();
    let resource = if rule["resources"].is_array() { &rule["resources"] } else { &rule["nonResourceURLs"] };
    (first(resource), first(&rule["resourceNames"]))
}

#[test]
fn each_verb_of_each_rule_for_people_has_one_row() {
    let mut declared = BTreeSet::new();
    for role in [EXPLAIN, CHECK, METRICS] {
        for rule in rules(role) {
            let (resource, name) = subject(&rule);
            let verbs = rule["verbs"].as_array().unwrap().iter().filter_map(Value::as_str);
            declared.extend(verbs.map(|verb| [role, &resource, &name, verb].map(str::to_owned)));
        }
    }
    let rows: BTreeSet<_> =
        ROWS.iter().map(|(role, resource, name, verb, ..)| [*role, resource, name, verb].map(str::to_owned)).collect();
    assert_eq!(declared, rows, "left: the rules of config/rbac; right: the rows of this file");
}

/// Gives the account the rules of a role without one verb, if any.
async fn grant(world: &World, role: &str, without: Option<&Row>) {
    let mut left = rules(role);
    for rule in &mut left {
        let of_row =
            without.filter(|(_, resource, name, ..)| subject(rule) == (str::to_owned(resource), str::to_owned(name)));
        if let (Some((_, _, _, removed, ..)), Some(verbs)) = (of_row, rule["verbs"].as_array_mut()) {
            verbs.retain(|verb| verb != removed);
        }
    }
    left.retain(|rule| rule["verbs"] != json!([]));
    let roles: Api<ClusterRole> = Api::all(world.client().await);
    let role = ClusterRole {
        metadata: ObjectMeta { name: Some(LESS.to_owned()), ..ObjectMeta::default() },
        rules: serde_json::from_value(json!(left)).unwrap(),
        ..ClusterRole::default()
    };
    roles.patch(LESS, &PatchParams::apply("test").force(), &Patch::Apply(&role)).await.unwrap();
}

/// What the account gets to see.
async fn shown(world: &World, desk: &Desk, used: Use) -> String {
    if used == Use::Scrape {
        // The answer to a token is remembered for a while.
        let token = world.kubectl(&["create", "token", LESS, "--namespace=people"]).await;
        let shown = format!("Bearer {}", token.trim());
        let (status, _) = get_secure(world.operator().metrics_address(), "/metrics", Some(&shown)).await.unwrap();
        return status.to_string();
    }
    let ended = desk.berth(used.arguments(), "").await;
    ended.stdout + &ended.stderr
}

#[tokio::test]
async fn a_right_of_people_that_is_removed_is_missed_by_the_command_that_needs_it() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    world.use_keys(&json!({ "scheduler": { "token": "s3cret" } }));
    let api = format!("--api-bind-address={}", outside());
    world.start_with(&["--leader-elect", SECURE_METRICS, &api]).await;
    world.create(&non_rejectable("story-1", 1)).await;
    world.accepted("story-1").await;
    world.create(&capacity(ZONE, None)).await;
    let spec = json!({ "projectID": "p", "domainID": "d", "availabilityZone": ZONE, "quota": {} });
    let quota = json!({ "metadata": { "name": names::project_quota("p", ZONE) }, "spec": spec });
    world.create_raw::<ProjectQuota>(quota).await.unwrap();
    let desk = Desk::of(&bound(world.control_plane(), LESS, LESS).await);
    let words: Vec<_> = ROWS.iter().map(|row| row.5).collect();
    for role in [EXPLAIN, CHECK, METRICS] {
        grant(&world, role, None).await;
        let uses: BTreeSet<_> = ROWS.iter().filter(|row| row.0 == role).map(|row| row.4).collect();
        for used in uses {
            let fine = until(async || {
                let text = shown(&world, &desk, used).await;
                so(!words.iter().any(|words| text.contains(words)), || text)
            });
            fine.await.unwrap_or_else(|bad| panic!("{role} does not suffice: {bad}"));
        }
        for row in ROWS.iter().filter(|row| row.0 == role) {
            grant(&world, role, Some(row)).await;
            let missed = until(async || {
                let text = shown(&world, &desk, row.4).await;
                so(text.contains(row.5), || text)
            });
            missed.await.unwrap_or_else(|bad| panic!("{row:?}: {bad}"));
        }
    }
    world.stop().await;
}
