//! Keeps hosts that can take over a running VM from its source (document 60 section 5.13).

use berth_core::{HostName, host::Capabilities};

use crate::{
    FilterName, Intent,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct LiveMigratable;

impl Filter for LiveMigratable {
    fn name(&self) -> FilterName {
        super::name("filter_live_migratable", "live migration")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let source = run.request.hints.get("source_host").unwrap_or_default();
        if !run.is_for(&[Intent::LiveMigration]) || source.is_empty() {
            return Ok(Check::Skip);
        }
        let view = &run.fleet.view;
        let state = view.id(&HostName::new(source)).and_then(|id| view.state(id));
        let source = &state.ok_or("source host hypervisor not found")?.host().capabilities;
        Ok(Check::keep(move |candidate| candidate.seen.is_some_and(|seen| covers(&seen.host().capabilities, source))))
    }
}

fn covers(target: &Capabilities, source: &Capabilities) -> bool {
    target.cpu_arch == source.cpu_arch
        && source.cpu_modes.is_subset(&target.cpu_modes)
        && source.features.is_subset(&target.features)
        && source.devices.is_subset(&target.devices)
}
