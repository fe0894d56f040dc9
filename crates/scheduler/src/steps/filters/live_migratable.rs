//! Keeps hosts that can take over a running VM from its source.

use berth_core::HostName;
use berth_core::host::Capabilities;

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct LiveMigratable;

impl Filter for LiveMigratable {
    fn name(&self) -> FilterName {
        FilterName::new("filter_live_migratable", "live migration")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let source = run.request.hints.get("source_host").unwrap_or_default();
        if !run.is_for(&[Intent::LiveMigration]) || source.is_empty() {
            return Ok(Effect::Skipped);
        }
        let id = run.fleet.view.id(&HostName::new(source)).ok_or(StepError::NoSourceHost)?;
        let source = run.fleet.host(id).map(|host| &host.capabilities);
        let covers =
            |id| run.fleet.host(id).zip(source).is_some_and(|(host, source)| covers(&host.capabilities, source));
        field.unknown_hosts.clear();
        field.known.retain(covers);
        Ok(Effect::Done)
    }
}

fn covers(target: &Capabilities, source: &Capabilities) -> bool {
    target.cpu_arch == source.cpu_arch
        && source.cpu_modes.is_subset(&target.cpu_modes)
        && source.features.is_subset(&target.features)
        && source.devices.is_subset(&target.devices)
}
