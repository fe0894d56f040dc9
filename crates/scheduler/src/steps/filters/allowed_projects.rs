//! Keeps hosts that admit the project (document 60 section 5.11).

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct AllowedProjects;

impl Filter for AllowedProjects {
    fn name(&self) -> FilterName {
        super::name("filter_allowed_projects", "allowed projects")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let project = &run.request.project;
        if run.is_for(&super::NOT_A_VM) || project.is_empty() {
            return Ok(Check::Skip);
        }
        Ok(Check::keep(move |candidate| {
            candidate.seen.is_none_or(|seen| !seen.row.exclusive || seen.host().allowed_projects.contains(project))
        }))
    }
}
