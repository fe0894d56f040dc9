//! The sub-commands.

mod crds;

use crate::{
    args::{Arguments, Command},
    error::Error,
    operator,
};

/// Does what the arguments say.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    match arguments.command {
        Command::Operator(arguments) => operator::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Version => {
            println!("berth {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    }
}
