//! What fits on a host now: for each flavor how many slots its free room holds, and where there is room, which filter
//! would refuse them. The filters are asked through a function, so that this is a function of values.

use berth_core::flavor::{Flavor, FlavorGroup, FlavorGroups};
use berth_core::{Bytes, ClusterName, Cores, ProjectId, Resources, SlotKey, Zone};
use berth_scheduler::{
    FilterName, HostReport, Options, PipelineChoice, Rank, Request, SchedulerError, SlotRequest, pipeline_for,
};
use serde::Serialize;

use crate::commands::amounts::Amounts;

/// What is asked about each flavor: a slot on this host.
pub(super) struct Question<'c> {
    pub(super) project: ProjectId,
    zone: Zone,
    room: Option<Resources>,
    choice: &'c PipelineChoice,
}

/// The flavors of a group, the largest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GroupFit {
    pub(super) group: String,
    /// The pipeline that places its slots; empty when it follows from the flavor.
    pub(super) pipeline: String,
    pub(super) flavors: Vec<Fit>,
}

/// How a flavor fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fit {
    pub(super) flavor: String,
    pub(super) size: Amounts,
    /// So many slots have room; `null` when the room is not known.
    pub(super) slots: Option<i64>,
    /// What one slot needs beyond the free room, where none fits.
    pub(super) lacks: Option<Amounts>,
    /// The filter that refuses a slot although there is room.
    pub(super) refused_by: Option<Refusal>,
    /// Why the filters cannot be asked.
    pub(super) error: Option<String>,
}

/// A filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Refusal {
    pub(super) filter: &'static str,
    /// Its name in conditions.
    pub(super) short: &'static str,
}

impl From<FilterName> for Refusal {
    fn from(name: FilterName) -> Self {
        Self { filter: name.step, short: name.short }
    }
}

impl<'c> Question<'c> {
    /// For slots of this project, or of one that the host admits.
    pub(super) fn about(report: &HostReport, project: Option<ProjectId>, choice: &'c PipelineChoice) -> Self {
        let room = report.free.known();
        let project = project.or_else(|| admitted(report)).unwrap_or_default();
        Self { project, zone: report.host.zone.clone(), room, choice }
    }

    /// Asks about every flavor.
    pub(super) fn ask(
        &self,
        groups: &FlavorGroups,
        refusal: impl Fn(&Request) -> Result<Option<FilterName>, SchedulerError>,
    ) -> Vec<GroupFit> {
        let group = |group: &FlavorGroup| GroupFit {
            group: group.name.to_string(),
            pipeline: pipeline_for(&group.name, self.choice).to_owned(),
            flavors: group.flavors.iter().map(|flavor| self.fit(group, flavor, &refusal)).collect(),
        };
        groups.iter().filter(|group| !group.flavors.is_empty()).map(group).collect()
    }

    fn fit(
        &self,
        group: &FlavorGroup,
        flavor: &Flavor,
        refusal: impl Fn(&Request) -> Result<Option<FilterName>, SchedulerError>,
    ) -> Fit {
        let size = flavor.size();
        let slots = self.room.map(|room| slots(size, room));
        let asked = if slots.is_some_and(|slots| slots > 0) { refusal(&self.request(group, flavor)) } else { Ok(None) };
        Fit {
            flavor: flavor.name.to_string(),
            size: size.into(),
            slots,
            lacks: self.room.filter(|_| slots == Some(0)).map(|room| (size - room).at_least_zero().into()),
            error: asked.as_ref().err().map(ToString::to_string),
            refused_by: asked.ok().flatten().map(Refusal::from),
        }
    }

    /// The request of the controller of slots, as a run that changes nothing.
    fn request(&self, group: &FlavorGroup, flavor: &Flavor) -> Request {
        let slot = SlotRequest {
            key: SlotKey::new(ClusterName::home(), "explain"),
            rank: Rank { created_unix: 0, commitment: "".into(), number: 0 },
            project: self.project.clone(),
            zone: self.zone.clone(),
            flavor: flavor.clone(),
            size: flavor.size(),
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

fn slots(size: Resources, room: Resources) -> i64 {
    let times = |of: i64, each: i64| if each <= 0 { i64::MAX } else { (of / each).max(0) };
    let by_memory = times(room.memory.at_least_zero().get(), size.memory.get());
    let by_cpu = times(room.cpu.at_least_zero().get(), size.cpu.get());
    // A host that lacks anything has room for nothing.
    if room.memory < Bytes::ZERO || room.cpu < Cores::ZERO { 0 } else { by_memory.min(by_cpu) }
}
