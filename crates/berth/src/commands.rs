//! The sub-commands.

mod amounts;
mod claims;
mod cluster_snapshot;
mod config;
mod crds;
mod crds_check;
mod dry_run;
mod e2e_commitments;
mod explain_commitment;
mod explain_host;
mod explain_slot;
mod explain_zone;
mod leader;
mod log_level;
mod network;
mod next_step;
mod object_lookup;
mod output;
mod placement;
mod preflight;
mod rbac;
mod reasons;
#[cfg(test)]
#[path = "commands/tests/scene.rs"]
mod scene;
mod schedule;
mod similar;
mod slot_facts;
mod table;
mod times;
mod vms;

use crate::args::{Arguments, Command, CrdsCommand, Explain, PlacementCommand};
use crate::error::Error;
use crate::{build_info, operator};

pub fn run(arguments: Arguments) -> Result<(), Error> {
    match arguments.command {
        Command::Operator(arguments) => operator::run(&arguments),
        Command::Placement(arguments) => match &arguments.command {
            None => placement::run(&arguments),
            Some(PlacementCommand::Backup { file }) => placement::back_up(&arguments, file),
            Some(PlacementCommand::Check) => placement::compare(&arguments),
            Some(PlacementCommand::Network { output }) => network::run_for_placement(&arguments, *output),
            Some(PlacementCommand::Preflight { output }) => preflight::run_for_placement(&arguments, *output),
        },
        Command::Explain(Explain::Host(arguments)) => explain_host::run(&arguments),
        Command::Explain(Explain::Zone(arguments)) => explain_zone::run(&arguments),
        Command::Explain(Explain::Commitment(arguments)) => explain_commitment::run(&arguments),
        Command::Explain(Explain::Slot(arguments)) => explain_slot::run(&arguments),
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Crds(arguments) => match &arguments.command {
            None => crds::run(&arguments),
            Some(CrdsCommand::Check(arguments)) => crds_check::run(arguments),
        },
        Command::Rbac(arguments) => rbac::run(&arguments),
        Command::Config(command) => config::run(&command),
        Command::Preflight(arguments) => preflight::run(&arguments),
        Command::Network(arguments) => network::run(&arguments),
        Command::E2eCommitments(arguments) => e2e_commitments::run(&arguments),
        Command::LogLevel(arguments) => log_level::run(&arguments),
        Command::Version => output::print(&format!("berth {}, commit {}\n", build_info::VERSION, build_info::REVISION)),
    }
}
