//! The server under test: how it is started, empty, and when it is ready.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use berth_control_plane::{Daemon, FromRefused as _};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::database::Database;
use crate::{Error, Toolbox, settings};

const READY_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// `/` is served before the ledger is loaded.
const QUESTION: &[u8] =
    b"GET /resource_providers HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Auth-Token: admin\r\nConnection: close\r\n\r\n";
const STARTS: usize = 3;

/// A program that understands the flags of `berth placement`.
#[derive(Debug, Clone)]
pub struct Server {
    program: PathBuf,
    first_arguments: Vec<String>,
    database: Database,
}

impl Server {
    pub fn berth(binary: &Path, database: Database) -> Self {
        Self { program: binary.to_owned(), first_arguments: vec!["placement".to_owned()], database }
    }

    /// Placement itself, in the version of the suite.
    pub fn reference(toolbox: &Toolbox) -> Self {
        let script = Toolbox::script("reference.py").display().to_string();
        let first_arguments = vec!["-B".to_owned(), script];
        Self { program: toolbox.python().to_owned(), first_arguments, database: Database::File }
    }

    /// Starts a server with an empty ledger, configured for a fixture; returns when it answers.
    pub(crate) async fn start(&self, fixture: &str, rules: &[String]) -> Result<Running, Error> {
        let mut attempt = 1;
        loop {
            match self.start_once(fixture, rules).await {
                // Another process may take the port before the server does.
                Err(Error::Server(_)) if attempt < STARTS => attempt += 1,
                other => return other,
            }
        }
    }

    async fn start_once(&self, fixture: &str, rules: &[String]) -> Result<Running, Error> {
        let folder = tempfile::tempdir().map_err(Error::io("create a folder for the server"))?;
        let port = free_port()?;
        let mut arguments = self.first_arguments.clone();
        arguments.extend(["--listen".to_owned(), format!("{}:{port}", Ipv4Addr::LOCALHOST)]);
        arguments.extend(["--database".to_owned(), self.database.fresh(folder.path()).await?]);
        arguments.extend(["--auth", "noauth2", "--metrics-listen", "0"].map(str::to_owned));
        arguments.extend(settings::arguments(fixture, rules, folder.path())?);
        let daemon = Daemon::start("placement", &self.program, &arguments, folder.path()).await?;
        let mut running = Running { port, daemon, _folder: folder };
        running.wait_until_ready().await?;
        Ok(running)
    }
}

/// A server; it is killed when this value is dropped, and its data removed.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) port: u16,
    daemon: Daemon,
    _folder: TempDir,
}

impl Running {
    /// Fails when the server has exited by itself.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        Ok(self.daemon.check()?)
    }

    async fn wait_until_ready(&mut self) -> Result<(), Error> {
        let begin = Instant::now();
        while !matches!(timeout(ANSWER_WITHIN, answers(self.port)).await, Ok(Ok(true))) {
            self.check()?;
            if begin.elapsed() > READY_WITHIN {
                return Err(Error::NotReady { seconds: READY_WITHIN.as_secs(), log: self.daemon.log_tail() });
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}

async fn answers(port: u16) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    connection.write_all(QUESTION).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200 ") || answer.starts_with(b"HTTP/1.0 200 "))
}

fn free_port() -> Result<u16, Error> {
    let failed = || Error::io("find a free port on 127.0.0.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed())?;
    Ok(listener.local_addr().map_err(failed())?.port())
}
