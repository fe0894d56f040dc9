//! The quota controller.

use std::collections::BTreeSet;
use std::time::Duration;

use super::section::{Section, Zero, seconds};
use super::settings::settings;

/// The states of a commitment.
const STATES: [&str; 6] = ["planned", "pending", "guaranteed", "confirmed", "superseded", "expired"];
const COMMITTED: [&str; 2] = ["confirmed", "guaranteed"];

settings! {
    /// Settings of the quota controller, all on the top level.
    pub struct Quota = read(s) {
        /// After this time the usage of quota is computed again although nothing has changed.
        full_reconcile_interval: Duration = duration("fullReconcileInterval", seconds(300), Zero::Default),
        /// `crStateFilter`: states of commitments whose usage counts as committed.
        commitment_states: BTreeSet<String> = (states(s)),
        /// Follow changes of hypervisors at once.
        enable_hypervisor_diff: bool = flag("enableHVDiff", true),
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
