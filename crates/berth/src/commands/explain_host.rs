//! `berth explain host`: what a host holds, what blocks it, and which flavors fit. What the screen says is decided in
//! `report`, how it looks in `text`; this reads the facts.

mod facts;
mod fits;
mod report;
#[cfg(test)]
mod tests;
mod text;

use berth_core::HostName;
use berth_scheduler::PipelineChoice;

use super::{
    looking::{self, Look},
    output, similar,
};
use crate::{args::HostArguments, error::Error};
use facts::Facts;
use fits::Question;

pub(super) fn run(arguments: &HostArguments) -> Result<(), Error> {
    let configuration = looking::configured(&arguments.clusters)?;
    let look = looking::look(&arguments.clusters, configuration)?;
    let name = HostName::from(arguments.name.as_str());
    let scheduler = &look.memory.scheduler;
    let Some(host) = scheduler.host_report(&name) else { return Err(unknown(&arguments.name, &look)) };
    let facts = Facts::gather(host, &look.memory.stores);
    let groups = look.flavor_groups();
    let choice = choice(&look);
    let project = arguments.project.as_deref().map(Into::into);
    let question = Question::about(&facts.host, project, &choice);
    let fits = match &groups {
        Ok(known) => Ok(question.ask(&known.groups, |request| scheduler.refusal(&name, request))),
        Err(error) => Err(error.to_string()),
    };
    let account = report::report(&facts, &question, fits, &look.missing);
    output::show(arguments.output, &account, text::text)
}

/// A host of a cluster that is missing is not known either.
fn unknown(name: &str, look: &Look) -> Error {
    let names = look.memory.scheduler.host_names();
    let hint = similar::hint(name, names.iter().map(HostName::as_str)) + &look.unread_clusters();
    Error::Unknown { what: "host", name: name.to_owned(), hint }
}

fn choice(look: &Look) -> PipelineChoice {
    let configured = &look.configuration.reservation_controller;
    PipelineChoice {
        flavor_group_pipelines: configured.flavor_group_pipelines.clone(),
        default: configured.pipeline_default.clone().unwrap_or_default(),
    }
}
