//! `berth-bench`: what `make bench-start` runs. How long the operator takes to start on a cluster that is full, and what
//! that costs. It is no test: nothing is asserted but that there was nothing to write.

mod cloud;
mod error;
mod figures;
mod fill;
mod operator;
mod proc;
mod start;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;

/// The sizes that are compared when none is given.
const SIZES: [usize; 2] = [5_000, 50_000];

/// Measures the operator on a real control plane.
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
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Start { objects } = Arguments::parse().command;
    let sizes = if objects.is_empty() { SIZES.to_vec() } else { objects };
    match measure(&sizes).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(sizes: &[usize]) -> Result<(), Error> {
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
