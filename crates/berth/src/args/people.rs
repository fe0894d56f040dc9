//! Arguments of `berth explain` and `berth schedule`. The commands decide whether a request is consistent.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::{ClusterArguments, LeaderArguments, Output};

/// The object to explain.
#[derive(Debug, Subcommand)]
pub enum Explain {
    /// The capacity of a host, the reservations that block it, and the flavors that fit.
    Host(Box<HostArguments>),
    /// Why a commitment is ready or not, where its slots are, and what happens next.
    Commitment(Box<CommitmentArguments>),
    /// What runs, is reserved, is free, is sold and is given out as quota in a zone, for each flavor group.
    Zone(Box<ZoneArguments>),
    /// Where a slot of a commitment is, why it is not elsewhere, and what happens next.
    Slot(Box<SlotArguments>),
}

/// Arguments of `berth explain commitment`.
#[derive(Debug, Args)]
pub struct CommitmentArguments {
    /// Name of the CommittedResource or UUID of the commitment; `cluster/name` when two clusters have it.
    pub name: String,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Whom to ask.
    #[command(flatten)]
    pub leader: LeaderArguments,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Arguments of `berth explain slot`.
#[derive(Debug, Args)]
pub struct SlotArguments {
    /// Name of the Reservation; `cluster/name` when two clusters have it.
    pub name: String,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Whom to ask.
    #[command(flatten)]
    pub leader: LeaderArguments,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Arguments of `berth explain zone`.
#[derive(Debug, Args)]
pub struct ZoneArguments {
    /// Name of the availability zone.
    pub name: String,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Arguments of `berth explain host`.
#[derive(Debug, Args)]
pub struct HostArguments {
    /// Name of the Hypervisor.
    pub name: String,
    /// Project whose slots are tried; without it one that the host admits.
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Whom to ask.
    #[command(flatten)]
    pub leader: LeaderArguments,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Arguments of `berth schedule`.
#[derive(Debug, Args)]
pub struct ScheduleArguments {
    /// The request.
    #[command(flatten)]
    pub source: RequestSource,
    /// The maximum number of hosts to show.
    #[arg(long, value_name = "N", default_value = "20")]
    pub limit: NonZeroUsize,
    /// Show every host, including the removed ones.
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Output format; JSON has every host.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Which clusters, and how they are configured.
    #[command(flatten)]
    pub clusters: ClusterArguments,
}

/// Where a request comes from.
#[derive(Debug, Args)]
pub struct RequestSource {
    /// File with the body of a request to the external scheduler API; - for standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "flavor")]
    #[arg(conflicts_with_all = ["flavor", "zone", "project", "intent", "pipeline"])]
    pub request: Option<PathBuf>,
    /// Instead of a file: a flavor of the flavor groups.
    #[arg(long, value_name = "NAME")]
    pub flavor: Option<String>,
    /// With --flavor: the zone; without it any.
    #[arg(long, value_name = "ZONE", requires = "flavor")]
    pub zone: Option<String>,
    /// With --flavor: the project.
    #[arg(long, value_name = "ID", requires = "flavor")]
    pub project: Option<String>,
    /// With --flavor: what it is for; without it a new VM as Nova asks for it.
    #[arg(long, value_name = "INTENT", requires = "flavor", value_parser = INTENTS)]
    pub intent: Option<String>,
    /// With --flavor: the pipeline; without it the one that would be used.
    #[arg(long, value_name = "NAME", requires = "flavor")]
    pub pipeline: Option<String>,
}

/// The names of all intents.
const INTENTS: [&str; 9] = [
    "create",
    "rebuild",
    "resize",
    "live_migration",
    "evacuate",
    "reserve_for_failover",
    "reuse_failover_reservation",
    "reserve_for_committed_resource",
    "capacity_probe",
];

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{Arguments, Command, Explain};

    fn refused(line: &str) -> String {
        Arguments::try_parse_from(line.split(' ')).unwrap_err().to_string()
    }

    #[test]
    fn the_operator_is_given_as_a_url() {
        assert!(refused("berth explain host h --operator 10.0.0.7").contains("write a URL, for example http://"));
        let line = "berth explain host h --operator http://10.0.0.7:8080";
        let Command::Explain(Explain::Host(arguments)) = Arguments::try_parse_from(line.split(' ')).unwrap().command
        else {
            panic!("another command");
        };
        assert_eq!(arguments.leader.operator.as_deref(), Some("http://10.0.0.7:8080"));
    }

    #[test]
    fn a_request_comes_from_a_file_or_from_flags() {
        assert!(refused("berth schedule").contains("--request"));
        assert!(refused("berth schedule --request a --flavor b").contains("cannot be used with"));
        assert!(refused("berth schedule --request a --zone b").contains("cannot be used with"));
        assert!(refused("berth schedule --flavor b --intent move").contains("live_migration"));
        let line = "berth schedule --flavor b --zone z --intent evacuate --limit 3";
        let Command::Schedule(arguments) = Arguments::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("another command");
        };
        assert_eq!((arguments.limit.get(), arguments.source.zone.as_deref()), (3, Some("z")));
    }
}
