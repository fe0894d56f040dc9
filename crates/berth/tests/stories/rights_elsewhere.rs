//! Rights to Secrets and in other clusters: what reports that one is missing. Runs the real binary on real API servers.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use berth_crds::generate;
use berth_testkit::keystone::Keystone;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::preflight::{file, lines, preflight};
use crate::support::free_ports::free_addresses;
use crate::support::http::send;
use crate::support::keystone::{create_secret, grant_secret, secret_ref};
use crate::support::objects::OTHER_ZONE;
use crate::support::two_clusters::{Side, TwoClusters};
use crate::support::waiting::{so, until};
use crate::support::world::{World, apply};

const PASSWORD: &str = "the-password-of-keystone";
const NAMESPACE: &str = "berth-system";
const REFUSED: [&str; 2] = ["berth-system/keystone", "forbidden"];

/// Waits until a caller with this token is answered with this status.
async fn is_answered(api: SocketAddr, path: &str, token: &str, status: u16) {
    let request = format!("{path} HTTP/1.1\r\nX-Auth-Token: {token}\r\nX-Rest:");
    let answered = until(async || {
        let answer = send(api, "GET", &request, 0, b"").await;
        so(answer.as_ref().is_some_and(|answer| answer.status == status), || format!("{answer:?}"))
    });
    answered.await.unwrap_or_else(|bad| panic!("{path} as {token}, not {status}: {bad}"));
}

/// A double of Keystone with as many tokens as the test shows, each of which is new to a server.
async fn keystone() -> Keystone {
    let keystone = Keystone::start(PASSWORD).await.unwrap();
    for token in ["first", "second", "third"] {
        keystone.issue_token(token, "admin", "service", &["cloud_resource_admin", "service"]);
    }
    keystone
}

/// Until the API server decides so.
async fn takes_effect(world: &World, account: &str, allowed: bool) {
    let subject = format!("--as=system:serviceaccount:{NAMESPACE}:{account}");
    let namespace = format!("--namespace={NAMESPACE}");
    let decided = until(async || {
        // A refusal is its exit code.
        let answer = world.try_kubectl(&["auth", "can-i", "get", "secrets/keystone", &subject, &namespace]).await;
        so(answer.is_ok() == allowed, || format!("{answer:?}"))
    });
    decided.await.unwrap();
}

async fn take_right(world: &World, role: &str, account: &str) {
    world.kubectl(&["delete", "role", role, "--namespace", NAMESPACE]).await;
    takes_effect(world, account, false).await;
}

#[tokio::test]
async fn an_operator_that_may_not_read_its_secret_any_more_answers_503_and_logs_why() {
    const INFO: &str = "/commitments/v1/info";
    let keystone = keystone().await;
    let mut world = World::without_operator().await;
    create_secret(&world, &keystone, PASSWORD).await;
    grant_secret(&world).await;
    world.use_keys(&json!({ "keystoneSecretRef": secret_ref() }));
    world.start().await;
    let api = world.operator().api();
    is_answered(api, INFO, "first", 200).await;
    take_right(&world, "berth-secrets", "berth").await;
    // The next login reads the Secret.
    keystone.expire_tokens();
    is_answered(api, INFO, "second", 503).await;
    let log = world.operator().log();
    assert!(log.lines().any(|line| REFUSED.iter().all(|word| line.contains(word))), "{log}");
    grant_secret(&world).await;
    takes_effect(&world, "berth", true).await;
    is_answered(api, INFO, "third", 200).await;
    world.end().await;
}

#[tokio::test]
async fn placement_that_may_not_read_its_secret_any_more_answers_503_and_logs_why() {
    const PROVIDERS: &str = "/resource_providers";
    let keystone = keystone().await;
    let mut world = World::without_operator().await;
    create_secret(&world, &keystone, PASSWORD).await;
    apply(world.control_plane(), "rbac/placement").await;
    let kubeconfig = world.control_plane().service_account(NAMESPACE, "berth-placement").await.unwrap();
    takes_effect(&world, "berth-placement", true).await;
    let folder = tempfile::tempdir().unwrap();
    let [api, side]: [SocketAddr; 2] = free_addresses();
    let log = folder.path().join("log");
    let _server = placement(folder.path(), [api, side], &kubeconfig, &log);
    is_answered(api, PROVIDERS, "first", 200).await;
    take_right(&world, "berth-placement-secrets", "berth-placement").await;
    keystone.expire_tokens();
    is_answered(api, PROVIDERS, "second", 503).await;
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.lines().any(|line| REFUSED.iter().all(|word| line.contains(word))), "{text}");
    apply(world.control_plane(), "rbac/placement").await;
    is_answered(api, PROVIDERS, "third", 200).await;
}

