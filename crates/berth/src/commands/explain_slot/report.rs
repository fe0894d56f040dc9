//! The report about a slot, a function of facts. `docs/commands.md` promises the names of its JSON members.

use berth_core::HostName;
use berth_crds::conditions::ready;
use jiff::Timestamp;
use serde::Serialize;

use super::facts::{Block, ExplainedSlot};
use crate::commands::amounts::Amounts;
use crate::commands::cluster_snapshot::UnreadableCluster;
use crate::commands::leader::AskedOperator;
use crate::commands::next_step::NextStep;
use crate::commands::reasons::ExplainedCondition;
use crate::commands::slot_facts::Waiting;
use crate::commands::vms::VmRow;

/// The output for a slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlotReport {
    pub(super) missing: Vec<UnreadableCluster>,
    pub(super) now: Timestamp,
    pub(super) slot: String,
    pub(super) cluster: String,
    pub(super) zone: String,
    pub(super) commitment: Owner,
    pub(super) project: String,
    pub(super) group: String,
    pub(super) flavor: String,
    pub(super) size: Amounts,
    pub(super) end: Option<Timestamp>,
    pub(super) target_host: Option<String>,
    pub(super) status_host: Option<String>,
    pub(super) blocks: Vec<BlockOn>,
    pub(super) ready: Option<ExplainedCondition>,
    /// The conditions Paused and `DisruptionLimited`, while they hold.
    pub(super) extra_conditions: Vec<ExplainedCondition>,
    pub(super) state: String,
    pub(super) waiting: Option<Waiting>,
    pub(super) vms: Vec<VmRow>,
    pub(super) next: Vec<NextStep>,
    pub(super) operator: AskedOperator,
}

/// The commitment that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Owner {
    pub(super) uuid: String,
    /// The objects with this UUID; one, unless something is wrong.
    pub(super) objects: Vec<String>,
    pub(super) reason: Option<String>,
}

/// The capacity that it blocks on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BlockOn {
    pub(super) host: String,
    /// `null` when the host is not known.
    pub(super) blocks: Option<Amounts>,
    pub(super) overbooked: bool,
}

pub(super) fn report(facts: &ExplainedSlot, asked: &AskedOperator, missing: &[UnreadableCluster]) -> SlotReport {
    let (slot, object) = (&facts.slot.dry_run.facts.slot, &*facts.slot.dry_run.object);
    let condition = object.status.as_ref().and_then(|status| ready(&status.conditions));
    let name = |host: &Option<HostName>| host.as_ref().map(ToString::to_string);
    SlotReport {
        missing: missing.to_vec(),
        now: facts.now,
        slot: facts.slot.key.name.to_string(),
        cluster: facts.slot.key.cluster.to_string(),
        zone: slot.zone.to_string(),
        commitment: owner(facts),
        project: slot.project.to_string(),
        group: slot.group.to_string(),
        flavor: slot.flavor.to_string(),
        size: slot.size.into(),
        end: slot.end,
        target_host: name(&slot.target_host),
        status_host: name(&slot.status_host),
        blocks: facts.blocks.iter().map(block_on).collect(),
        ready: condition.map(ExplainedCondition::of_slot),
        extra_conditions: object
            .status
            .as_ref()
            .map(|status| ExplainedCondition::extra_conditions(&status.conditions))
            .unwrap_or_default(),
        state: facts.slot.state(),
        waiting: facts.slot.waiting(),
        vms: facts.slot.vms.clone(),
        next: next(facts),
        operator: asked.clone(),
    }
}

fn owner(facts: &ExplainedSlot) -> Owner {
    let first = facts.commitments.first().and_then(|(_, condition, _)| condition.as_ref());
    Owner {
        uuid: facts.slot.dry_run.facts.slot.commitment.to_string(),
        objects: facts.commitments.iter().map(|(key, ..)| key.to_string()).collect(),
        reason: first.map(|condition| condition.reason.clone()),
    }
}

fn block_on(one: &Block) -> BlockOn {
    BlockOn { host: one.host.to_string(), blocks: one.blocks.map(Into::into), overbooked: one.overbooked }
}

fn next(facts: &ExplainedSlot) -> Vec<NextStep> {
    let mut all = facts.slot.next();
    if facts.commitments.is_empty() {
        let uuid = &facts.slot.dry_run.facts.slot.commitment;
        let what = "its size is not reconciled; delete it if it is not needed";
        all.push(NextStep::once(
            format!("a commitment has the UUID {uuid}"),
            format!("that commitment reconciles it; until then {what}"),
        ));
    }
    all.extend(facts.slot.end(facts.now).map(|end| NextStep::at(end, "its commitment ends, and it is released")));
    all
}
