//! `berth preflight` and `berth placement preflight`: ask what a start asks, with the same flags and configuration, and report
//! everything that was found. Nothing is written.

mod clusters;
mod credentials;
mod fact;
mod findings;
mod listeners;
mod operator;
mod placement;
mod report;
#[cfg(test)]
mod tests;

use std::future::Future;

use tokio::runtime;

use self::fact::Fact;
use self::findings::assess;
use self::report::Report;
use super::output;
use crate::args::{Output, PlacementArguments, StartArguments};
use crate::error::Error;

/// Of an operator.
pub(super) fn run(arguments: &StartArguments) -> Result<(), Error> {
    finish(arguments.output, &gathered(operator::gather(&arguments.operator))?)
}

/// Of a server of the Placement API.
pub(super) fn run_for_placement(arguments: &PlacementArguments, form: Output) -> Result<(), Error> {
    finish(form, &gathered(placement::gather(arguments))?)
}

fn gathered(gathering: impl Future<Output = Result<Vec<Fact>, Error>>) -> Result<Vec<Fact>, Error> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|source| Error::Runtime { source })?.block_on(gathering)
}

fn finish(form: Output, facts: &[Fact]) -> Result<(), Error> {
    let report = Report::new(assess(facts));
    output::show(form, &report, Report::text)?;
    match (report.failures, form) {
        (0, _) => Ok(()),
        (_, Output::Json) => Err(Error::Wrong("the answer is on standard output".to_owned())),
        (_, Output::Text) => Err(Error::Wrong(report.summary())),
    }
}
