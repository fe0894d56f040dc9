//! `berth placement` as a process: it serves with only its ports configured, keeps what it has acknowledged when it is
//! killed, locks its file, stops on SIGTERM, and can be compared and copied while it runs.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::support::command::berth;
use crate::support::free_ports::free_addresses;
use crate::support::http::{get, send};
use crate::support::waiting::{so, until};

/// A server in its own directory.
pub struct Placement {
    folder: TempDir,
    pub api: SocketAddr,
    pub side: SocketAddr,
    database: Option<String>,
    process: Child,
}

const BERTH: &str = env!("CARGO_BIN_EXE_berth");
/// What the server writes, in its directory.
const LOG: &str = "berth.log";

fn start(mut command: Command, folder: &Path, api: SocketAddr, side: SocketAddr, database: Option<&String>) -> Child {
    let log = File::options().create(true).append(true).open(folder.join(LOG)).unwrap();
    command.current_dir(folder).kill_on_drop(true).stdout(log.try_clone().unwrap()).stderr(log);
    command.env("BERTH_PLACEMENT_LISTEN", api.to_string()).env("BERTH_PLACEMENT_METRICS_LISTEN", side.to_string());
    if let Some(database) = database {
        command.env("BERTH_PLACEMENT_DATABASE", database);
    }
    command.spawn().unwrap()
}

fn serve() -> Command {
    let mut command = Command::new(BERTH);
    command.arg("placement");
    command
}

impl Drop for Placement {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("The server wrote:\n{}", fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default());
        }
    }
}

impl Placement {
    pub async fn begin() -> Self {
        Self::begin_with(None).await
    }

    /// Starts it on this database, or on the default file.
    pub async fn begin_with(database: Option<String>) -> Self {
        Self::begin_as(serve(), database).await
    }

    /// Starts it on the default file in a shell that sets limits for it before.
    pub async fn begin_within(limits: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limits}; exec {BERTH} placement")]);
        Self::begin_as(command, None).await
    }

    /// Starts it on the default file with this configuration.
    pub async fn begin_configured(config: &Path) -> Self {
        let mut command = serve();
        command.arg("--config").arg(config);
        Self::begin_as(command, None).await
    }

    async fn begin_as(command: Command, database: Option<String>) -> Self {
        let (folder, [api, side]) = (tempfile::tempdir().unwrap(), free_addresses());
        let process = start(command, folder.path(), api, side, database.as_ref());
        let placement = Self { folder, api, side, database, process };
        placement.is_ready().await;
        placement
    }

    pub fn pid(&self) -> u32 {
        self.process.id().unwrap()
    }

    /// Kills it, as a machine failure would, and starts it again.
    pub async fn kill_and_start(&mut self) {
        self.process.kill().await.unwrap();
        self.process = start(serve(), self.folder.path(), self.api, self.side, self.database.as_ref());
    }

    pub async fn is_ready(&self) {
        let ready = until(async || {
            let answer = get(self.side, "/readyz").await;
            so(answer.as_ref().is_some_and(|(status, _)| *status == 200), || format!("{answer:?}"))
        });
        ready.await.unwrap();
    }

    pub async fn create(&self, name: &str) -> u16 {
        let body = format!("{{\"name\": \"{name}\"}}");
        // The rest of the first line becomes an unused header.
        let path = "/resource_providers HTTP/1.1\r\nContent-Type: application/json\r\nX-Rest:";
        send(self.api, "POST", path, body.len(), body.as_bytes()).await.unwrap().status
    }

    pub async fn providers(&self) -> String {
        let (status, body) = get(self.api, "/resource_providers").await.unwrap();
        assert_eq!(status, 200, "{body}");
        body
    }

    pub fn file(&self) -> String {
        self.folder.path().join("berth-placement.db").display().to_string()
    }
}

