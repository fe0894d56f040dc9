//! Arguments of `berth placement`. Each is also an environment variable and a configuration key.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{LogArguments, Output};

/// Arguments of `berth placement`.
#[derive(Debug, Args)]
pub struct PlacementArguments {
    /// Instead of serving.
    #[command(subcommand)]
    pub command: Option<PlacementCommand>,
    /// Configuration file, whose object `placement` counts. Without the flag the default path is used if it exists.
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// File with the secret part of the configuration, merged over it.
    #[arg(long, value_name = "FILE", global = true)]
    pub secrets: Option<PathBuf>,
    /// Address of the API [default: 127.0.0.1:8778].
    #[arg(long, value_name = "ADDRESS", env = "BERTH_PLACEMENT_LISTEN")]
    pub listen: Option<String>,
    /// Address of /healthz, /readyz, /metrics and /check; 0 switches them off [default: 127.0.0.1:8779].
    #[arg(long, value_name = "ADDRESS", env = "BERTH_PLACEMENT_METRICS_LISTEN", global = true)]
    pub metrics_listen: Option<String>,
    /// Serve /metrics and /check over HTTPS, to callers that the API server of KUBECONFIG or of the pod allows to get the path
    /// [default: true, or false on loopback].
    #[arg(long, value_name = "BOOL", env = "BERTH_PLACEMENT_METRICS_SECURE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub metrics_secure: Option<bool>,
    /// The ledger: a SQLite file, the URL of a PostgreSQL database, or :memory: [default: berth-placement.db].
    #[arg(long, value_name = "DATABASE", env = "BERTH_PLACEMENT_DATABASE", hide_env_values = true, global = true)]
    pub database: Option<String>,
    /// File with the URL of the database, whose password nobody then sees in the list of processes.
    #[arg(
        long,
        value_name = "FILE",
        env = "BERTH_PLACEMENT_DATABASE_FILE",
        conflicts_with = "database",
        global = true
    )]
    pub database_file: Option<PathBuf>,
    /// How clients authenticate [default: keystone if there are credentials of Keystone, else off].
    #[arg(long, value_name = "MODE", env = "BERTH_PLACEMENT_AUTH")]
    pub auth: Option<PlacementAuth>,
    /// Serve without authentication at addresses other than loopback too [default: false].
    #[arg(long, value_name = "BOOL", env = "BERTH_PLACEMENT_INSECURE_API", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_api: Option<bool>,
    /// File with rules of oslo.policy that replace the defaults.
    #[arg(long, value_name = "FILE", env = "BERTH_PLACEMENT_POLICY_FILE")]
    pub policy_file: Option<PathBuf>,
    /// Whether the newer default policies apply; without them the role admin may do everything [default: true].
    #[arg(long, value_name = "BOOL", env = "BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub enforce_new_defaults: Option<bool>,
    /// Site whose pages may use the API, `*` for all; can be repeated.
    #[arg(long, value_name = "ORIGIN", env = "BERTH_PLACEMENT_CORS_ORIGIN", value_delimiter = ',')]
    pub cors_origin: Option<Vec<String>>,
    /// Request header that these pages may send; can be repeated.
    #[arg(long, value_name = "HEADER", env = "BERTH_PLACEMENT_CORS_HEADERS", value_delimiter = ',')]
    pub cors_headers: Option<Vec<String>>,
    /// Use a random order of hosts for each query of allocation candidates [default: false].
    #[arg(long, value_name = "BOOL", env = "BERTH_PLACEMENT_RANDOMIZE_ALLOCATION_CANDIDATES", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub randomize_allocation_candidates: Option<bool>,
    /// Which candidates come first [default: depth-first].
    #[arg(long, value_name = "STRATEGY", env = "BERTH_PLACEMENT_ALLOCATION_CANDIDATES_GENERATION_STRATEGY")]
    pub allocation_candidates_generation_strategy: Option<GenerationStrategy>,
    /// The maximum number of candidates of a query, applied before its limit; -1 for none [default: -1].
    #[arg(long, value_name = "N", env = "BERTH_PLACEMENT_MAX_ALLOCATION_CANDIDATES", allow_negative_numbers = true, value_parser = parse_limit)]
    pub max_allocation_candidates: Option<i64>,
    /// The format of log lines.
    #[command(flatten)]
    pub logs: LogArguments,
}

/// Actions on a ledger besides serving it.
#[derive(Debug, Subcommand)]
pub enum PlacementCommand {
    /// Copy a SQLite ledger to a file that does not exist yet, also while a server uses it.
    Backup {
        /// The copy.
        file: PathBuf,
    },
    /// Ask the running server to compare its model with the database.
    Check,
    /// Print what a start with the same flags listens on and connects to, for firewalls and network policies.
    Network {
        /// Output format.
        #[arg(long, short, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Ask what a start with the same flags asks, report everything that is found, and start nothing.
    Preflight {
        /// Output format.
        #[arg(long, short, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
}

/// Which candidates come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GenerationStrategy {
    /// All of a host, then those of the next.
    DepthFirst,
    /// One of each host in turn.
    BreadthFirst,
}

fn parse_limit(text: &str) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| *number >= -1);
    number.ok_or_else(|| "write a whole number from 0 on, or -1 for no maximum".to_owned())
}

/// How clients authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlacementAuth {
    /// Clients state their identity themselves: for tests and local use.
    Noauth2,
    /// Nothing is contacted.
    Off,
    /// By a token of Keystone, with the credentials of keystoneSecretRef or keystoneURL in the configuration.
    Keystone,
}
