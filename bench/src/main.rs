//! `berth-bench` is the program that `make bench` and `make bench-start` run. It measures how fast the operator
//! decides, what it costs compared with a client that only writes, and how long it takes to start on a full cluster. It
//! is no test: it asserts no times, only the number of writes.

mod attack;
mod capacity_cycle;
mod capacity_split;
mod changes;
mod cloud;
mod error;
mod figures;
mod fill;
mod floor;
mod machine;
mod nova;
mod operator;
mod pairs;
mod placement;
mod plane;
mod planner;
mod proc;
mod quota_rest;
mod requests;
mod rest;
mod restart;
mod scale;
mod scheduler;
mod size;
mod start;
mod syncer;
mod table;
mod times;
mod tokens;
mod usage;
mod usage_report;
mod usage_rest;
mod vms;
mod waiting;

use std::process::ExitCode;

use berth_http::open_files;
use clap::{Parser, Subcommand, ValueEnum};

use crate::attack::Attack;
use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// The sizes that are compared when the user gives none.
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
    /// The figures of docs/performance.md.
    Figures {
        /// Only these parts, with commas between them.
        #[arg(long, value_delimiter = ',', value_name = "PART")]
        only: Vec<Part>,
        /// How much of it.
        #[command(flatten)]
        size: Size,
    },
    /// Attacks on our own servers, on loopback: the figures of docs/security.md.
    Attack {
        /// Only these attacks, with commas between them.
        #[arg(long, value_delimiter = ',', value_name = "ATTACK")]
        only: Vec<Attack>,
        /// How much of it.
        #[command(flatten)]
        size: Size,
    },
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Decisions of the scheduler.
    Scheduler,
    /// Row z: what the filter of quota adds to a request.
    QuotaFilter,
    /// Row c: plans of large commitments.
    Planner,
    /// Row u: the assignment of VMs to commitments.
    Usage,
    /// Row y: the split of free capacity between flavor groups.
    CapacitySplit,
    /// Rows A and B: a cycle of capacity, and slots beside it.
    CapacityCycle,
    /// Rows D and E: usage of quota while nothing changes, and its metrics.
    QuotaRest,
    /// Rows a and b: the operator beside a client that only writes.
    Floor,
    /// Row d: what a slot costs in small and large clouds, and what a large one costs at rest.
    Scale,
    /// Row e: restart and take-over.
    Restart,
    /// Row n: requests of Nova that make claims.
    Nova,
    /// Row w: slots that wait for capacity.
    Waiting,
    /// Rows f to i: the Placement API beside Placement itself.
    Placement,
    /// Rows f and g by themselves.
    Candidates,
    /// Of rows f and g what is asked of our server alone.
    Alone,
    /// Row h by itself.
    Claims,
    /// Row i by itself.
    Ready,
    /// Row a by itself.
    Many,
    /// Row b by itself.
    One,
    /// Rows j to m: changes of commitments that Limes requests; row C: pushes of quota.
    Changes,
    /// Row j by itself.
    Sale,
    /// Row k by itself.
    Rejections,
    /// Row l by itself.
    Split,
    /// Row m by itself.
    Clients,
    /// Row C by itself.
    QuotaPush,
    /// Row t: usage reports.
    UsageReport,
    /// Row x: usage while nothing changes.
    UsageRest,
    /// Row v: reading the VMs of the cloud.
    Vms,
    /// Rows o and p: the syncer over a long list.
    Syncer,
    /// Row o by itself.
    Unchanged,
    /// Row p by itself.
    Created,
    /// Row q: checks of tokens.
    Tokens,
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Start { objects } if objects.is_empty() => starts(&SIZES).await,
        Command::Start { objects } => starts(&objects).await,
        Command::Figures { only, size } => figures(&only, size).await,
        Command::Attack { only, size } => attacks(&only, size).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All parts, or those that were asked for; then one table with the rows of all of them.
async fn figures(only: &[Part], size: Size) -> Result<(), Error> {
    let mut rows = Vec::new();
    for part in if only.is_empty() { &Part::ALL } else { only } {
        println!("== {}", format!("{part:?}").to_lowercase());
        rows.extend(part.measure(size).await?);
    }
    show(&rows)
}

/// All attacks, or those that were asked for.
async fn attacks(only: &[Attack], size: Size) -> Result<(), Error> {
    open_files::raise_limit();
    let mut rows = Vec::new();
    for attack in if only.is_empty() { &Attack::ALL } else { only } {
        println!("== {}", format!("{attack:?}").to_lowercase());
        rows.push(attack.measure(size).await?);
    }
    show(&rows)
}

fn show(rows: &[Row]) -> Result<(), Error> {
    println!("\n{}\n\n{}", machine::machine(), table::table(rows));
    let budgets = table::exceeded(rows);
    if budgets.is_empty() { Ok(()) } else { Err(Error::Exceeded { budgets }) }
}

impl Part {
    const ALL: [Self; 19] = [
        Self::Scheduler,
        Self::QuotaFilter,
        Self::Planner,
        Self::Usage,
        Self::CapacitySplit,
        Self::CapacityCycle,
        Self::QuotaRest,
        Self::Floor,
        Self::Scale,
        Self::Restart,
        Self::Nova,
        Self::Waiting,
        Self::Changes,
        Self::UsageReport,
        Self::UsageRest,
        Self::Syncer,
        Self::Tokens,
        Self::Placement,
        Self::Vms,
    ];

    async fn measure(self, size: Size) -> Result<Vec<Row>, Error> {
        match self {
            Self::Scheduler => Ok(vec![scheduler::measure(size).await?]),
            Self::QuotaFilter => Ok(vec![scheduler::quota::measure(size)?]),
            Self::Planner => planner::measure(),
            Self::Usage => Ok(vec![usage::measure()]),
            Self::CapacitySplit => Ok(vec![capacity_split::measure()]),
            Self::CapacityCycle => capacity_cycle::measure(size),
            Self::QuotaRest => quota_rest::measure(size),
            Self::Floor => floor::measure(size).await,
            Self::Scale => scale::measure(size).await,
            Self::Restart => restart::measure(size).await,
            Self::Nova => Ok(vec![nova::measure(size).await?]),
            Self::Waiting => waiting::measure(size).await,
            Self::Placement => placement::measure(size).await,
            Self::Candidates => placement::candidates(size).await,
            Self::Alone => placement::alone(size).await,
            Self::Claims => placement::claims(size).await,
            Self::Ready => placement::ready(size).await,
            Self::Many => Ok(vec![floor::many::measure(size).await?]),
            Self::One => Ok(vec![floor::one::measure(size).await?]),
            Self::Changes => changes::measure(size).await,
            Self::Sale => Ok(vec![changes::sale::measure(size).await?]),
            Self::Rejections => changes::rejections::measure(size).await,
            Self::Split => Ok(vec![changes::split::measure(size).await?]),
            Self::Clients => Ok(vec![changes::clients::measure(size).await?]),
            Self::QuotaPush => Ok(vec![changes::quota_push::measure(size).await?]),
            Self::UsageReport => Ok(vec![usage_report::measure()?]),
            Self::UsageRest => Ok(vec![usage_rest::measure(size)?]),
            Self::Vms => Ok(vec![vms::measure(size).await?]),
            Self::Syncer => syncer::measure(size).await,
            Self::Unchanged => Ok(vec![syncer::unchanged::measure(size).await?]),
            Self::Created => Ok(vec![syncer::created::measure(size).await?]),
            Self::Tokens => Ok(vec![tokens::measure(size).await?]),
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
