//! Keeps hosts that provide the capabilities that the flavor asks for (document 60 section 5.5). The type of the
//! hypervisor is compared without case, as everywhere else (B11), the architecture exactly.

use crate::{
    FilterName,
    fleet::{Fleet, Seen},
    request::HYPERVISOR_TYPE,
    row::HypervisorType,
    run::{Run, StepEvent},
    steps::{Check, Filter},
    symbols::Symbol,
};

const CPU_ARCH: &str = "capabilities:cpu_arch";

/// An operator in any value switches the filter off. The others of the document's list contain one of these.
const OPERATORS: [&str; 6] = ["=", "<in>", "<all-in>", "s<", "s>", "<or>"];

#[derive(Debug)]
pub(super) struct Capabilities;

impl Filter for Capabilities {
    fn name(&self) -> FilterName {
        super::name("filter_capabilities", "capabilities")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let specs = run.request.flavor.extra_specs.iter();
        let wanted: Vec<(&str, &str)> = specs
            .filter(|(key, _)| key.starts_with("capabilities:"))
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let uses_operators = wanted.iter().any(|(_, value)| OPERATORS.iter().any(|op| value.contains(op)));
        if wanted.is_empty() || uses_operators {
            return Ok(Check::Skip);
        }
        let wanted = Wanted::new(run.fleet, &wanted);
        Ok(Check::keep(move |candidate| candidate.seen.is_some_and(|seen| wanted.provided_by(run, &seen))))
    }
}

/// The wish, read once per request.
struct Wanted {
    hypervisor: Option<HypervisorType>,
    arch: Option<Symbol>,
    impossible: bool,
}

impl Wanted {
    fn new(fleet: &Fleet, specs: &[(&str, &str)]) -> Self {
        let mut wanted = Self { hypervisor: None, arch: None, impossible: false };
        for (key, value) in specs {
            match *key {
                HYPERVISOR_TYPE if value.eq_ignore_ascii_case("ch") => wanted.hypervisor = Some(HypervisorType::Ch),
                HYPERVISOR_TYPE if value.eq_ignore_ascii_case("qemu") => wanted.hypervisor = Some(HypervisorType::Qemu),
                CPU_ARCH => {
                    wanted.arch = fleet.symbol(value);
                    wanted.impossible |= wanted.arch.is_none();
                }
                _ => wanted.impossible = true,
            }
        }
        wanted
    }

    fn provided_by(&self, run: &Run<'_>, seen: &Seen<'_>) -> bool {
        if seen.row.hypervisor == HypervisorType::Unknown {
            run.report(StepEvent {
                step: "filter_capabilities",
                event: "filter_capabilities_unknown_hypervisor_type",
                label: Some(("hypervisor_type", seen.host().capabilities.hypervisor_type.clone())),
            });
            return false;
        }
        !self.impossible
            && self.hypervisor.is_none_or(|wanted| wanted == seen.row.hypervisor)
            && (self.arch.is_none() || self.arch == seen.row.arch)
    }
}
