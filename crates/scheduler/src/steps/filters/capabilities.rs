//! Keeps hosts that provide the capabilities that the flavor requires. The type of the hypervisor is compared without
//! case, as everywhere else, the architecture exactly.

use berth_capacity_view::{HostId, HostSet};

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::columns::Columns;
use crate::request::HYPERVISOR_TYPE;
use crate::row::HypervisorType;
use crate::run::{Run, StepEvent};
use crate::steps::{Effect, Filter, StepError};

const CPU_ARCH: &str = "capabilities:cpu_arch";

/// An operator in any value switches the filter off. The others of the document's list contain one of these.
const OPERATORS: [&str; 6] = ["=", "<in>", "<all-in>", "s<", "s>", "<or>"];

#[derive(Debug)]
pub(super) struct Capabilities;

impl Filter for Capabilities {
    fn name(&self) -> FilterName {
        FilterName::new("filter_capabilities", "capabilities")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let specs = run.request.flavor.extra_specs.iter();
        let wanted = || specs.clone().filter(|(key, _)| key.starts_with("capabilities:"));
        let uses_operators = wanted().any(|(_, value)| OPERATORS.iter().any(|op| value.contains(op)));
        if wanted().next().is_none() || uses_operators {
            return Ok(Effect::Skipped);
        }
        let unknown = run.fleet.columns().kind(HypervisorType::Unknown);
        for id in unknown.iter().filter(|id| field.known.has(*id)) {
            self.report_unknown(run, id);
        }
        field.drop(unknown);
        for (key, value) in wanted() {
            field.keep(providing(run.fleet.columns(), key, value));
        }
        Ok(Effect::Done)
    }
}

impl Capabilities {
    fn report_unknown(&self, run: &Run<'_>, id: HostId) {
        let kind = run.fleet.host(id).map(|host| host.capabilities.hypervisor_type.clone());
        run.report(StepEvent {
            step: self.name().step,
            event: "filter_capabilities_unknown_hypervisor_type",
            label: kind.map(|kind| ("hypervisor_type", kind)),
        });
    }
}

/// The hosts that provide the capability of one extra spec. No host provides an unknown key or value.
fn providing<'c>(columns: &'c Columns, key: &str, value: &str) -> &'c HostSet {
    match key {
        HYPERVISOR_TYPE if value.eq_ignore_ascii_case("ch") => columns.kind(HypervisorType::Ch),
        HYPERVISOR_TYPE if value.eq_ignore_ascii_case("qemu") => columns.kind(HypervisorType::Qemu),
        CPU_ARCH => columns.archs.get(value),
        _ => HostSet::none(),
    }
}
