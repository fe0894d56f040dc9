//! Arguments of `berth e2e-commitments`.

use std::path::PathBuf;

use clap::Args;

use super::LogArguments;

/// Arguments of `berth e2e-commitments`.
#[derive(Debug, Args)]
pub struct E2eCommitmentsArguments {
    /// JSON object with keys of the configuration, merged over it, for example `{"noCleanup":true}`.
    #[arg(value_name = "JSON")]
    pub json: Option<String>,
    /// Configuration file. Without the flag the default path is used if it exists.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// File with the secret part of the configuration, merged over it.
    #[arg(long, value_name = "FILE")]
    pub secrets: Option<PathBuf>,
    /// The format of log lines.
    #[command(flatten)]
    pub logs: LogArguments,
}
