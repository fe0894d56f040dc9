//! The sub-commands.

mod amounts;
mod crds;
mod explain_host;
mod looking;
mod output;
mod schedule;
mod similar;
mod table;

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
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Version => {
            println!("berth {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    }
}