#[tokio::test]
async fn what_was_answered_survives_a_kill_and_the_file_has_one_owner() {
    let mut placement = Placement::begin().await;
    assert_eq!(placement.create("first").await, 201);

    let file = placement.file();
    let other = berth(&["placement", "--database", &file, "--listen=127.0.0.1:0", "--metrics-listen=0"], "").await;
    assert_eq!(other.status, 1);
    assert!(other.stderr.contains("only one server may use a SQLite file"), "{}", other.stderr);

    placement.kill_and_start().await;
    placement.is_ready().await;
    assert!(placement.providers().await.contains("\"first\""));
    assert_eq!(placement.create("first").await, 409);
}

#[tokio::test]
async fn a_server_that_runs_is_compared_copied_and_ends_when_it_is_reported_to() {
    let mut placement = Placement::begin().await;
    assert_eq!(placement.create("first").await, 201);
    let side = format!("--metrics-listen={}", placement.side);

    let checked = berth(&["placement", "check", &side], "").await;
    assert_eq!((checked.status, checked.stdout.as_str()), (0, "The model and the database agree.\n"), "{checked:?}");

    let copy = placement.folder.path().join("copy.db").display().to_string();
    let copied = berth(&["placement", "backup", &copy, "--database", &placement.file()], "").await;
    assert_eq!(copied.status, 0, "{}", copied.stderr);
    assert!(Path::new(&copy).exists());
    let again = berth(&["placement", "backup", &copy, "--database", &placement.file()], "").await;
    assert!(again.status == 1 && again.stderr.contains("does not exist yet"), "{}", again.stderr);

    let metrics = get(placement.side, "/metrics").await.unwrap().1;
    assert!(metrics.contains("berth_placement_model_providers 1"), "{metrics}");
    assert!(metrics.contains("berth_auth_disabled{api=\"placement\"} 1"), "{metrics}");

    let pid = placement.pid().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().await.unwrap().success());
    let ended = placement.process.wait().await.unwrap();
    assert!(ended.success(), "{ended:?}");
    let gone = berth(&["placement", "check", &side], "").await;
    assert!(gone.status == 1 && gone.stderr.contains("no server answers"), "{}", gone.stderr);
}

#[tokio::test]
async fn the_api_is_not_opened_to_others_without_authentication() {
    let serve = async |auth: &str, address: &str| {
        let listen = format!("--listen={address}");
        // An unusable database ends the start of a server that may open.
        berth(&["placement", "--database=/nowhere/l.db", "--metrics-listen=0", "--auth", auth, &listen], "").await
    };
    for auth in ["off", "noauth2"] {
        for address in [":0", "0.0.0.0:0", "[::]:0"] {
            let ended = serve(auth, address).await;
            let line = "berth: the Placement API would answer every client without authentication at";
            let reported: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("berth: ")).collect();
            assert!(ended.status == 1 && reported.len() == 1 && reported[0].starts_with(line), "{ended:?}");
            assert!(reported[0].contains("pass --insecure-api"), "{ended:?}");
        }
        assert!(serve(auth, "127.0.0.1:0").await.stderr.contains("check that its folder exists"));
    }
    let all = ["placement", "--database=/nowhere/l.db", "--metrics-listen=0", "--listen=:0", "--insecure-api"];
    assert!(berth(&all, "").await.stderr.contains("check that its folder exists"));
}

#[tokio::test]
async fn what_cannot_be_served_is_reported_at_once() {
    let refused = async |arguments: &[&str], text: &str| {
        let all = [&["placement", "--listen=127.0.0.1:0", "--metrics-listen=0"], arguments].concat();
        let ended = berth(&all, "").await;
        assert!(ended.status == 1 && ended.stderr.contains(text), "{ended:?}");
    };
    refused(&["--database", "mysql://me:secret@host/db"], "neither a file, :memory: nor postgres").await;
    refused(&["--database", "/nowhere/ledger.db"], "check that its folder exists").await;
    refused(&["--database", ":memory:", "--auth", "keystone"], "authentication by Keystone needs credentials").await;
    refused(&["--database", ":memory:", "--policy-file", "/nowhere.yaml"], "the policy file /nowhere.yaml").await;
}
