//! Which flavors fit on a host: how many slots its free capacity holds, and which filter would refuse them. The filters
//! are a function parameter, so that this is pure.

use berth_core::flavor::{Flavor, FlavorGroup, FlavorGroups};
use berth_core::{Bytes, ClusterName, Cores, ProjectId, Resources, SlotKey, Zone};
use berth_scheduler::{
    FilterName, HostReport, Options, PipelineChoice, Request, SchedulerError, SlotRequest, WaitingRank, pipeline_for,
};
use serde::Serialize;

use crate::commands::amounts::Amounts;

/// The question for each flavor: does a slot fit on this host?
pub(super) struct Question<'c> {
    pub(super) project: ProjectId,
    zone: Zone,
    free_capacity: Option<Resources>,
    choice: &'c PipelineChoice,
}

/// The flavors of a group, the largest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GroupFeasibility {
    pub(super) group: String,
    /// The pipeline that places its slots; empty when it follows from the flavor.
    pub(super) pipeline: String,
    pub(super) flavors: Vec<FlavorFeasibility>,
}

/// How a flavor fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlavorFeasibility {
    pub(super) flavor: String,
    pub(super) size: Amounts,
    /// The number of slots that fit; `null` if the capacity is unknown.
    pub(super) slots: Option<i64>,
    /// The missing capacity for one slot, if none fits.
    pub(super) lacks: Option<Amounts>,
    /// The filter that refuses a slot although there is free capacity.
    pub(super) refused_by: Option<FilterRefusal>,
    pub(super) error: Option<String>,
}

/// A filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FilterRefusal {
    pub(super) filter: &'static str,
    pub(super) short: &'static str,
}

impl From<FilterName> for FilterRefusal {
    fn from(name: FilterName) -> Self {
        Self { filter: name.step, short: name.short }
    }
}

impl<'c> Question<'c> {
    /// For slots of this project, or of one that the host admits.
    pub(super) fn about(report: &HostReport, project: Option<ProjectId>, choice: &'c PipelineChoice) -> Self {
        let free = report.free.known();
        let project = project.or_else(|| admitted(report)).unwrap_or_default();
        Self { project, zone: report.host.zone.clone(), free_capacity: free, choice }
    }

    pub(super) fn ask(
        &self,
        groups: &FlavorGroups,
        refusal: impl Fn(&Request) -> Result<Option<FilterName>, SchedulerError>,
    ) -> Vec<GroupFeasibility> {
        let group = |group: &FlavorGroup| GroupFeasibility {
            group: group.name.to_string(),
            pipeline: pipeline_for(&group.name, self.choice).to_owned(),
            flavors: group.flavors.iter().map(|flavor| self.check_flavor(group, flavor, &refusal)).collect(),
        };
        groups.iter().filter(|group| !group.flavors.is_empty()).map(group).collect()
    }

    fn check_flavor(
        &self,
        group: &FlavorGroup,
        flavor: &Flavor,
        refusal: impl Fn(&Request) -> Result<Option<FilterName>, SchedulerError>,
    ) -> FlavorFeasibility {
        let size = flavor.size();
        let slots = self.free_capacity.map(|free| slots(size, free));
        let asked = if slots.is_some_and(|slots| slots > 0) { refusal(&self.request(group, flavor)) } else { Ok(None) };
        FlavorFeasibility {
            flavor: flavor.name.to_string(),
            size: size.into(),
            slots,
            lacks: self.free_capacity.filter(|_| slots == Some(0)).map(|free| (size - free).at_least_zero().into()),
            error: asked.as_ref().err().map(ToString::to_string),
            refused_by: asked.ok().flatten().map(FilterRefusal::from),
        }
    }

    /// The request of the controller of slots, as a run that changes nothing.
    fn request(&self, group: &FlavorGroup, flavor: &Flavor) -> Request {
        let slot = SlotRequest {
            key: SlotKey::new(ClusterName::home(), "explain"),
            rank: WaitingRank { created_unix: 0, commitment: "".into(), number: 0 },
            project: self.project.clone(),
            zone: self.zone.clone(),
            flavor: flavor.clone(),
            size: flavor.size(),
            vms: [].into(),
            domain_name: None,
            pipeline: pipeline_for(&group.name, self.choice).to_owned(),
            prefer: None,
            request_id: String::new(),
        };
        let options = Options { lock_reservations: true, ..Options::read_only() };
        Request { options, ..Request::for_slot(&slot) }
    }
}

/// A project that the host and its aggregates admit, if they do not admit all.
fn admitted(report: &HostReport) -> Option<ProjectId> {
    let (allowed, tenants) = (&report.host.allowed_projects, &report.tenants);
    let both = allowed.iter().find(|project| tenants.is_empty() || tenants.contains(project));
    both.or_else(|| tenants.first()).cloned()
}

fn slots(size: Resources, free: Resources) -> i64 {
    let times = |of: i64, each: i64| if each <= 0 { i64::MAX } else { (of / each).max(0) };
    let by_memory = times(free.memory.at_least_zero().get(), size.memory.get());
    let by_cpu = times(free.cpu.at_least_zero().get(), size.cpu.get());
    // A host that lacks anything has free capacity for nothing.
    if free.memory < Bytes::ZERO || free.cpu < Cores::ZERO { 0 } else { by_memory.min(by_cpu) }
}
