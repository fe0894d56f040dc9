//! The operator as a process, started as an administrator would, and observed through its listeners and its log.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use berth_control_plane::{ControlPlane, Daemon};

use super::free_ports::free_addresses;
use super::http;
use super::waiting::WITHIN;

/// The process must stop within this time after SIGTERM.
pub const STOPS_WITHIN: Duration = Duration::from_secs(5);

/// The argument with the address of the APIs, which is any free address by default.
const API: &str = "--api-bind-address=";

/// The argument with the format of log lines, which is `human` by default.
const FORMAT: &str = "--log-format=";

/// Makes the metrics those for known callers; otherwise everyone may read them.
pub const SECURE_METRICS: &str = "--metrics-secure";

/// A running operator; it is killed when this is dropped.
pub struct Operator {
    daemon: Daemon,
    log_begins: usize,
    flags: Vec<String>,
    api: SocketAddr,
    probes: SocketAddr,
    metrics: SocketAddr,
}

impl Operator {
    /// Starts it without waiting for readiness.
    pub async fn start(control_plane: &ControlPlane, kubeconfig: &Path, config: &Path) -> Self {
        Self::start_as("berth", control_plane, kubeconfig, config, &[]).await
    }

    /// Like `start`, with its own log, `<name>.log`, and more arguments. Those without dashes are variables of its
    /// environment, as for `env`.
    pub async fn start_as(
        name: &'static str,
        control_plane: &ControlPlane,
        kubeconfig: &Path,
        config: &Path,
        more: &[&str],
    ) -> Self {
        assert_ne!(
            kubeconfig,
            control_plane.kubeconfig(),
            "an operator has its own account, not that of the administrator"
        );
        let [api, probes, metrics] = free_addresses();
        let wanted =
            more.iter().find_map(|argument| argument.strip_prefix(API)).map(|address| address.parse().unwrap());
        let api = wanted.unwrap_or(api);
        let (more, variables): (Vec<&str>, Vec<&str>) = more.iter().partition(|argument| argument.starts_with("--"));
        let mut arguments: Vec<String> = variables.into_iter().map(str::to_owned).collect();
        arguments.extend([
            env!("CARGO_BIN_EXE_berth").to_owned(),
            "operator".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--config={}", config.display()),
            format!("{API}{api}"),
            format!("--health-probe-bind-address={probes}"),
            format!("--metrics-bind-address={metrics}"),
        ]);
        if !more.contains(&SECURE_METRICS) {
            arguments.push("--metrics-secure=false".to_owned());
        }
        if !more.iter().any(|argument| argument.starts_with(FORMAT)) {
            arguments.push(format!("{FORMAT}human"));
        }
        arguments.extend(more.iter().filter(|argument| !argument.starts_with(API)).map(|one| (*one).to_owned()));
        let begin = arguments.iter().position(|one| one == "operator").unwrap();
        let (log_begins, flags) = (log_length(control_plane, name), arguments[begin..].to_vec());
        let daemon = control_plane.spawn(name, Path::new("/usr/bin/env"), &arguments).await.unwrap();
        Self { daemon, log_begins, flags, api, probes, metrics }
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// Its command line, from the command on.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }

    pub fn api(&self) -> SocketAddr {
        self.api
    }

    /// Status and body of a probe, `/healthz` or `/readyz`.
    pub async fn probe(&self, path: &str) -> Option<(u16, String)> {
        http::get(self.probes, path).await
    }

    /// The text of `/metrics`; empty without an answer.
    pub async fn metrics(&self) -> String {
        http::get(self.metrics, "/metrics").await.map(|(_, text)| text).unwrap_or_default()
    }

    /// Where the metrics are served.
    pub fn metrics_address(&self) -> SocketAddr {
        self.metrics
    }

    /// The number of reconciliations so far, of both controllers.
    pub async fn reconciliations(&self) -> u64 {
        http::sum(&self.metrics().await, "berth_controller_runs_total", &[])
    }

    /// Whether it reports that it leads; `None` without an answer.
    pub async fn leads(&self) -> Option<bool> {
        let metrics = self.metrics().await;
        metrics.lines().find_map(|line| line.strip_prefix("berth_leader ")).map(|value| value == "1")
    }

    pub fn signal(&self, signal: &str) {
        self.daemon.signal(signal).unwrap();
    }

    /// Waits until it has exited by itself; returns the exit code and what it wrote since its start.
    pub async fn ended(mut self) -> (Option<i32>, String) {
        let status = self.daemon.ended(WITHIN).await.unwrap();
        let log = self.log();
        let status = status.unwrap_or_else(|| panic!("the process has not exited:\n{log}"));
        (status.code(), log)
    }

    pub fn log(&self) -> String {
        let all = fs::read(self.daemon.log()).unwrap_or_default();
        String::from_utf8_lossy(all.get(self.log_begins..).unwrap_or_default()).into_owned()
    }

    pub fn end_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Sends SIGTERM: it must exit by itself, with success, in time.
    pub async fn stop(mut self) -> Duration {
        let asked = Instant::now();
        let (log, begins) = (self.daemon.log().to_owned(), self.log_begins);
        let status = self.daemon.stop(2 * STOPS_WITHIN).await.unwrap();
        let took = asked.elapsed();
        let log = fs::read_to_string(log).unwrap_or_default();
        let log = log.get(begins..).unwrap_or_default();
        assert!(status.is_some_and(|status| status.success()), "exited with {status:?} after {took:?}:\n{log}");
        assert!(took < STOPS_WITHIN, "it took {took:?} to stop:\n{log}");
        took
    }

    /// Sends SIGKILL, in the middle of any work.
    pub fn kill(self) {
        drop(self);
    }
}

/// Processes of one name append to the same file.
fn log_length(control_plane: &ControlPlane, name: &str) -> usize {
    let log = control_plane.kubeconfig().with_file_name(format!("{name}.log"));
    fs::metadata(log).map_or(0, |data| usize::try_from(data.len()).unwrap())
}
