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
    /// File with a token of Keystone, which the requests carry. Without it the credentials of the configuration log in
    /// (keystoneSecretRef or keystoneURL), and without those the requests have no token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Kubeconfig file of the cluster with the Secret of keystoneSecretRef; without it KUBECONFIG, ~/.kube/config or the
    /// service account of the pod.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The format of log lines.
    #[command(flatten)]
    pub logs: LogArguments,
}
