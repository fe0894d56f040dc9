//! The table of commitments, one row each, and of the changes of Limes below it.

use berth_crds::conditions::commitment::INSUFFICIENT_CAPACITY;
use berth_crds::{CommittedResource, CommittedResourceSpec, ResourceType};
use kube::ResourceExt;

use crate::changes::Changes;
use crate::columns;
use crate::samples::Labels;
use crate::snapshot::{self, Snapshot, is_in_force};

const COLUMNS: usize = 10;
const TITLES: [&str; COLUMNS] =
    ["COMMITMENT", "UUID", "ZONE", "GROUP", "AMOUNT", "SLOTS", "VMS", "READY", "REASON", "MESSAGE"];
const SLOTS: usize = 5;
const REASON: usize = 8;
/// The placeholder where the operator has written nothing yet.
const NOTHING: &str = "-";
/// The number of characters of the UUID that tell commitments apart.
const SHORT_UUID: usize = 8;

/// One row per commitment, in the order of their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    rows: Vec<[String; COLUMNS]>,
    changes: Changes,
}

impl Table {
    /// The table of a snapshot. Commitments that are no samples come last.
    pub fn new(snapshot: &Snapshot, labels: &Labels) -> Self {
        let mut rows: Vec<_> = snapshot.commitments.iter().map(|one| row(one, snapshot, labels)).collect();
        rows.sort();
        Self { rows, changes: Changes::new(&snapshot.changes) }
    }

    /// Titles and rows as lines that are at most `width` characters long.
    pub fn lines(&self, width: usize) -> Vec<String> {
        [columns::lines(TITLES, &self.rows, width), self.changes.lines(width)].concat()
    }

    /// The changed rows since `before`, as lines that are readable without titles. Slots that are created one after the
    /// other are not reported separately.
    pub fn changed_lines(&self, before: &Self) -> Vec<String> {
        let is_known = |row: &[String; COLUMNS]| before.rows.iter().any(|old| without_slots(old) == without_slots(row));
        let is_reported = |row: &&[String; COLUMNS]| row[REASON] != NOTHING;
        let rows = self.rows.iter().filter(is_reported).filter(|row| !is_known(row)).map(sentence);
        rows.chain(self.changes.changed_lines(&before.changes)).collect()
    }

    pub fn empty() -> Self {
        Self { rows: Vec::new(), changes: Changes::default() }
    }
}

fn row(commitment: &CommittedResource, snapshot: &Snapshot, labels: &Labels) -> [String; COLUMNS] {
    let spec = &commitment.spec;
    let ready = snapshot::ready(commitment);
    let label = labels.get(&commitment.name_any()).map_or("yours", String::as_str);
    [
        label.to_owned(),
        spec.commitment_uuid.chars().take(SHORT_UUID).collect(),
        spec.availability_zone.clone(),
        spec.flavor_group_name.clone(),
        amount(&commitment.spec),
        slots(commitment, snapshot),
        vms(commitment),
        ready.map_or(NOTHING, |ready| ready.status.as_str()).to_owned(),
        ready.map_or(NOTHING, |ready| ready.reason.as_str()).to_owned(),
        ready.map_or(NOTHING, |ready| ready.message.as_str()).to_owned(),
    ]
}

/// Cores need their unit, and memory has one.
fn amount(spec: &CommittedResourceSpec) -> String {
    match spec.resource_type {
        ResourceType::Memory => spec.amount.to_string(),
        ResourceType::Cores => format!("{} cores", spec.amount),
    }
}

/// The number of VMs that use the commitment.
fn vms(commitment: &CommittedResource) -> String {
    commitment.status.as_ref().map_or(0, |status| status.assigned_instances.len()).to_string()
}

/// The ready slots, and the desired ones.
pub fn slots(commitment: &CommittedResource, snapshot: &Snapshot) -> String {
    let slots: Vec<_> = snapshot.slots_of(commitment).collect();
    let in_force = slots.iter().filter(|slot| is_in_force(slot)).count();
    let message = snapshot::ready(commitment).map(|ready| ready.message.as_str());
    let wanted = message.and_then(wanted).unwrap_or(slots.len());
    format!("{in_force}/{wanted}")
}

/// A rejected commitment has fewer slots than it needs, or none; its message has the number that it needs.
fn wanted(message: &str) -> Option<usize> {
    let numbers = message.strip_prefix(INSUFFICIENT_CAPACITY)?.strip_prefix(": ")?.split(' ').next()?;
    numbers.split_once('/')?.1.parse().ok()
}

fn without_slots(row: &[String; COLUMNS]) -> impl PartialEq {
    let (before, after) = row.split_at(SLOTS);
    (before.to_vec(), after[1..].to_vec())
}

fn sentence([label, uuid, zone, group, amount, slots, vms, ready, reason, message]: &[String; COLUMNS]) -> String {
    format!(
        "{label} ({uuid}) {amount} of {group} in {zone}: {slots} slots, {vms} VMs, Ready={ready} {reason}, {message}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::snapshot::testing::{commitment, slot, snapshot};

    fn world() -> Snapshot {
        let refused = "insufficient capacity: 1/3 reservation slots could be placed: 24 hosts; zone 16, capacity 8";
        snapshot(
            vec![
                commitment("11111111-a", "az-a", "Accepted", "commitment successfully reserved"),
                commitment("22222222-b", "az-b", "Rejected", refused),
            ],
            vec![slot("11111111-a", 0, Some("h1")), slot("11111111-a", 1, None)],
        )
    }

    fn table(world: &Snapshot) -> Table {
        let labels = Labels::from([("commitment-22222222-b".to_owned(), "01-large".to_owned())]);
        Table::new(world, &labels)
    }

    #[test]
    fn columns_are_aligned_and_cut_to_the_width() {
        assert_eq!(
            table(&world()).lines(70),
            [
                "COMMITMENT  UUID      ZONE  GROUP   AMOUNT  SLOTS  VMS  READY  REASON…",
                "01-large    22222222  az-b  mem_v4  480Gi   0/3    0    False  Reject…",
                "yours       11111111  az-a  mem_v4  480Gi   1/2    0    True   Accept…",
            ]
        );
    }

    #[test]
    fn only_what_has_changed_is_news() {
        let before = table(&world());
        let mut after = world();
        assert_eq!(table(&after).changed_lines(&before), Vec::<String>::new());
        after.slots.pop();
        assert_eq!(table(&after).changed_lines(&before), Vec::<String>::new());
        after.commitments[0] = Arc::new(commitment("11111111-a", "az-a", "Rejected", "invalid"));
        assert_eq!(
            table(&after).changed_lines(&before),
            ["yours (11111111) 480Gi of mem_v4 in az-a: 1/1 slots, 0 VMs, Ready=False Rejected, invalid"]
        );
        Arc::make_mut(&mut after.commitments[0]).status = None;
        assert_eq!(table(&after).changed_lines(&before), Vec::<String>::new());
    }
}
