//! Keeps hosts that admit the project.

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct AllowedProjects;

impl Filter for AllowedProjects {
    fn name(&self) -> FilterName {
        FilterName::new("filter_allowed_projects", "allowed projects")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let project = &run.request.project;
        if run.is_for(&Intent::NOT_A_VM) || project.is_empty() {
            return Ok(Effect::Skipped);
        }
        let admits = |id| run.fleet.host(id).is_none_or(|host| host.allowed_projects.contains(project));
        field.known.retain_among(&run.fleet.columns().exclusive, admits);
        Ok(Effect::Done)
    }
}
