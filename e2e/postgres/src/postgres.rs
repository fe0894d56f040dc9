//! The lifecycle of a cluster, and its commands.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use berth_control_plane::{Daemon, FromRefused as _};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::account::Account;
use crate::{Error, programs};

/// The owner of the cluster; there is no password, as only this machine can connect.
const SUPERUSER: &str = "berth";
const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const CONNECTIONS: usize = 300;
const ATTEMPTS: usize = 3;
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";

impl Drop for Postgres {
    fn drop(&mut self) {
        // Suspended processes would not notice that the first process is gone.
        let _ = self.resume();
    }
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: a crash of the machine loses recent writes. For tests.
    None,
    Disk,
}

/// A cluster of databases; it is killed when this value is dropped, and its data removed.
#[derive(Debug)]
pub struct Postgres {
    account: Account,
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    durability: Durability,
    encrypted: bool,
    daemon: Option<Daemon>,
}

impl Postgres {
    /// Creates an empty cluster and starts it; returns when it accepts connections.
    pub async fn start(durability: Durability) -> Result<Self, Error> {
        let (account, programs) = (Account::of_process()?, programs::folder()?);
        let folder = tempfile::tempdir().map_err(Error::io("create a folder for PostgreSQL"))?;
        account.own(folder.path()).await?;
        let mut cluster = Self { account, programs, folder, port: 0, durability, encrypted: false, daemon: None };
        cluster.make().await?;
        for _ in 1..ATTEMPTS {
            cluster.port = free_port()?;
            // Another process may listen on the port before the server does.
            if cluster.begin().await.is_ok() {
                return Ok(cluster);
            }
        }
        cluster.port = free_port()?;
        cluster.begin().await?;
        Ok(cluster)
    }

    /// Creates an empty database; returns its URL.
    pub async fn create(&self, database: &str) -> Result<String, Error> {
        self.ask("postgres", &format!("create database \"{database}\"")).await?;
        Ok(self.url(database))
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgresql://{SUPERUSER}@{}:{}/{database}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Runs SQL in a database with psql; returns the output, without headers and frames.
    pub async fn ask(&self, database: &str, sql: &str) -> Result<String, Error> {
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(database), "-c", sql];
        self.run("psql", &arguments.map(str::to_owned)).await
    }

    /// Runs one of PostgreSQL's programs; returns its output.
    pub async fn run(&self, program: &str, arguments: &[String]) -> Result<String, Error> {
        let output = self.account.run(&self.program(program), arguments).await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs the SQL of a file in a database; the account of PostgreSQL must be able to read it.
    pub async fn run_file(&self, database: &str, file: &Path) -> Result<(), Error> {
        let (url, file) = (self.url(database), file.display().to_string());
        let arguments = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &url, "-f", &file];
        self.run("psql", &arguments.map(str::to_owned)).await.map(drop)
    }

