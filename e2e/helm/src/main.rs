//! `berth-chart`: builds the tools of the chart, writes its generated files, and checks it.

use std::path::PathBuf;
use std::process::ExitCode;

use berth_helm::{Error, Tools, check, generated};
use clap::{Parser, Subcommand};

/// The tools of Berth's Helm chart.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build helm, kubeconform, helm-docs and crdify once, and print their folder.
    Tools,
    /// Write the files of the chart that are made from others.
    Write {
        /// The program that prints the definitions of others.
        #[arg(long, value_name = "FILE")]
        berth: Option<PathBuf>,
    },
    /// Check the chart.
    Check {
        /// The program whose configuration, flags and definitions count.
        #[arg(long, value_name = "FILE")]
        berth: Option<PathBuf>,
    },
}

fn run(command: &Command) -> Result<(), Error> {
    let tools = Tools::obtain()?;
    match command {
        Command::Tools => println!("{}", tools.folder().display()),
        Command::Write { berth } => generated::write(&tools, berth.as_deref())?,
        Command::Check { berth } => check::run(&tools, berth.as_deref())?,
    }
    Ok(())
}

fn main() -> ExitCode {
    let Err(error) = run(&Arguments::parse().command) else { return ExitCode::SUCCESS };
    let mut line = error.to_string();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
    while let Some(source) = cause {
        line = format!("{line}: {source}");
        cause = source.source();
    }
    eprintln!("{line}");
    ExitCode::FAILURE
}
