//! The quota controller (document 11 section 5.8).

use std::{collections::BTreeSet, time::Duration};

use super::section::{Section, Zero};

/// The states of a commitment (document 10).
const STATES: [&str; 6] = ["planned", "pending", "guaranteed", "confirmed", "superseded", "expired"];
const COMMITTED: [&str; 2] = ["confirmed", "guaranteed"];

/// Settings of the quota controller, all on the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// `fullReconcileInterval`: period of the full computation.
    pub full_reconcile_interval: Duration,
    /// `crStateFilter`: states of commitments whose usage counts as committed.
    pub commitment_states: BTreeSet<String>,
    /// `enableHVDiff`: whether changes of hypervisors are followed at once.
    pub enable_hypervisor_diff: bool,
    /// `datasourceName`, with the default of this controller.
    pub datasource_name: String,
}

impl Quota {
    pub(super) fn read(s: &mut Section<'_>, datasource_name: Option<&str>) -> Self {
        Self {
            full_reconcile_interval: s.duration(
                "fullReconcileInterval",
                Duration::from_secs(300),
                Zero::Default,
                "Period in which quota usage is computed from scratch.",
            ),
            commitment_states: states(s),
            enable_hypervisor_diff: s.flag("enableHVDiff", true, "Follow changes of hypervisors at once."),
            datasource_name: datasource_name.unwrap_or("nova-servers").to_owned(),
        }
    }
}

fn states(s: &mut Section<'_>) -> BTreeSet<String> {
    const MEANING: &str = "States of commitments whose usage counts as committed.";
    let named = s.list("crStateFilter", "confirmed, guaranteed", MEANING).unwrap_or_default();
    for (index, state) in named.iter().enumerate().filter(|(_, state)| !STATES.contains(&state.as_str())) {
        let text = format!("{state:?} is not a state of a commitment; write one of {}", STATES.join(", "));
        s.error(&format!("crStateFilter[{index}]"), text);
    }
    let states = if named.is_empty() { COMMITTED.map(str::to_owned).into() } else { named };
    s.settle("crStateFilter", states).into_iter().collect()
}
