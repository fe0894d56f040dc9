//! `berth preflight`: what it finds is what the start would meet, and a start after a preflight without a finding succeeds. It
//! writes nothing.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use berth_control_plane::ControlPlane;
use berth_crds::generate;
use berth_testkit::keystone::Keystone;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::support::cloud::Cloud;
use crate::support::command::{Ended, berth};
use crate::support::fake_cluster;
use crate::support::keystone::{create_secret, grant_secret, secret_ref};
use crate::support::old_server::OldServer;
use crate::support::operator::Operator;
use crate::support::vm_table::VmFile;
use crate::support::waiting::{so, until};
use crate::support::world::{GRACE, World, client, keys};

const PASSWORD: &str = "s3cret";

/// Listeners that no other test has.
const ADDRESSES: [&str; 3] =
    ["--api-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0"];

pub fn file(content: &Value) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    fs::write(file.path(), content.to_string()).unwrap();
    file
}

pub async fn preflight(kubeconfig: &Path, config: &Path, more: &[&str]) -> Ended {
    let named = [format!("--kubeconfig={}", kubeconfig.display()), format!("--config={}", config.display())];
    let mut all = vec!["preflight"];
    all.extend(ADDRESSES);
    all.extend(named.iter().map(String::as_str));
    all.extend(more);
    berth(&all, "").await
}

/// The lines of one state, without it.
pub fn lines<'a>(ended: &'a Ended, state: &str) -> Vec<&'a str> {
    ended.stdout.lines().filter_map(|line| line.strip_prefix(&format!("{state:<8} "))).collect()
}

#[track_caller]
fn fails_with(ended: &Ended, expected: &[&str]) {
    let failures = lines(ended, "failure");
    assert!(ended.status == 1 && failures.len() == expected.len(), "{ended:#?}");
    for text in expected {
        assert!(failures.iter().any(|line| line.contains(text)), "{text}: {ended:#?}");
    }
    let summary = format!("berth: not ready to start: {} failure", expected.len());
    assert!(ended.stderr.starts_with(&summary), "{}", ended.stderr);
}

