//! The two servers that are compared: `berth placement`, and OpenStack Placement under uWSGI with PostgreSQL.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use berth_control_plane::Daemon;
use berth_placement_gabbi::Toolbox;
use berth_postgres::{Durability, Postgres};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio::time::sleep;

use super::error::Error;
use super::http::Client;
use crate::proc::{self, Usage};

const PEER_REQUIREMENTS: &str = include_str!("peer-requirements.txt");
const READY_WITHIN: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The name of the database in either cluster.
pub const DATABASE: &str = "placement";
/// Above the number of candidates of every query.
const MOST_CANDIDATES: usize = 100_000;

/// The database of our server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Store {
    Sqlite,
    /// A PostgreSQL cluster of its own.
    #[value(name = "postgresql")]
    Postgres,
}

impl Store {
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The name to print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Served {
    pub address: SocketAddr,
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    daemon: Option<Daemon>,
    postgres: Option<Postgres>,
    folder: TempDir,
}

/// Starts our server, empty.
pub async fn ours(binary: &Path, store: Store) -> Result<Served, Error> {
    let folder = folder()?;
    let address = free_address()?;
    let (postgres, database) = match store {
        Store::Sqlite => (None, folder.path().join("ledger.db").display().to_string()),
        Store::Postgres => {
            let postgres = Postgres::start(Durability::Disk).await?;
            let url = postgres.create(DATABASE).await?;
            (Some(postgres), url)
        }
    };
    let listen = address.to_string();
    let arguments = ["placement", "--listen", &listen, "--database", &database, "--auth", "noauth2"];
    let arguments = arguments.map(str::to_owned).to_vec();
    Served::start("berth placement", binary.to_owned(), arguments, (address, postgres, folder)).await
}

/// Starts Placement, empty.
pub async fn peer() -> Result<Served, Error> {
    let toolbox = Toolbox::obtain_with(PEER_REQUIREMENTS).await?;
    let (folder, address) = (folder()?, free_address()?);
    let postgres = Postgres::start(Durability::Disk).await?;
    let url = postgres.create(DATABASE).await?.replace("postgresql://", "postgresql+psycopg2://");
    let configuration = folder.path().join("placement.conf");
    fs::write(&configuration, configuration_of_peer(&url)).map_err(Error::system("write placement.conf"))?;
    migrate(&toolbox, &configuration).await?;
    let workers = available_parallelism().map_or(2, usize::from);
    let arguments = uwsgi(&toolbox, folder.path(), address, workers);
    Served::start("Placement", PathBuf::from("/usr/bin/env"), arguments, (address, Some(postgres), folder)).await
}

fn configuration_of_peer(url: &str) -> String {
    format!(
        "[DEFAULT]\ndefault_log_levels = placement=WARNING\n[api]\nauth_strategy = noauth2\n[placement_database]\n\
         connection = {url}\n[oslo_policy]\nenforce_new_defaults = false\n[placement]\n\
         max_allocation_candidates = {MOST_CANDIDATES}\nallocation_candidates_generation_strategy = breadth-first\n"
    )
}

async fn migrate(toolbox: &Toolbox, configuration: &Path) -> Result<(), Error> {
    let mut command = tokio::process::Command::new(toolbox.python());
    command.args(["-c", "import sys; from placement.cmd.manage import main; sys.exit(main())", "--config-file"]);
    command.arg(configuration).args(["db", "sync"]).kill_on_drop(true);
    let output = command.output().await.map_err(Error::system("run placement-manage"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(Error::Answer(format!("placement-manage db sync: {text}"))) }
}

/// uWSGI speaks HTTP itself, without a proxy in front of it: one hop less than usual, and a connection for each
/// request.
fn uwsgi(toolbox: &Toolbox, folder: &Path, address: SocketAddr, workers: usize) -> Vec<String> {
    let environment = format!("OS_PLACEMENT_CONFIG_DIR={}", folder.display());
    let start = "import sys, pyuwsgi; pyuwsgi.run(sys.argv[1:])".to_owned();
    let python = toolbox.python().display().to_string();
    let home = toolbox.python().parent().and_then(Path::parent).unwrap_or(Path::new("/")).display().to_string();
    let (listen, processes) = (address.to_string(), workers.to_string());
    let flags = [
        ["--http-socket", &listen],
        ["--processes", &processes],
        ["--virtualenv", &home],
        ["--module", "placement.wsgi.api:application"],
        ["--buffer-size", "65535"],
        ["--listen", "100"],
    ];
    let switches = ["--master", "--die-on-term", "--lazy-apps", "--enable-threads", "--thunder-lock", "--need-app"];
    let flags = flags.iter().flatten().chain(&switches).chain(&["--disable-logging"]).map(|flag| (*flag).to_owned());
    [environment, python, "-c".to_owned(), start].into_iter().chain(flags).collect()
}

impl Served {
    async fn start(
        name: &'static str,
        program: PathBuf,
        arguments: Vec<String>,
        (address, postgres, folder): (SocketAddr, Option<Postgres>, TempDir),
    ) -> Result<Self, Error> {
        let mut served = Self { address, name, program, arguments, daemon: None, postgres, folder };
        // `/` answers before the model is loaded.
        served.restart("/resource_classes").await?;
        Ok(served)
    }

    /// Kills the server and starts it again; returns the time until it answered this request.
    pub async fn restart(&mut self, path: &str) -> Result<Duration, Error> {
        self.daemon = None;
        let started = Instant::now();
        let daemon = Daemon::start("placement", &self.program, &self.arguments, self.folder.path()).await?;
        let daemon = self.daemon.insert(daemon);
        while !answers(self.address, path) {
            daemon.check()?;
            if started.elapsed() > READY_WITHIN {
                let (server, seconds) = (self.name, READY_WITHIN.as_secs());
                return Err(Error::TooLong { server, seconds, log: daemon.log_tail() });
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(started.elapsed())
    }

    /// The database server that belongs to it, if there is one.
    pub fn postgres(&self) -> Option<&Postgres> {
        self.postgres.as_ref()
    }

    pub fn database(&self) -> Option<String> {
        self.postgres.as_ref().map(|postgres| postgres.url(DATABASE))
    }

    /// Processor time and memory of the first process.
    pub fn usage(&self) -> Result<Usage, Error> {
        let pid = self.daemon.as_ref().map(Daemon::pid).unwrap_or_default();
        proc::usage(pid).map_err(|error| Error::Answer(error.to_string()))
    }
}

fn answers(address: SocketAddr, path: &str) -> bool {
    Client::new(address).send("GET", path, None).is_ok_and(|answer| answer.status == 200)
}

fn folder() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(Error::system("create a folder"))
}

fn free_address() -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::system("find a free port"))?;
    listener.local_addr().map_err(Error::system("find a free port"))
}
