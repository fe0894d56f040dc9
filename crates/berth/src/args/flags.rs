//! Flags that several commands share.

use std::path::PathBuf;

use berth_telemetry::logs::{Format, Level};
use clap::{Args, ValueEnum};

/// Flags that name the clusters, shared by all commands that contact them.
#[derive(Debug, Args)]
pub struct ClusterArguments {
    /// Kubeconfig file; without it KUBECONFIG, ~/.kube/config or the service account of the pod.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Configuration file. Without the flag the default path is used if it exists.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// File with the secret part of the configuration, merged over it.
    #[arg(long, value_name = "FILE")]
    pub secrets: Option<PathBuf>,
    /// Refuse unknown configuration keys and names instead of warning.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub strict_config: bool,
}

/// The flag that names the process to ask what only the leader knows.
#[derive(Debug, Args)]
pub struct LeaderArguments {
    /// URL of the operator that leads, for example after `kubectl port-forward`; without the flag it is read from the Lease.
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    pub operator: Option<String>,
}

fn parse_url(text: &str) -> Result<String, String> {
    let is_url =
        ["http://", "https://"].iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if is_url { Ok(text.to_owned()) } else { Err("write a URL, for example http://127.0.0.1:8080".to_owned()) }
}

/// Flags about logs.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// `human` or `json`; by default text at a terminal and JSON elsewhere.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<Format>,
    /// error, warn, info, debug, trace, or a number of which a higher one shows more.
    #[arg(long, value_name = "LEVEL", value_parser = Level::from_flag)]
    pub zap_log_level: Option<Level>,
    /// `console` or `json`, as --log-format.
    #[arg(long, value_name = "FORMAT")]
    pub zap_encoder: Option<Format>,
    /// Log lines as text, down to debug.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub zap_devel: Option<bool>,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For humans.
    Text,
    /// For programs.
    Json,
}
