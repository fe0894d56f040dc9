//! `berth-demo`: what `make run` shows. A real control plane, a small cloud, the operator under its own RBAC, and
//! commitments that become slots one after the other, at last some that Limes sells.
//!
//! This is the command line: its arguments, the signals that end it, its exit status. [`demo`] has the steps.

mod apply;
mod arguments;
mod asking;
mod changes;
mod client;
mod columns;
mod configuration;
mod crds;
mod demo;
mod diff;
mod documents;
mod end_state;
mod error;
mod expectation;
mod hints;
mod invariants;
mod limes;
mod numbers;
mod operator;
mod outage;
mod port;
mod probe;
mod processes;
mod program;
mod quantity;
mod samples;
mod screen;
mod signals;
mod sites;
mod size;
mod snapshot;
mod steady;
mod table;
mod vms;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::error::Error;
use crate::processes::Processes;
use crate::screen::Screen;
use crate::signals::Signals;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whatever ends the demonstration, everything that it started is stopped in order.
async fn run(arguments: &Arguments) -> Result<(), Error> {
    let mut signals = Signals::new()?;
    let mut screen = Screen::new().await;
    let mut processes = Processes::default();
    let outcome = tokio::select! {
        outcome = demo::run(arguments, &mut screen, &mut processes) => outcome,
        () = signals.recv() => if arguments.once { Err(Error::Interrupted) } else { Ok(()) },
    };
    outcome.and(end(&mut processes, &mut screen).await)
}

async fn end(processes: &mut Processes, screen: &mut Screen) -> Result<(), Error> {
    screen.leave_table();
    let begin = Instant::now();
    if processes.are_there() {
        processes.end().await?;
        screen.done("everything has ended", begin);
    }
    Ok(())
}
