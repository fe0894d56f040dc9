//! What the filters ask of every host, worked out once when the Hypervisor changes and not once per request.

use std::collections::BTreeSet;

use berth_core::{
    ProjectId,
    host::{Amounts, ConditionStatus, Host},
};

use crate::symbols::{Symbol, SymbolSet, Symbols};

/// The kind of a host as far as flavors can ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HypervisorType {
    Ch,
    Qemu,
    #[default]
    Unknown,
}

/// Amounts as numbers to calculate weights with; beyond 2^53 the last bits do not matter for a ranking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) memory: Option<f64>,
    pub(crate) cpu: Option<f64>,
}

impl From<Amounts> for Figures {
    #[expect(clippy::cast_precision_loss, reason = "a ranking needs no exact bytes")]
    fn from(amounts: Amounts) -> Self {
        Self { memory: amounts.memory.map(|memory| memory.get() as f64), cpu: amounts.cpu.map(|cpu| cpu.get() as f64) }
    }
}

/// What steps need of a host, side by side in memory: most hosts are judged without touching anything else.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one bit per independent question")]
pub(crate) struct Row {
    /// The conditions let VMs be placed (document 60 section 5.1).
    pub(crate) in_service: bool,
    /// `None` without a zone label.
    pub(crate) zone: Option<Symbol>,
    pub(crate) hypervisor: HypervisorType,
    pub(crate) arch: Option<Symbol>,
    pub(crate) traits: SymbolSet,
    /// The projects that its aggregates admit (document 60 section 5.12); empty means all.
    pub(crate) tenants: BTreeSet<ProjectId>,
    /// It names the projects that may use it.
    pub(crate) exclusive: bool,
    /// Its capacity makes no sense, so it is not offered.
    pub(crate) unreadable: bool,
    /// `status.effectiveCapacity`.
    pub(crate) capacity: Figures,
    /// `status.allocation`.
    pub(crate) allocation: Figures,
    /// Its cluster has not been heard of for too long (document 60 B3).
    pub(crate) withheld: bool,
}

impl Row {
    pub(crate) fn new(host: &Host, symbols: &mut Symbols, withheld: bool) -> Self {
        let mut traits = SymbolSet::default();
        for name in &host.traits {
            traits.insert(symbols.learn(name));
        }
        Self {
            in_service: in_service(host),
            zone: (!host.zone.is_empty()).then(|| symbols.learn(host.zone.as_str())),
            hypervisor: match host.capabilities.hypervisor_type.as_str() {
                "ch" => HypervisorType::Ch,
                "kvm" => HypervisorType::Qemu,
                _ => HypervisorType::Unknown,
            },
            traits,
            arch: Some(symbols.learn(&host.capabilities.cpu_arch)),
            tenants: tenants(host),
            exclusive: !host.allowed_projects.is_empty(),
            unreadable: host.nonsense.is_some(),
            capacity: host.effective_capacity.into(),
            allocation: host.allocation.into(),
            withheld,
        }
    }
}

/// A host that is still being set up has no `Ready` condition yet, but says `Onboarding` (document 60 B9).
fn in_service(host: &Host) -> bool {
    let status = |name: &str| host.conditions.get(name).copied();
    let ready = match status("Ready") {
        Some(ready) => ready == ConditionStatus::True,
        None => matches!(status("Onboarding"), None | Some(ConditionStatus::False)),
    };
    ready
        && ["HypervisorDisabled", "Terminating"]
            .iter()
            .all(|name| matches!(status(name), None | Some(ConditionStatus::False)))
}

fn tenants(host: &Host) -> BTreeSet<ProjectId> {
    let metadata = host.aggregates.iter().flat_map(|aggregate| &aggregate.metadata);
    let lists = metadata.filter(|(key, _)| key.starts_with("filter_tenant_id")).map(|(_, value)| value);
    let projects = lists.flat_map(|list| list.split(',')).map(str::trim).filter(|project| !project.is_empty());
    projects.map(ProjectId::from).collect()
}
