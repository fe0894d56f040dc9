//! Starting the binary: what it prints, what it refuses and how, and when it reports that it is ready.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use berth_control_plane::{ControlPlane, Part};
use berth_crds::generate;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::preflight::missing_and_old_crds_are_named;
use crate::support::cloud::Cloud;
use crate::support::old_server::OldServer;
use crate::support::operator::Operator;
use crate::support::waiting::until;
use crate::support::world::{client, grant};
use crate::tls::{keys as tls_keys, write_pair};

/// Far more than a refused start takes.
const REFUSED_WITHIN: Duration = Duration::from_secs(20);

/// The result of a process.
#[derive(Debug)]
struct Ended {
    status: i32,
    stdout: String,
    /// The lines for the user who started it, without the log.
    reported: Vec<String>,
    log: Vec<String>,
}

fn berth(arguments: &[&str]) -> Ended {
    // Into files: a pipe would not be read while it runs.
    let [out, err] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(arguments).env_remove("KUBECONFIG").env_remove("RUST_LOG").stdin(Stdio::null());
    let mut child = command.stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap()).spawn().unwrap();
    let started_at = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if started_at.elapsed() > REFUSED_WITHIN => break child.kill().map(|()| None).unwrap(),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let text = fs::read_to_string(err.path()).unwrap();
    let (reported, log) = text.lines().map(str::to_owned).partition(|line| line.starts_with("berth: "));
    let status = status.unwrap_or_else(|| panic!("{arguments:?} did not exit by itself:\n{text}"));
    Ended { status, stdout: fs::read_to_string(out.path()).unwrap(), reported, log }
}

/// Runs the operator without listeners and with more arguments.
fn operator(arguments: &[&str]) -> Ended {
    berth(
        &[&["operator", "--api-bind-address=0", "--health-probe-bind-address=0", "--log-format=human"], arguments]
            .concat(),
    )
}

