//! The command line. The flags of the reference's manager are accepted, so that its charts work; those without a
//! meaning here are ignored.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

mod checks;
mod e2e_commitments;
mod flags;
mod people;
mod placement;

pub use checks::{
    ConfigArguments, ConfigCommand, CrdsArguments, CrdsCheckArguments, CrdsCommand, LogLevelArguments, RbacArguments,
};
pub use e2e_commitments::E2eCommitmentsArguments;
pub use flags::{ClusterArguments, LeaderArguments, LogArguments, Output};
pub use people::{
    CommitmentArguments, Explain, HostArguments, RequestSource, ScheduleArguments, SlotArguments, ZoneArguments,
};
pub use placement::{GenerationStrategy, PlacementArguments, PlacementAuth, PlacementCommand};

/// Keeps a berth free for every commitment: turns committed resources into reservation slots on hypervisors.
#[derive(Debug, Parser)]
#[command(name = "berth", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the controllers until stopped. This is also what runs when only flags are given.
    Operator(Box<OperatorArguments>),
    /// Serve the Placement API of OpenStack from its own ledger, until stopped.
    Placement(Box<PlacementArguments>),
    /// Explain the state of commitments, slots and hosts.
    #[command(subcommand)]
    Explain(Explain),
    /// Try a request to the scheduler without changing anything: which hosts it would get, and why not the others.
    Schedule(Box<ScheduleArguments>),
    /// Print the custom resource definitions, for `kubectl apply --server-side -f -`, or check stored objects.
    Crds(Box<CrdsArguments>),
    /// Print the service account of the operator and the rights that it needs, for `kubectl apply -f -`.
    Rbac(RbacArguments),
    /// Check a configuration without starting anything.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Ask what the start of an operator with the same flags asks, report everything that is found, and start nothing.
    Preflight(Box<StartArguments>),
    /// Print what an operator with the same flags listens on and connects to, for firewalls and network policies.
    Network(Box<StartArguments>),
    /// Create and delete commitments through a running LIQUID API, as Limes would, and check its answers.
    #[command(name = "e2e-commitments")]
    E2eCommitments(Box<E2eCommitmentsArguments>),
    /// Show or change the log level of a running operator.
    LogLevel(LogLevelArguments),
    /// Print the version, and the commit that it was built from.
    Version,
}

/// Arguments of `berth operator`.
#[derive(Debug, Args)]
pub struct OperatorArguments {
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
    /// Address of /healthz and /readyz; 0 switches them off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub health_probe_bind_address: String,
    /// Address of the APIs, such as the scheduler's for Nova; 0 switches them off [default: :8080, or 127.0.0.1:8080 if
    /// callers do not authenticate].
    #[arg(long, value_name = "ADDRESS")]
    pub api_bind_address: Option<String>,
    /// Serve APIs without authentication at addresses other than loopback too: all clients that reach them are answered.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub insecure_api: bool,
    /// Address of /metrics; 0 switches it off.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub metrics_bind_address: String,
    /// Serve metrics over HTTPS, to callers that the API server allows to get /metrics.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true")]
    pub metrics_secure: bool,
    /// Folder with another certificate for secure metrics than that of the APIs.
    #[arg(long, value_name = "FOLDER")]
    pub metrics_cert_path: Option<String>,
    /// File in this folder with the certificate.
    #[arg(long, value_name = "FILE", default_value = "tls.crt")]
    pub metrics_cert_name: String,
    /// File in this folder with its key.
    #[arg(long, value_name = "FILE", default_value = "tls.key")]
    pub metrics_cert_key: String,
    /// Compete with other replicas for the Lease leaderElectionID; the winner runs the controllers.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub leader_elect: bool,
    /// The format of log lines.
    #[command(flatten)]
    pub logs: LogArguments,
    /// Flags of the reference that have no meaning here.
    #[command(flatten)]
    pub ignored: IgnoredArguments,
}

/// Arguments of `berth preflight` and `berth network`: those of the start that is asked about.
#[derive(Debug, Args)]
pub struct StartArguments {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// The flags of the operator.
    #[command(flatten)]
    pub operator: OperatorArguments,
}

/// Accepted for the sake of existing charts; no effect.
#[derive(Debug, Args)]
pub struct IgnoredArguments {
    /// Ignored: HTTP/2 is not used.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub enable_http2: Option<bool>,
    /// Ignored: there is no webhook.
    #[arg(long, hide = true)]
    pub webhook_cert_path: Option<String>,
    /// Ignored: there is no webhook.
    #[arg(long, hide = true)]
    pub webhook_cert_name: Option<String>,
    /// Ignored: there is no webhook.
    #[arg(long, hide = true)]
    pub webhook_cert_key: Option<String>,
    /// Ignored: log lines carry no stack traces.
    #[arg(long, hide = true)]
    pub zap_stacktrace_level: Option<String>,
    /// Ignored: times are RFC 3339.
    #[arg(long, hide = true)]
    pub zap_time_encoding: Option<String>,
}

