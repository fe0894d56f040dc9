//! The sub-commands.

mod amounts;
mod crds;
mod explain_commitment;
mod explain_host;
mod explain_slot;
mod foreseeing;
mod looking;
mod naming;
mod next;
mod output;
mod reasons;
#[cfg(test)]
mod scene;
mod schedule;
mod similar;
mod slot_facts;
mod table;
mod times;
mod vms;

use crate::{
    args::{Arguments, Command, Explain},
    error::Error,
    operator,
};

/// Does what the arguments say.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    match arguments.command {
        Command::Operator(arguments) => operator::run(&arguments),
        Command::Explain(Explain::Host(arguments)) => explain_host::run(&arguments),
        Command::Explain(Explain::Commitment(arguments)) => explain_commitment::run(&arguments),
        Command::Explain(Explain::Slot(arguments)) => explain_slot::run(&arguments),
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Version => {
            println!("berth {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    }
}