#[tokio::test]
async fn after_a_preflight_without_a_finding_the_start_succeeds_and_nothing_was_written() {
    let mut world = World::without_operator().await;
    let (keystone, vms) = (Keystone::start(PASSWORD).await.unwrap(), VmFile::create());
    create_secret(&world, &keystone, PASSWORD).await;
    grant_secret(&world).await;
    let mut config = keys("berth", GRACE);
    config["keystoneSecretRef"] = secret_ref();
    config["committedResourceReservationController"]["keystoneSecretRef"] = secret_ref();
    config["vmSourceSqlite"] = json!(vms.path());
    config["scheduler"] = json!({ "token": "s3cret" });
    let config = file(&config);
    let stored = ["get", "leases,configmaps", "--all-namespaces", "--output=name"];
    let (writes, before) = (world.audit_log().len(), world.kubectl(&stored).await);
    let account = world.account().to_owned();
    let all_fine = preflight(&account, config.path(), &["--leader-elect"]).await;
    let log = world.audit_log();
    // Reviews store nothing, and these two are dry runs.
    let is_dry = |resource: &str| ["selfsubjectaccessreviews", "leases", "configmaps"].contains(&resource);
    assert!(log[writes..].iter().all(|write| is_dry(&write.resource)), "{:#?}", &log[writes..]);
    assert_eq!(world.kubectl(&stored).await, before);
    assert_eq!((all_fine.status, all_fine.stderr.as_str()), (0, ""), "{all_fine:#?}");
    assert!(lines(&all_fine, "warning").is_empty() && lines(&all_fine, "failure").is_empty(), "{all_fine:#?}");
    for text in [
        "cluster home: the API server has version v1.",
        "cluster home: reservations.cortex.cloud is served",
        "cluster home: we may get, list, watch, create, patch, delete reservations.cortex.cloud",
        "cluster home: the CRD of Reservation has what is needed",
        "cluster home: the CRD of Hypervisor has what is needed",
        "cluster home: the Lease berth in namespace berth-system exists or can be created",
        "cluster home: the ConfigMap berth-claims in namespace berth-system exists or can be created",
        "keystone: login with the secret berth-system/keystone works, for the tokens of callers of the LIQUID API",
        "keystone: login with the secret berth-system/keystone works, for the names of domains",
        "database of VMs: it can be read",
        "listeners: the probes can be opened at 127.0.0.1:0",
        "listeners: the metrics are switched off",
        "tokens: the tokens of the scheduler API can be read",
    ] {
        assert!(lines(&all_fine, "ok").iter().any(|line| line.starts_with(text)), "{text}: {all_fine:#?}");
    }
    let json = preflight(&account, config.path(), &["--leader-elect", "--output=json"]).await;
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.status, &report["failures"], &report["warnings"]), (0, &json!(0), &json!(0)));
    let found = report["findings"].as_array().unwrap();
    assert_eq!(found.len() + 1, all_fine.stdout.lines().count(), "the last line of the text is the summary");

    let operator =
        Operator::start_as("berth", world.control_plane(), &account, config.path(), &["--leader-elect"]).await;
    let ready = until(async || match operator.probe("/readyz").await {
        Some((200, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(ready.await, Ok(()), "{}", operator.log());
    operator.stop().await;
}

#[tokio::test]
async fn what_a_preflight_finds_is_what_the_start_refuses() {
    let mut world = World::without_operator().await;
    let powerless = world.control_plane().service_account("default", "nobody").await.unwrap();
    let config = file(&keys("berth", GRACE));
    let found = preflight(&powerless, config.path(), &["--leader-elect"]).await;
    let kubeconfig = format!("--kubeconfig={}", powerless.display());
    let config_flag = format!("--config={}", config.path().display());
    let mut start = vec!["operator", "--leader-elect", &kubeconfig, &config_flag];
    start.extend(ADDRESSES);
    let refused = berth(&start, "").await;
    let refused: Vec<_> = refused.stderr.lines().filter_map(|line| line.strip_prefix("berth: ")).collect();
    let failures = lines(&found, "failure");
    assert!(found.status == 1 && refused.len() > 10, "{found:#?}\n{refused:#?}");
    let later = failures.iter().filter(|line| line.starts_with("database of VMs: it cannot be read: ")).count();
    assert_eq!((failures.len() - later, later), (refused.len(), 1), "{found:#?}\n{refused:#?}");
    assert!(refused.iter().all(|line| failures.contains(line)), "{found:#?}\n{refused:#?}");
}

#[tokio::test]
async fn flags_that_contradict_each_other_and_taken_addresses_are_found() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap();
    let config =
        file(&json!({ "leaderElectionID": "", "noSuchKey": 1, "scheduler": { "tokenFile": "/nowhere/tokens" } }));
    let config = format!("--config={}", config.path().display());
    let [probes, api] = [format!("--health-probe-bind-address={taken}"), "--api-bind-address=:8080".to_owned()];
    let all = [
        "preflight",
        "--kubeconfig=/nowhere/kubeconfig",
        "--leader-elect",
        &config,
        &probes,
        &api,
        "--metrics-bind-address=:8080",
    ];
    let found = berth(&all, "").await;
    fails_with(
        &found,
        &[
            "--leader-elect needs a name for the lease",
            "--metrics-bind-address and --api-bind-address both name port 8080",
            "cluster home: the kubeconfig /nowhere/kubeconfig does not exist",
        ],
    );
    let warnings = lines(&found, "warning");
    assert!(warnings.iter().any(|line| line.starts_with("configuration: noSuchKey")), "{found:#?}");
    assert!(warnings.iter().any(|line| line.starts_with("listeners: the probes cannot be opened")), "{found:#?}");
    let unusable = berth(&["preflight", "--config=/nowhere/conf.json"], "").await;
    fails_with(&unusable, &["configuration: /nowhere/conf.json: does not exist"]);
}

#[tokio::test]
async fn an_old_home_cluster_and_remotes_that_are_away_or_old_are_found() {
    let server = OldServer::start().await;
    let kubeconfig = file(&json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": server.url() } }],
        "users": [{ "name": "c", "user": { "token": "t" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    }));
    let old = "the API server has version v1.30.4; upgrade it to 1.31 or newer";
    let config = file(&keys("berth", GRACE));
    let found = preflight(kubeconfig.path(), config.path(), &[]).await;
    let failures = lines(&found, "failure");
    assert!(found.status == 1 && failures.contains(&format!("cluster home: {old}").as_str()), "{found:#?}");
    let is_dry = |line: &String| {
        line.starts_with("GET ") || line.contains("selfsubjectaccessreviews") || line.contains("dryRun=All")
    };
    let requests = server.requests();
    assert!(!requests.is_empty() && requests.iter().all(is_dry), "{requests:#?}");

    let world = World::without_operator().await;
    let remote = |url: &str, zone: &str| json!({ "host": url, "labels": { "availabilityZone": zone }, "gvks": ["kvm.cloud.sap/v1/Hypervisor"] });
    let (too_old, other) = (fake_cluster::too_old().await, fake_cluster::no_kubernetes().await);
    let remotes = [remote(&too_old, "b"), remote("http://127.0.0.1:1", "c"), remote(&other, "d")];
    let at_home = [
        "cortex.cloud/v1alpha1/CommittedResource",
        "cortex.cloud/v1alpha1/Reservation",
        "cortex.cloud/v1alpha1/FlavorGroupCapacity",
        "cortex.cloud/v1alpha1/Knowledge",
        "kvm.cloud.sap/v1/Hypervisor",
    ];
    let mut config = keys("berth", GRACE);
    config["apiservers"] = json!({ "home": { "gvks": at_home }, "remotes": remotes });
    let config = file(&config);
    let found = preflight(world.account(), config.path(), &[]).await;
    let failures = lines(&found, "failure");
    let has = |text: &str| failures.iter().any(|line| line.contains(text));
    assert!(found.status == 1 && has(old) && has("does not answer"), "{found:#?}");
    assert!(failures.iter().all(|line| line.ends_with("(its zones wait until then)")), "{found:#?}");
    assert!(!failures.iter().any(|line| line.starts_with("cluster home")), "{found:#?}");
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_or_used_is_named() {
    let world = World::without_operator().await;
    let keystone = Keystone::start(PASSWORD).await.unwrap();
    let mut config = keys("berth", GRACE);
    config["keystoneSecretRef"] = json!({ "name": "absent", "namespace": "default" });
    let absent = file(&config);
    let found = preflight(world.account(), absent.path(), &[]).await;
    fails_with(
        &found,
        &[
            "cluster home: we may not get secrets named absent in namespace default; grant it with a Role",
            "needs a Role in namespace default that allows get on the secret absent (secrets.readable of the chart)",
        ],
    );
    config["keystoneSecretRef"] = secret_ref();
    let config = file(&config);
    grant_secret(&world).await;
    create_secret(&world, &keystone, "wrong").await;
    let found = preflight(world.account(), config.path(), &[]).await;
    fails_with(&found, &["keystone refuses the credentials"]);
    let no_password = json!([{ "op": "remove", "path": "/data/password" }]).to_string();
    world
        .kubectl(&["patch", "secret", "keystone", "--namespace=berth-system", "--type=json", "--patch", &no_password])
        .await;
    let found = preflight(world.account(), config.path(), &[]).await;
    fails_with(&found, &["missing password in auth secret; correct the secret berth-system/keystone"]);
}

/// On a control plane without CRDs.
pub async fn missing_and_old_crds_are_named(control_plane: &ControlPlane, account: &Path) {
    let config = file(&keys("berth", GRACE));
    let ask = || preflight(account, config.path(), &[]);
    let missing = ask().await;
    let failures = lines(&missing, "failure");
    assert_eq!(missing.status, 1, "{missing:#?}");
    for kind in ["committedresources", "reservations", "hypervisors", "knowledges"] {
        let named = failures.iter().filter(|line| line.contains(kind) && line.contains("install its CRD")).count();
        assert_eq!(named, 1, "{kind}: {missing:#?}");
    }
    let mut crds = generate::all();
    for crd in &mut crds {
        if crd.spec.names.kind == "Reservation" {
            let schema = crd.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
            let spec = schema.properties.as_mut().unwrap().get_mut("spec").unwrap();
            spec.properties.as_mut().unwrap().remove("inFlightReservation");
            spec.x_kubernetes_validations = None;
            schema.x_kubernetes_validations = None;
        }
    }
    Cloud::new(client(control_plane).await).install(crds).await;
    let line = "cluster home: the CRD of Reservation: it has no field spec.inFlightReservation; install the CRDs of this version (berth crds prints them)";
    let named = until(async || {
        // The schemas are published a moment later than the kinds are served.
        let found = ask().await;
        so(lines(&found, "failure") == [line], || format!("{found:#?}"))
    });
    named.await.unwrap();
}

#[tokio::test]
async fn placement_is_asked_without_a_cluster_and_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("--database={}", folder.path().join("a.db").display());
    let ask = async |database: &str, more: &[&str]| {
        let start = ["placement", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", database];
        berth(&[&start[..], more, &["preflight"]].concat(), "").await
    };
    let fine = ask(&database, &[]).await;
    assert_eq!((fine.status, fine.stderr.as_str()), (0, ""), "{fine:#?}");
    assert!(lines(&fine, "ok").iter().any(|line| line.ends_with("a.db will be created")), "{fine:#?}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "a file was made");
    fails_with(&ask("--database=/nowhere/a.db", &[]).await, &["cannot use /nowhere/a.db"]);
    let postgres = "--database=postgres://berth:s3cret@127.0.0.1:1/placement";
    let away = ask(postgres, &[]).await;
    fails_with(&away, &["database of Placement: the PostgreSQL database cannot be used"]);
    assert!(!away.stdout.contains("s3cret"), "{away:#?}");
    let open = berth(&["placement", "--listen=:8778", "--auth=off", &database, "preflight"], "").await;
    fails_with(&open, &["the Placement API would answer every client without authentication at :8778"]);
    let keystone = ask(&database, &["--auth=keystone"]).await;
    fails_with(&keystone, &["there are no credentials for the tokens of callers of the Placement API"]);
}