/// Checks that the process ended with code 1 and these lines, without a warning before.
fn refuses(arguments: &[&str], lines: &[&str]) {
    let ended = operator(arguments);
    assert_eq!((ended.status, ended.reported.len()), (1, lines.len()), "{ended:#?}");
    for (reported, line) in ended.reported.iter().zip(lines) {
        assert!(reported.contains(line), "{reported:?} lacks {line:?}");
    }
    let warnings: Vec<_> = ended.log.iter().filter(|line| !line.contains(" INFO ")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

fn config(folder: &Path, keys: &Value) -> String {
    format!("--config={}", file(folder, "config.json", &keys.to_string()))
}

#[test]
fn the_version_and_the_commit_are_printed() {
    let ended = berth(&["version"]);
    let commit = ended.stdout.strip_prefix(concat!("berth ", env!("CARGO_PKG_VERSION"), ", commit "));
    assert!(ended.status == 0 && commit.is_some_and(|commit| commit.trim_end().len() > 6), "{}", ended.stdout);
}

#[test]
fn the_definitions_are_printed_and_written() {
    let printed = berth(&["crds"]);
    assert_eq!(printed.status, 0);
    let documents: Vec<&str> = printed.stdout.split("---\n").filter(|text| !text.is_empty()).collect();
    let current: BTreeMap<PathBuf, String> =
        generate::files(false).unwrap().into_iter().map(|file| (file.name.into(), file.text)).collect();
    assert_eq!(documents, current.values().collect::<Vec<_>>());

    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("new");
    assert_eq!(berth(&["crds", "--directory", directory.to_str().unwrap()]).status, 0);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/crd");
    assert_eq!(texts(&directory), texts(&shipped), "config/crd differs from the output of the program: run make crds");
}

#[test]
fn the_scheduler_api_is_not_opened_to_others_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = file(folder.path(), "secrets.json", r#"{ "scheduler": { "token": "s3cret" } }"#);
    let kubeconfig = "--kubeconfig=/nowhere/kubeconfig";
    let start = |arguments: &[&str]| {
        let all = ["operator", "--health-probe-bind-address=0", "--log-format=human", kubeconfig];
        berth(&[&all[..], arguments].concat())
    };
    for address in [":0", "0.0.0.0:0", "[::]:0"] {
        let ended = start(&[&format!("--api-bind-address={address}")]);
        assert_eq!((ended.status, ended.reported.len()), (1, 1), "{ended:#?}");
        let line = format!("berth: the scheduler API would answer every client without authentication at {address}; ");
        assert!(
            ended.reported[0].starts_with(&line) && ended.reported[0].contains("set scheduler.tokenFile"),
            "{ended:#?}"
        );
    }
    let secrets = format!("--secrets={token}");
    let missing = config(folder.path(), &json!({ "scheduler": { "tokenFile": "/nowhere/tokens" } }));
    let ended = start(&["--api-bind-address=:0", &missing]);
    assert_eq!((ended.status, ended.reported.len()), (1, 1), "{ended:#?}");
    assert!(ended.reported[0].starts_with("berth: the token file /nowhere/tokens cannot be read"), "{ended:#?}");
    let admitted: [&[&str]; 4] = [
        &["--api-bind-address=127.0.0.1:0"],
        &["--api-bind-address=:0", "--insecure-api"],
        &["--api-bind-address=:0", &secrets],
        &[],
    ];
    for arguments in admitted {
        let ended = start(arguments);
        assert!(ended.reported.iter().any(|line| line.contains("/nowhere/kubeconfig")), "{arguments:?}: {ended:#?}");
        let warns = ended.log.iter().any(|line| line.contains("no token is configured"));
        assert_eq!(warns, arguments.is_empty() || arguments.contains(&"--insecure-api"), "{ended:#?}");
    }
}

fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().into(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn a_wrong_configuration_is_refused_with_every_problem_and_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let keys = json!({
        "committedResourceController": { "requeueIntervalRetry": "soon", "maxSlotsPerCommitment": -1 },
        "committedResourceReservationController": { "oversubscriptionMinCheckInterval": "5m" },
        "noSuchKey": 1,
    });
    let argument = config(folder.path(), &keys);
    let ended = operator(&[&argument]);
    assert_eq!(ended.status, 2, "{ended:#?}");
    let paths = [
        "the configuration cannot be used:",
        "committedResourceReservationController.oversubscriptionMinCheckInterval: 5m0s is not shorter than",
        "committedResourceController.requeueIntervalRetry: \"soon\" is not a duration",
        "committedResourceController.maxSlotsPerCommitment: -1 is out of range",
        "noSuchKey: unknown key, without effect; correct or remove it (a warning only)",
    ];
    assert_eq!(ended.reported.len(), paths.len(), "one line for each: {ended:#?}");
    for (reported, path) in ended.reported.iter().zip(paths) {
        assert!(reported.contains(path), "{reported:?} lacks {path:?}");
    }
    let only_unknown = config(folder.path(), &json!({ "noSuchKey": 1 }));
    let strict = operator(&[&only_unknown, "--strict-config"]);
    assert_eq!((strict.status, strict.reported.len()), (2, 2), "{strict:#?}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let violations = file(folder.path(), "broken.json", "{");
    for (path, text) in [(violations.as_str(), "is not valid JSON"), ("nowhere.json", "does not exist")] {
        let ended = operator(&[&format!("--config={path}")]);
        assert_eq!(ended.status, 2, "{ended:#?}");
        assert!(ended.reported.iter().any(|line| line.contains(path) && line.contains(text)), "{ended:#?}");
    }
}

#[test]
fn an_election_without_a_name_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let nameless = config(folder.path(), &json!({ "leaderElectionID": "" }));
    refuses(&["--leader-elect", &nameless], &["--leader-elect needs a name for the lease: give leaderElectionID"]);
}

#[test]
fn a_certificate_without_its_key_or_with_another_one_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path(), 2090);
    let config = folder.path().join("conf.json");
    fs::write(&config, tls_keys(folder.path()).to_string()).unwrap();
    let config = format!("--config={}", config.display());
    fs::write(folder.path().join("tls.key"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    refuses(&[&config], &["the key in tls.keyFile is not that of the certificate in tls.certFile; replace both files"]);
    fs::remove_file(folder.path().join("tls.key")).unwrap();
    refuses(&[&config], &["tls.key cannot be read: "]);
}

#[test]
fn a_kubeconfig_that_leads_nowhere_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").display().to_string();
    refuses(&[&format!("--kubeconfig={missing}")], &[&format!("the kubeconfig {missing} does not exist")]);
    let garbage = file(folder.path(), "garbage", "a: [");
    refuses(&[&format!("--kubeconfig={garbage}")], &[&format!("the kubeconfig {garbage} cannot be used")]);
    // No server listens on port 1 of this machine.
    let unreachable = file(folder.path(), "unreachable", &kubeconfig("http://127.0.0.1:1", None, "t").to_string());
    refuses(&[&format!("--kubeconfig={unreachable}")], &["the API server http://127.0.0.1:1/ does not answer"]);
}

fn kubeconfig(server: &str, authority: Option<&Value>, token: &str) -> Value {
    let mut cluster = json!({ "server": server });
    if let Some(authority) = authority {
        cluster["certificate-authority-data"] = authority.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": cluster }], "users": [{ "name": "c", "user": { "token": token } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    })
}

/// An API server in all states that the preflight refuses, one after the other, and then in order.
#[tokio::test]
async fn a_cluster_that_is_not_fit_is_refused_with_one_line_for_each_reason() {
    let control_plane = ControlPlane::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    wrong_credentials_are_refused(&control_plane, folder.path());
    grant(&control_plane).await;
    let account = control_plane.service_account("berth-system", "berth").await.unwrap();
    missing_kinds_are_named(&format!("--kubeconfig={}", account.display()));
    missing_and_old_crds_are_named(&control_plane, &account).await;
    Cloud::new(client(&control_plane).await).install_all().await;
    missing_rights_are_named(&control_plane).await;
    an_api_server_that_hangs_is_waited_for(&control_plane, &account, folder.path()).await;
    probes_and_metrics_tell_how_far_the_start_is(&control_plane, &account, folder.path()).await;
    control_plane.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_in_one_line_and_nothing_is_written() {
    let server = OldServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old", &kubeconfig(server.url(), None, "t").to_string());
    let line = "cluster home: the API server has version v1.30.4; upgrade it to 1.31 or newer";
    tokio::task::spawn_blocking(move || refuses(&[&format!("--kubeconfig={path}")], &[line])).await.unwrap();
    let requests = server.requests();
    // An access review is a POST that stores nothing.
    let asks = |line: &String| line.starts_with("GET ") || line.contains("/selfsubjectaccessreviews");
    assert!(!requests.is_empty() && requests.iter().all(asks), "{requests:#?}");
}

fn wrong_credentials_are_refused(control_plane: &ControlPlane, folder: &Path) {
    let admin: Value = serde_json::from_str(&fs::read_to_string(control_plane.kubeconfig()).unwrap()).unwrap();
    let authority = &admin["clusters"][0]["cluster"]["certificate-authority-data"];
    let unknown_host =
        file(folder, "unknown-host", &kubeconfig(control_plane.url(), Some(authority), "no-token").to_string());
    let text = format!("the API server {}/ does not accept our credentials (401): renew", control_plane.url());
    refuses(&[&format!("--kubeconfig={unknown_host}")], &[&text]);
}

fn missing_kinds_are_named(account: &str) {
    let ended = operator(&[account]);
    assert_eq!(ended.status, 1, "{ended:#?}");
    let kinds = [
        "committedresources",
        "reservations",
        "hypervisors",
        "knowledges",
        "flavorgroupcapacities",
        "commitmentchanges",
        "projectquotas",
    ];
    for kind in kinds {
        let lines =
            ended.reported.iter().filter(|line| line.contains(kind) && line.contains("install its CRD")).count();
        assert_eq!(lines, 1, "{kind}: {ended:#?}");
    }
    assert_eq!(ended.reported.len(), kinds.len(), "{ended:#?}");
}

async fn missing_rights_are_named(control_plane: &ControlPlane) {
    let account = control_plane.service_account("default", "nobody").await.unwrap();
    let ended = operator(&[&format!("--kubeconfig={}", account.display())]);
    assert_eq!(ended.status, 1, "{ended:#?}");
    for right in [
        "we may not list, watch hypervisors.kvm.cloud.sap",
        "committedresources.cortex.cloud",
        "committedresources/status.cortex.cloud",
        "reservations.cortex.cloud",
        "reservations/status.cortex.cloud",
        "knowledges.cortex.cloud",
        "flavorgroupcapacities.cortex.cloud",
        "commitmentchanges.cortex.cloud",
        "projectquotas.cortex.cloud",
        "events.events.k8s.io in namespace default; grant it with a Role",
    ] {
        assert!(ended.reported.iter().any(|line| line.contains(right)), "{right}: {ended:#?}");
    }
    assert!(ended.reported.iter().all(|line| line.contains("grant it with a ")), "{ended:#?}");
}

async fn an_api_server_that_hangs_is_waited_for(control_plane: &ControlPlane, account: &Path, folder: &Path) {
    let keys = file(folder, "hangs.json", "{}");
    control_plane.pause(Part::ApiServer).unwrap();
    let operator = Operator::start(control_plane, account, Path::new(&keys)).await;
    let reported = until(async || match operator.probe("/readyz").await {
        Some((503, text)) if text.contains("does not answer in time") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(reported.await, Ok(()), "{}", operator.log());
    assert_eq!(operator.probe("/healthz").await.map(|(status, _)| status), Some(200));
    control_plane.resume(Part::ApiServer).unwrap();
    let ready = until(async || match operator.probe("/readyz").await {
        Some((200, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(ready.await, Ok(()), "{}", operator.log());
    operator.stop().await;
}

async fn probes_and_metrics_tell_how_far_the_start_is(control_plane: &ControlPlane, account: &Path, folder: &Path) {
    let keys = file(folder, "empty.json", "{}");
    let operator = Operator::start(control_plane, account, Path::new(&keys)).await;
    let mut before = Vec::new();
    let ready = until(async || {
        let (alive, ready) = (operator.probe("/healthz").await, operator.probe("/readyz").await);
        match ready {
            Some((200, _)) => Ok(()),
            Some((status, text)) => {
                before.push((status, text.clone()));
                assert_eq!(alive.map(|(status, _)| status), Some(200), "alive while not ready");
                Err(text)
            }
            None => Err("no answer".to_owned()),
        }
    })
    .await;
    assert_eq!(ready, Ok(()), "{}", operator.log());
    // The listener opens when the stores are filled; no request is sent there before.
    let is_reported = |text: &String| text.contains("scheduler API: its listener is not open yet");
    assert!(before.iter().all(|(status, text)| *status == 503 && is_reported(text)), "{before:?}");
    let metrics = operator.metrics().await;
    for name in ["berth_build_info", "berth_store_objects", "berth_store_complete", "berth_scheduler_waiting_slots"] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
    operator.stop().await;
}
