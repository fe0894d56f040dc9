//! Runs the operator as a process and reads its endpoints.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use berth_control_plane::Daemon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::plane::Plane;
use crate::proc::{self, Usage};

const WITHIN: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// So short that it adds hardly any delay between a log line and its reader.
const READ_EVERY: Duration = Duration::from_millis(2);
const SYNCED: &str = "stores synced";
/// Metrics are computed at each scrape, which costs the operator something.
const COUNT_EVERY: Duration = Duration::from_millis(250);
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// A process and its addresses, for those who observe it under load.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pub api: SocketAddr,
    pub probes: SocketAddr,
    pub pid: u32,
}

/// A running operator; it is killed when this is dropped.
pub struct Operator {
    daemon: Daemon,
    probes: SocketAddr,
    metrics: SocketAddr,
    /// The offset in the log where the lines of this process begin.
    log_from: usize,
}

impl Operator {
    /// Starts the binary that was built together with this one, with the service account of the plane.
    pub async fn start(plane: &Plane) -> Result<Self, Error> {
        Self::start_with(plane, &[]).await
    }

    /// Like `start`, with the scheduler API at the address that is returned.
    pub async fn start_serving(plane: &Plane) -> Result<(Self, SocketAddr), Error> {
        Self::start_serving_with(plane, &[]).await
    }

    /// Like `start_serving`, with more arguments.
    pub async fn start_serving_with(plane: &Plane, more: &[&str]) -> Result<(Self, SocketAddr), Error> {
        let [api, _] = free_addresses().map_err(Error::system("a free port"))?;
        Ok((Self::start_at(plane, &api.to_string(), more).await?, api))
    }

    /// Like `start`, with more arguments, such as `--leader-elect`.
    pub async fn start_with(plane: &Plane, more: &[&str]) -> Result<Self, Error> {
        Self::start_at(plane, "0", more).await
    }

    async fn start_at(plane: &Plane, api: &str, more: &[&str]) -> Result<Self, Error> {
        let program = berth()?;
        let [probes, metrics] = free_addresses().map_err(Error::system("a free port"))?;
        let mut arguments = vec![
            "operator".to_owned(),
            format!("--kubeconfig={}", plane.account().display()),
            format!("--api-bind-address={api}"),
            format!("--health-probe-bind-address={probes}"),
            format!("--metrics-bind-address={metrics}"),
            "--metrics-secure=false".to_owned(),
            "--log-format=human".to_owned(),
        ];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let daemon = plane.control_plane().spawn("berth", &program, &arguments).await?;
        let log_from = log(&daemon)?.len();
        Ok(Self { daemon, probes, metrics, log_from })
    }

    /// Waits until the operator logs that its stores are synced; from then on it reconciles.
    pub async fn synced(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + WITHIN;
        while !log(&self.daemon)?.get(self.log_from..).is_some_and(|text| text.contains(SYNCED)) {
            self.go_on(deadline, "the stores are synced")?;
            sleep(READ_EVERY).await;
        }
        Ok(())
    }

    /// Waits until `/readyz` answers 200.
    pub async fn ready(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + WITHIN;
        while !get(self.probes, "/readyz").await.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            self.go_on(deadline, "/readyz answers 200")?;
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until the sum of a counter's samples with this word has reached `number`.
    pub async fn counted(&mut self, metric: &str, word: &str, number: usize, what: &'static str) -> Result<(), Error> {
        self.counted_seldom(COUNT_EVERY, metric, word, number, what).await
    }

    /// The same, for long work: each scrape takes time that grows with the number of objects.
    pub async fn counted_seldom(
        &mut self,
        every: Duration,
        metric: &str,
        word: &str,
        number: usize,
        what: &'static str,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + WITHIN;
        while self.sum(metric, word).await < number as u64 {
            self.go_on(deadline, what)?;
            sleep(every).await;
        }
        Ok(())
    }

    /// The sum of the samples of a metric with this word.
    pub async fn sum(&self, metric: &str, word: &str) -> u64 {
        let text = get(self.metrics, "/metrics").await.unwrap_or_default();
        let lines = text.lines().filter(|line| {
            line.strip_prefix(metric).is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(word))
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// This process as the target of an attack on its API.
    pub fn watched(&self, api: SocketAddr) -> Watched {
        Watched { api, probes: self.probes, pid: self.daemon.pid() }
    }

    pub fn usage(&self) -> Result<Usage, Error> {
        proc::usage(self.daemon.pid())
    }

    /// Processor seconds so far, for short times.
    pub fn cpu_seconds(&self) -> Result<f64, Error> {
        proc::seconds_of_threads(self.daemon.pid())
    }

    /// From now on the peak in `usage` is counted anew.
    pub fn forget_peak(&self) -> Result<(), Error> {
        proc::forget_peak(self.daemon.pid())
    }

    /// Fails when the process has exited by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        Ok(self.daemon.check()?)
    }

    pub fn log_tail(&self) -> String {
        self.daemon.log_tail()
    }

    pub async fn stop(mut self) -> Result<(), Error> {
        self.daemon.stop(STOPS_WITHIN).await?;
        Ok(())
    }

    fn go_on(&mut self, deadline: Instant, what: &'static str) -> Result<(), Error> {
        self.check()?;
        if Instant::now() > deadline {
            return Err(Error::TooLong { what, seconds: WITHIN.as_secs(), log: self.log_tail() });
        }
        Ok(())
    }
}

/// The binary that was built together with this one.
pub fn berth() -> Result<PathBuf, Error> {
    let own = env::current_exe().map_err(Error::system("the path of this program"))?;
    let program = own.with_file_name("berth");
    if program.is_file() { Ok(program) } else { Err(Error::NoOperator { program }) }
}

fn log(daemon: &Daemon) -> Result<String, Error> {
    let bytes = fs::read(daemon.log()).map_err(Error::system("the log of the operator"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The whole answer; `None` when the server does not answer.
async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// Free addresses. Another process may take one before it is used; the operator then exits with an error.
pub fn free_addresses() -> std::io::Result<[SocketAddr; 2]> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = [bind()?, bind()?];
    Ok([held[0].local_addr()?, held[1].local_addr()?])
}