impl Arguments {
    /// Reads the command line of the process; ends the process with an error if it is invalid.
    pub fn from_environment() -> Self {
        Self::parse_from(with_command(std::env::args_os().collect()))
    }
}

/// A first argument that is a flag belongs to the operator: that is how the reference is started.
fn with_command(mut all: Vec<OsString>) -> Vec<OsString> {
    let ours = ["-h", "--help", "-V", "--version"];
    let first = all.get(1).and_then(|first| first.to_str()).unwrap_or_default();
    if first.starts_with('-') && !ours.contains(&first) {
        all.insert(1, "operator".into());
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use berth_telemetry::logs::Level;
    use clap::CommandFactory;

    use super::*;

    fn operator(line: &str) -> OperatorArguments {
        let all = with_command(line.split(' ').map(Into::into).collect());
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Operator(arguments) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_documentation_names_the_same_flags() {
        let page = include_str!("../../../docs/configuration.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split_once('`'));
        let documented: BTreeSet<_> = rows.map(|(name, _)| name.to_owned()).collect();
        let command = Arguments::command();
        let operator = command.find_subcommand("operator").unwrap();
        let shown = operator.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(|flag| flag.get_long());
        let shown: BTreeSet<_> = shown.map(str::to_owned).collect();
        assert_eq!(shown, documented);
    }

    /// Also as an environment variable, and as a key.
    #[test]
    fn the_documentation_of_placement_names_the_same_flags() {
        let page = include_str!("../../../docs/placement.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split_once(" |"));
        let documented: BTreeSet<_> =
            rows.flat_map(|(names, _)| names.split("--").map(|name| name.trim_matches(['`', ',', ' ']))).collect();
        let command = Arguments::command();
        let placement = command.find_subcommand("placement").unwrap();
        let own = placement.get_arguments().filter(|flag| flag.get_env().is_some());
        let (mut shown, keys) = (BTreeSet::new(), berth_telemetry::config::keys());
        for flag in own {
            let name = flag.get_long().unwrap();
            let variable = format!("BERTH_PLACEMENT_{}", name.to_uppercase().replace('-', "_"));
            assert_eq!(flag.get_env().unwrap(), variable.as_str());
            let key = format!("placement.{}", in_camel_case(name));
            assert!(keys.iter().any(|known| known.path == key), "{key}");
            shown.insert(name);
        }
        assert_eq!(shown, documented);
    }

    fn in_camel_case(name: &str) -> String {
        let mut words = name.split('-');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
    }

    #[test]
    fn flags_of_the_chart_are_taken() {
        let arguments = operator(
            "berth --metrics-bind-address=:2112 --metrics-secure=false --health-probe-bind-address=:8081 \
             --leader-elect --zap-log-level=info --zap-devel=false --webhook-cert-path=x --enable-http2=false"
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .as_str(),
        );
        assert!(arguments.leader_elect && !arguments.metrics_secure);
        assert_eq!(arguments.metrics_bind_address, ":2112");
        assert_eq!(arguments.logs.zap_log_level, Some(Level::Info));
    }

    #[test]
    fn defaults_are_those_of_the_reference() {
        let arguments = operator("berth operator");
        assert_eq!(arguments.health_probe_bind_address, ":8081");
        assert!(arguments.api_bind_address.is_none() && !arguments.insecure_api);
        assert_eq!(arguments.metrics_bind_address, "0");
        assert!(arguments.metrics_secure && !arguments.leader_elect && !arguments.clusters.strict_config);
    }

    #[test]
    fn a_wrong_level_reports_what_is_right() {
        let all = ["berth", "operator", "--zap-log-level", "loud"];
        let text = Arguments::try_parse_from(all).unwrap_err().to_string();
        assert!(text.contains("write error, warn, info, debug, trace"), "{text}");
    }

    #[test]
    fn a_preflight_takes_the_arguments_of_the_start() {
        let line = "berth preflight --leader-elect --metrics-bind-address=:2112 --config c.json --zap-devel -o json";
        let parsed = |line: &str| Arguments::try_parse_from(line.split(' ')).unwrap().command;
        let Command::Preflight(arguments) = parsed(line) else { panic!("another command") };
        assert_eq!(arguments.output, Output::Json);
        assert!(arguments.operator.leader_elect && arguments.operator.clusters.config.is_some());
        let Command::Placement(arguments) = parsed("berth placement --listen=:1 --database=a.db preflight -o json")
        else {
            panic!("another command")
        };
        assert_eq!((arguments.listen.as_deref(), arguments.database.as_deref()), (Some(":1"), Some("a.db")));
        assert!(matches!(arguments.command, Some(PlacementCommand::Preflight { output: Output::Json })));
    }
}
