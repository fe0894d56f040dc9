//! Obeys the lists of hosts to ignore and to force (document 60 section 5.3); an empty list forces nothing (B10).

use std::collections::BTreeSet;

use berth_core::HostName;

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct HostInstructions;

impl Filter for HostInstructions {
    fn name(&self) -> FilterName {
        super::name("filter_host_instructions", "host instructions")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let ignored: BTreeSet<&HostName> = run.request.ignore_hosts.iter().collect();
        let forced: BTreeSet<&HostName> = run.request.force_hosts.iter().collect();
        if ignored.is_empty() && forced.is_empty() {
            return Ok(Check::Skip);
        }
        Ok(Check::keep(move |candidate| {
            !ignored.contains(candidate.name) && (forced.is_empty() || forced.contains(candidate.name))
        }))
    }
}
