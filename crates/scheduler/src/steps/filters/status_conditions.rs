//! Keeps hosts whose conditions let VMs be placed (document 60 section 5.1, B9). The conditions themselves are judged
//! when the host changes, in [`crate::row`].

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct StatusConditions;

impl Filter for StatusConditions {
    fn name(&self) -> FilterName {
        super::name("filter_status_conditions", "status")
    }

    fn prepare<'r>(&'r self, _: &'r Run<'r>) -> Result<Check<'r>, String> {
        Ok(Check::keep(|candidate| candidate.seen.is_some_and(|seen| seen.row.in_service)))
    }
}
