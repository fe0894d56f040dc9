//! The account of a commitment: a value made of facts alone. Its members are those of the JSON form and do not change
//! their names (docs/commands.md).

use berth_crds::conditions::ready;
use jiff::Timestamp;
use serde::Serialize;

use super::claim::{Claim, claim};
use super::facts::Facts;
use super::{course, steps};
use crate::commands::amounts::Amounts;
use crate::commands::looking::Missing;
use crate::commands::next::Next;
use crate::commands::reasons::Told;
use crate::commands::slot_facts::{SlotFacts, Waiting};
use crate::commands::vms::VmRow;

/// Everything that is told of a commitment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    /// Clusters that could not be read.
    pub(super) missing: Vec<Missing>,
    pub(super) now: Timestamp,
    pub(super) commitment: String,
    pub(super) cluster: String,
    pub(super) uuid: String,
    pub(super) project: String,
    pub(super) domain: String,
    pub(super) state: &'static str,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
    pub(super) allow_rejection: bool,
    /// It is not rejected all the same, because as much was accepted before.
    pub(super) rejection_is_over: bool,
    pub(super) being_deleted_since: Option<Timestamp>,
    pub(super) wanted: Claim,
    pub(super) accepted: Option<Claim>,
    pub(super) accepted_at: Option<Timestamp>,
    /// VMs that the usage reconciler has assigned to it.
    pub(super) assigned_vms: usize,
    pub(super) ready: Option<Told>,
    /// The conditions Frozen and Braked, while they hold.
    pub(super) marks: Vec<Told>,
    /// Why, in plain words.
    pub(super) why: String,
    pub(super) slots_in_force: usize,
    pub(super) slots: Vec<Row>,
    pub(super) next: Vec<Next>,
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cluster: String,
    pub(super) flavor: String,
    pub(super) size: Amounts,
    pub(super) target_host: Option<String>,
    pub(super) status_host: Option<String>,
    /// The VMs that are expected in it.
    pub(super) vms: Vec<VmRow>,
    pub(super) in_force: bool,
    /// Where it stands, in a few words.
    pub(super) state: String,
    /// Why nothing fits, in numbers.
    pub(super) waiting: Option<Waiting>,
}

pub(super) fn report(facts: &Facts, missing: &[Missing]) -> Account {
    let (outlook, object) = (&facts.outlook, &*facts.outlook.object);
    let (spec, status) = (&outlook.facts.spec, object.status.as_ref());
    let condition = status.and_then(|status| ready(&status.conditions));
    Account {
        missing: missing.to_vec(),
        now: facts.now,
        commitment: outlook.facts.name.clone(),
        cluster: outlook.facts.cluster.to_string(),
        uuid: spec.uuid.to_string(),
        project: spec.project.to_string(),
        domain: spec.domain.to_string(),
        state: object.spec.state.as_str(),
        start: spec.start,
        end: spec.end,
        allow_rejection: spec.allow_rejection,
        rejection_is_over: spec.allow_rejection && !outlook.facts.may_reject(),
        being_deleted_since: object.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        wanted: claim(spec),
        accepted: outlook.facts.accepted.as_ref().map(claim),
        accepted_at: status.and_then(|status| Some(status.accepted_at.as_ref()?.0)),
        assigned_vms: status.map_or(0, |status| status.assigned_instances.len()),
        ready: condition.map(|condition| Told::of_commitment(condition, outlook.facts.generation)),
        marks: status.map(|status| Told::marks(&status.conditions)).unwrap_or_default(),
        why: course::words(facts),
        slots_in_force: facts.in_force(),
        slots: facts.slots.iter().map(row).collect(),
        next: steps::steps(facts),
    }
}

fn row(one: &SlotFacts) -> Row {
    let slot = &one.outlook.facts.slot;
    Row {
        name: one.key.name.to_string(),
        cluster: one.key.cluster.to_string(),
        flavor: slot.flavor.to_string(),
        size: slot.size.into(),
        target_host: slot.target_host.as_ref().map(ToString::to_string),
        status_host: slot.status_host.as_ref().map(ToString::to_string),
        vms: one.vms.clone(),
        in_force: one.is_in_force(),
        state: one.state(),
        waiting: one.waiting(),
    }
}
