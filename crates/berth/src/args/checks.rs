//! Arguments of the commands that print manifests, check configuration and stored objects, and change the log level.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ClusterArguments, Output};

/// Arguments of `berth crds`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CrdsArguments {
    /// Instead of printing them.
    #[command(subcommand)]
    pub command: Option<CrdsCommand>,
    /// Write one file per definition into this directory instead of printing them.
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Also those of other deployments, for tests and demos: where they are installed this would overwrite them.
    #[arg(long)]
    pub all: bool,
    /// Print nothing; compare the installed definitions of other deployments with what is read of their objects.
    #[arg(long, conflicts_with_all = ["all", "directory"])]
    pub check_only: bool,
    /// Which clusters, and how they are configured; for the comparison.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Actions besides printing the definitions.
#[derive(Debug, Subcommand)]
pub enum CrdsCommand {
    /// List stored objects that their rules would refuse.
    Check(Box<CrdsCheckArguments>),
}

/// Arguments of `berth crds check`.
#[derive(Debug, Args)]
pub struct CrdsCheckArguments {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Arguments of `berth rbac`.
#[derive(Debug, Args)]
pub struct RbacArguments {
    /// Namespace that the operator runs in.
    #[arg(long, value_name = "NAME", default_value = "berth-system", value_parser = namespace)]
    pub namespace: String,
    /// Print what the operator needs in another cluster whose objects it manages.
    #[arg(long)]
    pub remote: bool,
}

/// Checks that Kubernetes accepts the name of a namespace.
fn namespace(text: &str) -> Result<String, String> {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name =
        (1..=63).contains(&text.len()) && text.bytes().all(inside) && !text.starts_with('-') && !text.ends_with('-');
    if is_name {
        return Ok(text.to_owned());
    }
    Err("write at most 63 lower case letters, digits and dashes, with no dash at the beginning or end".to_owned())
}

/// Actions on a configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Report the problems of a configuration, as the operator does at its start.
    Check(ConfigArguments),
    /// Print every key with its value in effect, as a configuration file, without secrets.
    Print(ConfigArguments),
}

/// Which configuration.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// Configuration file. Without one the default path is used if it exists.
    pub file: Option<PathBuf>,
    /// File with the secret part of the configuration, merged over it.
    #[arg(long, value_name = "FILE")]
    pub secrets: Option<PathBuf>,
    /// Refuse unknown configuration keys and names instead of warning.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub strict_config: bool,
}

/// Arguments of `berth log-level`.
#[derive(Debug, Args)]
pub struct LogLevelArguments {
    /// error, warn, info, debug, trace, levels per module as in `RUST_LOG`, or reset for those of the start. Without it,
    /// the command shows the present level.
    pub level: Option<String>,
    /// Process id of the operator: 1 in its container.
    #[arg(long, value_name = "PID", default_value_t = 1)]
    pub pid: u32,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    fn parsed(line: &str) -> Result<Command, String> {
        Arguments::try_parse_from(line.split(' ')).map(|all| all.command).map_err(|error| error.to_string())
    }

    #[test]
    fn definitions_are_printed_or_checked() {
        let Ok(Command::Crds(printed)) = parsed("berth crds --directory d") else { panic!("another command") };
        assert!(printed.command.is_none() && printed.directory.is_some() && !printed.all && !printed.check_only);
        assert!(parsed("berth crds --all").is_ok() && parsed("berth crds --check-only --kubeconfig k").is_ok());
        assert!(parsed("berth crds --all --check-only").is_err());
        let Ok(Command::Crds(checked)) = parsed("berth crds check -o json") else { panic!("another command") };
        let Some(CrdsCommand::Check(arguments)) = checked.command else { panic!("another command") };
        assert_eq!(arguments.output, Output::Json);
        assert!(parsed("berth crds --directory d check").is_err());
    }

    #[test]
    fn a_namespace_is_a_name_that_kubernetes_takes() {
        let Ok(Command::Rbac(arguments)) = parsed("berth rbac") else { panic!("another command") };
        assert_eq!((arguments.namespace.as_str(), arguments.remote), ("berth-system", false));
        assert!(parsed("berth rbac --namespace harbour-2 --remote").is_ok());
        let long = "x".repeat(64);
        for wrong in ["", "-x", "x-", "X", "a.b", "a\nb", &long] {
            assert!(Arguments::try_parse_from(["berth", "rbac", "--namespace", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_level_is_for_the_operator_of_a_container_unless_another_one_is_named() {
        let Ok(Command::LogLevel(arguments)) = parsed("berth log-level debug") else { panic!("another command") };
        assert_eq!((arguments.level.as_deref(), arguments.pid), (Some("debug"), 1));
        assert!(parsed("berth log-level debug --pid x").is_err());
    }
}
