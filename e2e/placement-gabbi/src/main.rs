//! `berth-placement-gabbi`: Placement's own suite against a server, from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use berth_placement_gabbi::{Contradictions, Database, Description, Error, Report, Server, Toolbox, run};
use clap::{ArgGroup, Parser, ValueEnum};

/// Runs OpenStack Placement's own gabbi suite over HTTP, each file against a fresh server.
#[derive(Debug, Parser)]
#[command(version, group = ArgGroup::new("what").required(true))]
struct Arguments {
    /// Only make the Python environment.
    #[arg(long, group = "what")]
    prepare: bool,
    /// Test Placement itself, which proves the runner.
    #[arg(long, group = "what")]
    reference: bool,
    /// Test this `berth` binary.
    #[arg(long, group = "what", value_name = "BINARY")]
    server: Option<PathBuf>,
    /// Where our server keeps its ledger.
    #[arg(long, default_value = "sqlite")]
    database: Kind,
    /// Run only this file, such as `basic-http`; may be repeated.
    #[arg(long, value_name = "FILE")]
    only: Vec<String>,
    /// How many files are run at the same time; absent, one for each core.
    #[arg(long, value_name = "FILES")]
    at_once: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Sqlite,
    Memory,
    Postgres,
}

impl Kind {
    async fn database(self) -> Result<Database, Error> {
        match self {
            Self::Sqlite => Ok(Database::File),
            Self::Memory => Ok(Database::Memory),
            Self::Postgres => Database::postgres().await,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match test(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("berth-placement-gabbi: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all results are as required.
async fn test(arguments: Arguments) -> Result<bool, Error> {
    let toolbox = Toolbox::obtain().await?;
    if arguments.prepare {
        println!("{}", toolbox.python().display());
        return Ok(true);
    }
    let suite = Description::read(&toolbox).await?;
    let (server, contradictions) = match &arguments.server {
        Some(binary) => (Server::berth(binary, arguments.database.database().await?), Contradictions::listed(&suite)?),
        None => (Server::reference(&toolbox), Contradictions::default()),
    };
    let suite = suite.only(&arguments.only)?;
    let at_once = arguments.at_once.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let begin = Instant::now();
    let tested = run(&toolbox, &suite, &server, at_once).await?;
    let report = Report::new(&suite, tested, &contradictions);
    print!("{}", report.failures());
    println!("{report}, {:.0} s", begin.elapsed().as_secs_f64());
    Ok(report.is_good())
}