    /// A directory that the account of PostgreSQL can read.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process id of the server's first process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// Kills the server, as a machine failure would. Committed data is there after [`Self::restart`].
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// Starts the server again at the same address; a running one is killed first.
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        let begin = Instant::now();
        loop {
            match self.begin().await {
                // The other processes of a killed server end a moment later than the first one; until then no server starts.
                Err(Error::Daemon(_)) if begin.elapsed() < READY_WITHIN => sleep(POLL_INTERVAL).await,
                result => return result,
            }
        }
    }

    async fn begin(&mut self) -> Result<(), Error> {
        let line = self.account.line(&self.program("postgres"), &self.settings());
        let (program, arguments) = line.split_first().ok_or(Error::Missing)?;
        let program = if Path::new(program).is_absolute() { program.clone() } else { format!("/usr/bin/{program}") };
        self.daemon = Some(Daemon::start("postgres", Path::new(&program), arguments, self.folder.path()).await?);
        self.wait_until_ready().await
    }

    /// Shuts the server down at once, without waiting for clients: they get an error or lose the connection.
    pub async fn shut_down(&mut self) -> Result<(), Error> {
        if let Some(daemon) = &mut self.daemon {
            daemon.signal("QUIT")?;
            daemon.ended(READY_WITHIN).await?;
        }
        self.kill();
        Ok(())
    }

    /// Suspends all processes of the server, with every connection open.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal("STOP")
    }

    pub fn resume(&self) -> Result<(), Error> {
        self.signal("CONT")
    }

    /// Gives the server a certificate with its key, both in PEM; clients may ask for encryption after its next start.
    pub async fn certify(&mut self, certificate: &str, key: &str) -> Result<(), Error> {
        for (name, text) in [(CERTIFICATE, certificate), (KEY, key)] {
            let file = self.folder.path().join(name);
            fs::write(&file, text).map_err(Error::io(format!("write {name}")))?;
            fs::set_permissions(&file, Permissions::from_mode(0o600)).map_err(Error::io(format!("protect {name}")))?;
            self.account.own(&file).await?;
        }
        self.encrypted = true;
        Ok(())
    }

    /// To the first process, which then forks no others, and to its children.
    fn signal(&self, signal: &str) -> Result<(), Error> {
        let Some(pid) = self.pid() else { return Ok(()) };
        kill(signal, &[&pid.to_string()])?;
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.map_err(Error::io("list the processes of PostgreSQL"))?;
        kill(signal, &children.split_whitespace().collect::<Vec<_>>())
    }

    async fn make(&self) -> Result<(), Error> {
        let data = self.data().display().to_string();
        let arguments = ["-D", &data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
        self.account.run(&self.program("initdb"), &arguments.map(str::to_owned)).await.map(drop)
    }

    fn settings(&self) -> Vec<String> {
        let (data, folder) = (self.data().display().to_string(), self.folder.path().display().to_string());
        let mut settings = vec!["-D".to_owned(), data, "-p".to_owned(), self.port.to_string()];
        let (mut set, synced) = (Vec::new(), self.durability == Durability::Disk);
        set.push(format!("listen_addresses={}", Ipv4Addr::LOCALHOST));
        set.push(format!("unix_socket_directories={folder}"));
        set.push(format!("max_connections={CONNECTIONS}"));
        set.push("shared_buffers=256MB".to_owned());
        set.extend(["fsync", "full_page_writes", "synchronous_commit"].map(|name| format!("{name}={}", on(synced))));
        if self.encrypted {
            set.push("ssl=on".to_owned());
            set.push(format!("ssl_cert_file={folder}/{CERTIFICATE}"));
            set.push(format!("ssl_key_file={folder}/{KEY}"));
        }
        settings.extend(set.into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
        settings
    }

    async fn wait_until_ready(&mut self) -> Result<(), Error> {
        let (begin, data) = (Instant::now(), self.data().display().to_string());
        // Another server may listen on this port.
        while !self.ask("postgres", "show data_directory").await.is_ok_and(|shown| shown == data) {
            let log = self.daemon.as_ref().map(Daemon::log_tail).unwrap_or_default();
            self.daemon.as_mut().map_or(Ok(()), Daemon::check)?;
            if begin.elapsed() > READY_WITHIN {
                return Err(Error::NotReady { seconds: READY_WITHIN.as_secs(), log });
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

fn kill(signal: &str, processes: &[&str]) -> Result<(), Error> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "kill \"$@\" 2>/dev/null", "kill", &format!("-{signal}")]).args(processes);
    command.status().map(drop).map_err(Error::io(format!("send {signal} to PostgreSQL")))
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn free_port() -> Result<u16, Error> {
    let failed = || Error::io("find a free port on 127.0.0.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed())?;
    Ok(listener.local_addr().map_err(failed())?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn databases_are_made_asked_and_survive_a_kill() {
        let mut cluster = Postgres::start(Durability::Disk).await.unwrap();
        let url = cluster.create("one").await.unwrap();
        assert_eq!(url, cluster.url("one"));
        cluster.ask("one", "create table kept (number int); insert into kept values (7)").await.unwrap();
        assert!(cluster.create("one").await.unwrap_err().to_string().contains("already exists"));

        cluster.kill();
        assert!(cluster.ask("one", "select 1").await.is_err(), "no server listens any more");
        cluster.restart().await.unwrap();
        cluster.shut_down().await.unwrap();
        assert!(cluster.ask("one", "select 1").await.is_err(), "the process has exited");
        cluster.restart().await.unwrap();
        assert_eq!(cluster.ask("one", "select number from kept").await.unwrap(), "7");
        let folder = cluster.folder().to_owned();
        drop(cluster);
        assert!(!folder.exists(), "the data is removed, too");
    }
}
