//! `berth-limes`: plays Limes against a LIQUID service, prints each call and its answer, and exits with 1 at the first
//! answer that Limes would not expect. Its commitments stay in that case.

use std::process::ExitCode;

use berth_limes::plan::Projects;
use berth_limes::{Error, Session, Settings};
use clap::Parser;

/// Plays Limes: discovers a LIQUID service, sells, splits, converts, transfers and deletes commitments.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Base URL of the service, to which Limes appends v1/info.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080/commitments/")]
    base_url: String,
    /// Zone of the commitments.
    #[arg(long, value_name = "ZONE")]
    zone: String,
    /// Project that buys them.
    #[arg(long, value_name = "ID", default_value = "limes-double-1")]
    project: String,
    /// Project that one of them is transferred to.
    #[arg(long, value_name = "ID", default_value = "limes-double-2")]
    to_project: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-limes: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { base_url, zone, project, to_project } = arguments;
    let projects = Projects { first: project, second: to_project };
    Session::new(Settings { base_url, zone, projects }, |line| println!("{line}"))?.play().await
}
