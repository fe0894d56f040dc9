//! Which controllers and tasks run, and which names are known to us or to other programs that read the same file.

use std::collections::BTreeSet;

use super::section::Section;

/// A controller of this project, by its name in `enabledControllers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// `committed-resource-reservations-controller`: commitments, slots, usage, oversubscription, LIQUID API.
    CommittedResources,
    /// `capacity-controller`.
    Capacity,
    /// `quota-controller`.
    Quota,
    /// `inflight-reservation-controller`.
    InFlight,
    /// `nova-pipeline-controllers`: the scheduler API and its pipelines.
    NovaPipelines,
}

impl Controller {
    /// All of them; what runs when nothing is configured.
    pub const ALL: [Self; 5] =
        [Self::CommittedResources, Self::Capacity, Self::Quota, Self::InFlight, Self::NovaPipelines];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::CommittedResources => "committed-resource-reservations-controller",
            Self::Capacity => "capacity-controller",
            Self::Quota => "quota-controller",
            Self::InFlight => "inflight-reservation-controller",
            Self::NovaPipelines => "nova-pipeline-controllers",
        }
    }
}

/// A periodic task of this project, by its name in `enabledTasks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// `commitments-sync-task`: the syncer.
    CommitmentsSync,
}

impl Task {
    /// All of them. None runs unless it is configured.
    pub const ALL: [Self; 1] = [Self::CommitmentsSync];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::CommitmentsSync => "commitments-sync-task",
        }
    }
}

/// Names, or beginnings and ends of names, of what other programs provide.
const FOREIGN: [&str; 6] = [
    "datasource-controllers",
    "failover-reservations-controller",
    "nova-deschedulings-executor",
    "hypervisor-overcommit-controller",
    "knowledge-controllers",
    "kpis-controller",
];
const FOREIGN_BEGINNINGS: [&str; 4] = ["manila-", "cinder-", "ironcore-", "pods-"];
const FOREIGN_END: &str = "-history-cleanup-task";

pub(super) fn controllers(s: &mut Section<'_>) -> BTreeSet<Controller> {
    const MEANING: &str = "What runs, by name. An empty list starts nothing but probes and metrics.";
    let wanted = s.list("enabledControllers", "all of Berth's controllers", MEANING);
    let Some(names) = wanted else {
        s.settle("enabledControllers", Controller::ALL.map(Controller::name));
        return Controller::ALL.into();
    };
    read_known_names(s, "enabledControllers", &names, &Controller::ALL.map(|one| (one.name(), one)))
}

pub(super) fn tasks(s: &mut Section<'_>) -> BTreeSet<Task> {
    let names = s.list("enabledTasks", "none", "Periodic tasks that run, by name.").unwrap_or_default();
    read_known_names(s, "enabledTasks", &names, &Task::ALL.map(|one| (one.name(), one)))
}

fn read_known_names<T: Copy + Ord>(s: &mut Section<'_>, key: &str, names: &[String], all: &[(&str, T)]) -> BTreeSet<T> {
    let mut known = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        let path = format!("{key}[{index}]");
        if let Some((_, one)) = all.iter().find(|(ours, _)| ours == name) {
            known.insert(*one);
        } else if is_foreign(name) {
            s.info(&path, format!("{name:?} is not provided by this binary"));
        } else {
            s.unknown(&path, format!("{name:?} is not known; correct or remove it"));
        }
    }
    known
}

fn is_foreign(name: &str) -> bool {
    FOREIGN.contains(&name)
        || FOREIGN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.ends_with(FOREIGN_END)
}
