//! `berth-keystone`: a real Keystone on this machine, from the command line.

use std::process::ExitCode;

use berth_keystone::{Error, Keystone, Settings, seed};
use clap::{Parser, Subcommand};

/// A real Keystone on this machine, with users and roles for tests.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Start Keystone, say how to log in, and end it on Ctrl-C.
    Up,
    /// Make the Python environment and the database once.
    Prepare,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Up => up().await,
        Command::Prepare => Keystone::prepare().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-keystone: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn up() -> Result<(), Error> {
    let keystone = Keystone::start(&Settings::default()).await?;
    println!("Keystone: {}", keystone.url());
    println!("project:  {} of the domain {}", seed::PROJECT, seed::DOMAIN);
    println!("users:    {} {}; each has the password {}", seed::BERTH, seed::ROLES.join(" "), seed::PASSWORD);
    // It fails only where signals cannot be received; then the process ends at once.
    let _ = tokio::signal::ctrl_c().await;
    Ok(())
}
