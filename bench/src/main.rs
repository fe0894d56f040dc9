//! `berth-bench`: what `make bench` and `make bench-start` run. How fast the scheduler decides, and how long the operator
//! takes to start on a cluster that is full. It is no test: no time is asserted, only that there was nothing to write.

mod cloud;
mod error;
mod figures;
mod fill;
mod operator;
mod proc;
mod scheduler;
mod start;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;

/// The sizes that are compared when none is given.
const SIZES: [usize; 2] = [5_000, 50_000];

/// Measures the operator.
#[derive(Debug, Parser)]
#[command(name = "berth-bench", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start with this many hosts, accepted commitments and slots in force.
    Start {
        /// How many objects; may be repeated. Without it 5000, then 50000.
        #[arg(long, value_name = "N")]
        objects: Vec<usize>,
    },
    /// Decide for slots and VMs on clouds of several sizes.
    Scheduler,
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Start { objects } if objects.is_empty() => starts(&SIZES).await,
        Command::Start { objects } => starts(&objects).await,
        Command::Scheduler => scheduler::measure().await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn starts(sizes: &[usize]) -> Result<(), Error> {
    let mut rows = Vec::new();
    for objects in sizes {
        rows.push(start::measure(*objects).await?);
    }
    println!("{}", figures::table(&rows));
    match rows.iter().find(|row| row.writes > 0) {
        Some(row) => Err(Error::Wrote { writes: row.writes }),
        None => Ok(()),
    }
}
