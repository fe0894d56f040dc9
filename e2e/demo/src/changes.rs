//! The changes of commitments that Limes has asked for, as rows below the commitments.

use std::sync::Arc;

use berth_crds::CommitmentChange;
use kube::ResourceExt as _;

use crate::columns::{self, Row};

const COLUMNS: usize = 5;
const TITLES: [&str; COLUMNS] = ["CHANGE", "ZONE", "PHASE", "COMMITMENTS", "OUTCOME"];
/// Older ones are not shown.
const SHOWN: usize = 8;

/// The newest changes, the oldest of them first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    rows: Vec<Row<COLUMNS>>,
}

impl Changes {
    pub fn new(changes: &[Arc<CommitmentChange>]) -> Self {
        let mut changes: Vec<_> = changes.iter().collect();
        changes.sort_by_key(|change| (change.metadata.creation_timestamp.clone(), change.name_any()));
        let rows = changes.iter().skip(changes.len().saturating_sub(SHOWN)).map(|change| row(change));
        Self { rows: rows.collect() }
    }

    /// Nothing without changes.
    pub fn lines(&self, width: usize) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new()];
        lines.extend(columns::lines(TITLES, &self.rows, width));
        lines
    }

    /// The changed rows since `before`, as lines that are readable without titles.
    pub fn changed_lines(&self, before: &Self) -> Vec<String> {
        self.rows.iter().filter(|row| !before.rows.contains(row)).map(sentence).collect()
    }
}

fn row(change: &CommitmentChange) -> Row<COLUMNS> {
    let status = change.status.clone().unwrap_or_default();
    [
        change.name_any(),
        change.spec.availability_zone.clone(),
        status.phase.to_string(),
        change.spec.item_count.to_string(),
        status.message.unwrap_or_default().replace('\n', " "),
    ]
}

fn sentence([name, zone, phase, count, outcome]: &Row<COLUMNS>) -> String {
    let outcome = if outcome.is_empty() { String::new() } else { format!(": {outcome}") };
    format!("change {name} in {zone}, {count} commitments, {phase}{outcome}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::testing::object;

    fn change(name: &str, phase: &str) -> Arc<CommitmentChange> {
        Arc::new(object(&json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommitmentChange", "metadata": { "name": name },
            "spec": {
                "requestID": "r", "availabilityZone": "az-a", "requiresConfirmation": true, "itemCount": 2,
                "deadline": "2026-01-01T00:00:00.000000Z", "items": []
            },
            "status": { "phase": phase }
        })))
    }

    #[test]
    fn each_phase_of_a_change_is_news_and_old_changes_are_left_out() {
        let before = Changes::new(&[change("c-1", "Applying")]);
        let after = Changes::new(&[change("c-1", "Accepted")]);
        assert_eq!(after.changed_lines(&before), ["change c-1 in az-a, 2 commitments, Accepted"]);
        assert_eq!(after.changed_lines(&after), [""; 0]);
        assert_eq!(Changes::default().lines(80), [""; 0]);
        let many: Vec<_> = (1..=9).map(|number| change(&format!("c-{number}"), "Accepted")).collect();
        let lines = Changes::new(&many).lines(80);
        assert_eq!(lines.len(), 2 + SHOWN);
        assert_eq!(lines[2], "c-2     az-a  Accepted  2");
    }
}