fn placement(folder: &Path, [api, side]: [SocketAddr; 2], kubeconfig: &Path, log: &Path) -> tokio::process::Child {
    let config = folder.join("conf.json");
    fs::write(&config, json!({ "keystoneSecretRef": secret_ref() }).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(["placement", "--metrics-secure=false", &format!("--listen={api}")]);
    command.arg(format!("--metrics-listen={side}")).arg("--config").arg(config);
    command.env("KUBECONFIG", kubeconfig).current_dir(folder).kill_on_drop(true);
    command.stdout(Stdio::null()).stderr(fs::File::create(log).unwrap()).spawn().unwrap()
}

/// The verbs of the rules in other clusters, each with its resource.
fn declared() -> BTreeSet<(String, String)> {
    const RULES: &str = include_str!("../../../../config/rbac/remote/operator.yaml");
    let documents = serde_saphyr::from_multiple::<Value>(RULES).unwrap();
    let rules = documents.iter().flat_map(|one| one["rules"].as_array().into_iter().flatten());
    rules.flat_map(verbs).collect()
}

fn verbs(rule: &Value) -> Vec<(String, String)> {
    let word = |list: &str| rule[list][0].as_str().unwrap().to_owned();
    let resource = format!("{}.{}", word("resources"), word("apiGroups"));
    let verbs = rule["verbs"].as_array().unwrap().iter();
    verbs.map(|verb| (resource.clone(), verb.as_str().unwrap().to_owned())).collect()
}

/// The same of lines like `cluster b: we may not get, list things.example; grant it with ...`.
fn missed(lines: &[&str]) -> BTreeSet<(String, String)> {
    let begin = format!("cluster {OTHER_ZONE}: we may not ");
    let of_line = |line: &&str| {
        let (said, _) = line.strip_prefix(&begin)?.split_once(';')?;
        let said = said.split(" in namespace ").next()?;
        let (verbs, resource) = said.rsplit_once(' ')?;
        Some(verbs.split(", ").map(|verb| (resource.to_owned(), verb.to_owned())).collect::<Vec<_>>())
    };
    lines.iter().filter_map(of_line).flatten().collect()
}

#[tokio::test]
async fn the_preflight_misses_every_verb_of_every_rule_in_another_cluster() {
    let two = TwoClusters::without_operator().await;
    two.at(Side::Remote).install(generate::optional()).await;
    let mut config: Value = serde_json::from_str(&fs::read_to_string(two.config()).unwrap()).unwrap();
    config["enabledControllers"] = json!(crate::capacity::CONTROLLERS);
    let kinds = ["Knowledge", "ProjectQuota", "History"].map(|kind| json!(format!("cortex.cloud/v1alpha1/{kind}")));
    for cluster in ["/apiservers/home/gvks", "/apiservers/remotes/0/gvks"] {
        let served = config.pointer_mut(cluster).unwrap().as_array_mut().unwrap();
        served.extend(kinds.iter().filter(|kind| !served.contains(kind)).cloned().collect::<Vec<_>>());
    }
    let config = file(&config);
    let none = preflight(two.account(), config.path(), &[]).await;
    assert!(missed(&lines(&none, "failure")).is_empty(), "{none:#?}");
    two.deny_all().await;
    let found = until(async || {
        let found = preflight(two.account(), config.path(), &[]).await;
        let all: Vec<&str> = [lines(&found, "failure"), lines(&found, "warning")].concat();
        let (missed, declared) = (missed(&all), declared());
        so(missed == declared, || format!("{:?}\n{found:#?}", declared.symmetric_difference(&missed)))
    });
    let found = found.await;
    two.grant().await;
    found.unwrap_or_else(|bad| panic!("left over: {bad}"));
}
