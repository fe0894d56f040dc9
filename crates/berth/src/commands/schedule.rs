//! `berth schedule`: a dry run of a request against the clusters. What is asked is decided in `request`, what the screen
//! says in `report`, how it looks in `text`.

mod report;
mod request;
#[cfg(test)]
mod tests;
mod text;

use std::time::Duration;

use berth_scheduler::{Call, Explanation, Request};

use super::{
    looking::{self, Look},
    output,
};
use crate::{args::ScheduleArguments, error::Error};

pub(super) fn run(arguments: &ScheduleArguments) -> Result<(), Error> {
    let configuration = looking::configured(&arguments.clusters)?;
    let source = &arguments.source;
    // Before anybody is asked: a body that is none needs no cluster.
    let written = source.request.as_deref().map(|path| request::read(path, configuration.scheduler.max_body_bytes));
    let written = written.transpose()?;
    let look = looking::look(&arguments.clusters, configuration)?;
    let request = match written {
        Some(request) => request,
        None => request::short(source, &look)?,
    };
    let (answer, explanation) = ask(&look, &request)?;
    let run = report::report(&request, &answer, explanation, &look.missing);
    let shown = if arguments.all { usize::MAX } else { arguments.limit.get() };
    output::show(arguments.output, &run, |run| text::text(run, shown, arguments.all))
}

/// The hosts that would be answered, and the reasons.
fn ask(look: &Look, request: &Request) -> Result<(Vec<berth_core::HostName>, Explanation), Error> {
    let scheduler = &look.memory.scheduler;
    let call = Call { request, now: Duration::ZERO, chance: 0, guest: None, stopwatch: None, explain: true };
    let answer = scheduler.answer(&call)?;
    let explanation = answer.explanation.map_or_else(|| scheduler.explain(request), Ok)?;
    Ok((answer.hosts, explanation))
}
