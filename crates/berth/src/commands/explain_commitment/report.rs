//! The report about a commitment, a function of facts. `docs/commands.md` promises the names of its JSON members.

use berth_core::commitment::ResourceType;
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::ready;
use berth_scheduler::Claim;
use jiff::Timestamp;
use serde::Serialize;

use super::change::OpenChange;
use super::claim::{Claim as Amount, claim};
use super::facts::ExplainedCommitment;
use super::usage::ExplainedUsage;
use super::{steps, verdict};
use crate::commands::amounts::Amounts;
use crate::commands::claims::ClaimRow;
use crate::commands::cluster_snapshot::UnreadableCluster;
use crate::commands::leader::AskedOperator;
use crate::commands::next_step::NextStep;
use crate::commands::reasons::ExplainedCondition;
use crate::commands::slot_facts::{SlotFacts, Waiting};
use crate::commands::vms::VmRow;

/// The output for a commitment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitmentReport {
    pub(super) missing: Vec<UnreadableCluster>,
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
    /// The change that it belongs to, while that is open.
    pub(super) change: Option<OpenChange>,
    pub(super) being_deleted_since: Option<Timestamp>,
    pub(super) wanted: Amount,
    pub(super) accepted: Option<Amount>,
    pub(super) accepted_at: Option<Timestamp>,
    /// VMs that the usage reconciler has assigned to it.
    pub(super) assigned_vms: usize,
    /// What uses it by the VMs that were read.
    pub(super) usage: ExplainedUsage,
    pub(super) ready: Option<ExplainedCondition>,
    /// The conditions Paused and `DisruptionLimited`, while they hold.
    pub(super) extra_conditions: Vec<ExplainedCondition>,
    pub(super) why: String,
    pub(super) slots_in_force: usize,
    pub(super) slots: Vec<Row>,
    /// Capacity in its zone that VMs have which have not appeared yet, while it lacks a slot.
    pub(super) claims: Vec<ClaimRow>,
    pub(super) next: Vec<NextStep>,
    pub(super) operator: AskedOperator,
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
    pub(super) vms: Vec<VmRow>,
    pub(super) in_force: bool,
    pub(super) state: String,
    pub(super) waiting: Option<Waiting>,
}

pub(super) fn report(facts: &ExplainedCommitment, claims: &[Claim], missing: &[UnreadableCluster]) -> CommitmentReport {
    let reported = facts.dry_run.report.ready.as_ref().map(|ready| ready.reason);
    let lacks_slots = facts.dry_run.facts.spec.resource == ResourceType::Memory
        && matches!(reported, Some(Reason::Reserving | Reason::Rejected));
    let (dry_run, object) = (&facts.dry_run, &*facts.dry_run.object);
    let (spec, status) = (&dry_run.facts.spec, object.status.as_ref());
    let condition = status.and_then(|status| ready(&status.conditions));
    CommitmentReport {
        missing: missing.to_vec(),
        now: facts.now,
        commitment: dry_run.facts.name.clone(),
        cluster: dry_run.facts.cluster.to_string(),
        uuid: spec.uuid.to_string(),
        project: spec.project.to_string(),
        domain: spec.domain.to_string(),
        state: object.spec.state.as_str(),
        start: spec.start,
        end: spec.end,
        allow_rejection: spec.allow_rejection,
        rejection_is_over: spec.allow_rejection && !dry_run.facts.may_reject(),
        change: None,
        being_deleted_since: object.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        wanted: claim(spec),
        accepted: dry_run.facts.accepted.as_ref().map(claim),
        accepted_at: status.and_then(|status| Some(status.accepted_at.as_ref()?.0)),
        assigned_vms: status.map_or(0, |status| status.assigned_instances.len()),
        usage: ExplainedUsage::default(),
        ready: condition.map(|condition| ExplainedCondition::of_commitment(condition, dry_run.facts.generation)),
        extra_conditions: status
            .map(|status| ExplainedCondition::extra_conditions(&status.conditions))
            .unwrap_or_default(),
        why: verdict::describe_verdict(facts),
        slots_in_force: facts.in_force(),
        slots: facts.slots.iter().map(row).collect(),
        claims: claims.iter().filter(|_| lacks_slots).map(ClaimRow::from).collect(),
        next: steps::steps(facts),
        operator: facts.asked.clone(),
    }
}

fn row(one: &SlotFacts) -> Row {
    let slot = &one.dry_run.facts.slot;
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
