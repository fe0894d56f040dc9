//! A dry run of a whole change: the reconciliations of its commitments with their new specs. Everything that the change
//! releases counts as free, cores included; nothing is written or kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::commitment::Phase;
use berth_core::planner::NewSlot;
use berth_core::slot::{self, Slot};
use berth_core::{CommitmentUuid, VmId};
use berth_crds::conditions::commitment::Message;
use berth_crds::{CommittedResource, CommittedResourceSpec, facts};
use berth_scheduler::{CommitmentRequest, DryRunPlacement, Scheduler, SchedulerError, pipeline_for};
use jiff::Timestamp;
use kube::api::ObjectMeta;

use crate::change_group::{ChangeGroup, ChangeMember};
use crate::facts::CommitmentFacts;
use crate::ledger::{ClaimResult, CoresClaim};
use crate::plan::{CommitmentPlan, Placing, Verdict, plan, slot_request, whole_request};
use crate::reconcile::CommittedResourceController;

/// The name that a dry run gives its change.
const DRY_RUN: &str = "dry-run";

/// A commitment as a change would make it.
#[derive(Clone, Debug)]
pub struct ProposedCommitment {
    pub key: ObjectKey,
    pub uuid: CommitmentUuid,
    /// The commitment as it is.
    pub object: Option<Arc<CommittedResource>>,
    /// Its spec after the change; `None` if it is deleted.
    pub after: Option<CommittedResourceSpec>,
}

/// The result of the dry run of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    Fits,
    /// Some commitments would be rejected, for these reasons.
    Rejected(Vec<(CommitmentUuid, String)>),
    /// It cannot be decided now: the commitment, and what it waits for.
    Undecided(CommitmentUuid, String),
}

/// One commitment of the change with its plan.
struct PlannedCommitment<'p> {
    proposed: &'p ProposedCommitment,
    facts: CommitmentFacts,
    plan: CommitmentPlan,
    /// A lack of capacity refuses the change.
    may_be_refused: bool,
}

impl<S: Scheduler> CommittedResourceController<S> {
    /// What would become of a change. Only commitments that may be rejected can make it fail.
    pub async fn dry_run_change(&self, change: &[ProposedCommitment], request_id: &str) -> ChangeVerdict {
        let now = self.context().clock.now();
        let group = group_of(change);
        let growing = change.iter().filter_map(|proposed| Some((proposed, proposed.object_after(now)?)));
        let mut taken = BTreeSet::new();
        let planned = growing.map(|(proposed, object)| self.plan_proposed(proposed, &object, &group, &mut taken));
        let planned: Vec<_> = planned.collect();
        if let Some(undecided) = planned.iter().find_map(undecided) {
            return undecided;
        }
        let mut rejected: Vec<_> = planned.iter().filter_map(refused).collect();
        match self.place_proposed(&planned, request_id).await {
            // A host that cannot be read may have room.
            Ok(found) => match found.iter().find_map(|(uuid, _)| Some((uuid, unreadable_host(&planned, uuid)?))) {
                Some((uuid, why)) => return ChangeVerdict::Undecided(uuid.clone(), why),
                None => rejected.extend(found),
            },
            Err((uuid, error)) => return ChangeVerdict::Undecided(uuid, error.to_string()),
        }
        match self.count_proposed(change, &planned) {
            Ok(short) => rejected.extend(short),
            Err(undecided) => return undecided,
        }
        // In the order of the request, whatever was checked first.
        let place = |uuid: &CommitmentUuid| change.iter().position(|proposed| proposed.uuid == *uuid);
        rejected.sort_by_key(|(uuid, _)| place(uuid));
        if rejected.is_empty() { ChangeVerdict::Fits } else { ChangeVerdict::Rejected(rejected) }
    }

    fn plan_proposed<'p>(
        &self,
        proposed: &'p ProposedCommitment,
        object: &CommittedResource,
        group: &ChangeGroup,
        taken: &mut BTreeSet<VmId>,
    ) -> PlannedCommitment<'p> {
        let mut facts = self.reader().facts_in(&proposed.key, object, Some(group));
        facts.vms.retain(|vm| !taken.contains(&vm.id));
        let plan = plan(&facts, self.context().settings.limits, self.context().clock.trusted_now());
        taken.extend(plan.slots.around_vms().map(|(_, vm)| vm.id.clone()));
        let may_be_refused = facts.may_reject() || proposed.asks_for_what_has_ended(self.context().clock.now());
        PlannedCommitment { proposed, facts, plan, may_be_refused }
    }

    async fn place_proposed(
        &self,
        planned: &[PlannedCommitment<'_>],
        request_id: &str,
    ) -> Result<Vec<(CommitmentUuid, String)>, (CommitmentUuid, SchedulerError)> {
        let placed = planned.iter().filter(|one| one.plan.verdict == Verdict::Reserve);
        let placed: Vec<_> = placed.filter(|one| one.needs_hosts()).collect();
        let Some(first) = placed.first() else { return Ok(Vec::new()) };
        let mut requests: Vec<CommitmentRequest> = Vec::new();
        for one in &placed {
            let placing = self.placing(&one.facts, request_id).await;
            let placing = placing.map_err(|error| (one.proposed.uuid.clone(), error))?;
            requests.push(one.request(&placing));
        }
        let found = self.context().scheduler.dry_run(&requests).await;
        let found = found.map_err(|error| (first.proposed.uuid.clone(), error))?;
        Ok(placed.iter().zip(found).filter_map(|(one, found)| one.rejection(&found)).collect())
    }

    async fn placing(&self, facts: &CommitmentFacts, request_id: &str) -> Result<Placing, SchedulerError> {
        let context = self.context();
        Ok(Placing {
            pipeline: pipeline_for(&facts.spec.group, &context.settings.pipelines).to_owned(),
            domain_name: context.domain_names.resolve(&facts.spec.domain).await?,
            request_id: request_id.to_owned(),
        })
    }

    fn count_proposed(
        &self,
        change: &[ProposedCommitment],
        planned: &[PlannedCommitment<'_>],
    ) -> Result<Vec<(CommitmentUuid, String)>, ChangeVerdict> {
        let counted: Vec<_> = planned.iter().filter_map(|one| Some((one, one.claim()?))).collect();
        let claims: Vec<_> =
            counted.iter().map(|(one, claim)| (one.proposed.key.clone(), CoresClaim::clone(claim))).collect();
        let wanted: BTreeMap<_, _> =
            change.iter().map(|one| (one.key.clone(), one.after.as_ref().map(facts::spec_of))).collect();
        let results = self.context().cores.check_change(&claims, &wanted, self.context().clock.trusted_now());
        let mut short = Vec::new();
        for ((one, claim), result) in counted.iter().zip(results) {
            let ClaimResult::Short { available, provisional } = result else { continue };
            let text =
                Message::InsufficientCores { available: available.get(), requested: claim.cores.get() }.to_string();
            if provisional {
                return Err(ChangeVerdict::Undecided(one.proposed.uuid.clone(), text));
            }
            if one.may_be_refused {
                short.push((one.proposed.uuid.clone(), text));
            }
        }
        Ok(short)
    }
}

impl ProposedCommitment {
    /// Whether it may be rejected and has given back what was accepted before, because it was over.
    fn asks_for_what_has_ended(&self, now: Timestamp) -> bool {
        let was_over =
            self.object.as_ref().is_some_and(|object| matches!(facts::spec(object).phase(now), Phase::Ended(_)));
        was_over && self.after.as_ref().is_some_and(|after| after.allow_rejection)
    }

    /// The object as it will be, of a generation that no condition speaks of; `None` if it is deleted.
    fn object_after(&self, now: Timestamp) -> Option<CommittedResource> {
        let spec = self.after.clone()?;
        let Some(object) = &self.object else {
            let mut new = CommittedResource::new(&self.key.name, spec);
            new.metadata =
                ObjectMeta { creation_timestamp: Some(berth_crds::Time(now)), generation: Some(1), ..new.metadata };
            return Some(new);
        };
        let mut object = CommittedResource::clone(object);
        if object.spec != spec {
            object.metadata.generation = object.metadata.generation.map(|generation| generation + 1);
            object.spec = spec;
        }
        Some(object)
    }
}

impl PlannedCommitment<'_> {
    fn claim(&self) -> Option<&CoresClaim> {
        match &self.plan.verdict {
            Verdict::Count(claim) => Some(claim),
            _ => None,
        }
    }

    fn needs_hosts(&self) -> bool {
        self.plan.slots.unplaced().next().is_some() || self.waiting().next().is_some()
    }

    fn request(&self, placing: &Placing) -> CommitmentRequest {
        let mut request = whole_request(&self.facts, &self.plan, placing);
        request.slots.extend(self.waiting().map(|slot| slot_request(&self.facts, &self.plan, &slot, placing)));
        request
    }

    /// The slots without a host that the commitment has already: without hosts for them it would be rejected as well.
    fn waiting(&self) -> impl Iterator<Item = NewSlot> {
        let slots = self.staying().filter(|slot| self.may_be_refused && slot.target_host.is_none());
        slots.filter_map(|slot| self.as_new(slot))
    }

    /// `None` for a slot of an unknown flavor.
    fn as_new(&self, slot: &Slot) -> Option<NewSlot> {
        let groups = self.facts.groups.as_ref().ok()?;
        let written = self.plan.slots.update.iter().find(|update| update.name == slot.name);
        Some(NewSlot {
            name: slot.name.clone(),
            number: slot::number(&slot.name, &format!("{}-", self.proposed.key.name)).unwrap_or_default(),
            flavor: groups.get(&slot.group)?.flavor(&slot.flavor)?.clone(),
            size: written.map_or(slot.size, |update| update.size),
            prefer: None,
            around: None,
        })
    }

    /// The slots of the commitment that the plan leaves to it.
    fn staying(&self) -> impl Iterator<Item = &Slot> {
        let gone = self.plan.slots.gone();
        self.facts.slots().iter().filter(move |slot| !slot.terminating && !gone.contains(&slot.name))
    }

    fn rejection(&self, found: &DryRunPlacement) -> Option<(CommitmentUuid, String)> {
        found.shortage.as_ref().filter(|_| self.may_be_refused)?;
        let placed = self.staying().filter(|slot| slot.target_host.is_some()).count();
        let placed = placed + self.plan.slots.take_over.len() + self.plan.slots.around_vms().count();
        let placed = placed + found.hosts.iter().flatten().count();
        let text = Message::InsufficientCapacity { placed, wanted: self.plan.slots.total() }.to_string();
        Some((self.proposed.uuid.clone(), text))
    }
}

fn unreadable_host(planned: &[PlannedCommitment<'_>], uuid: &CommitmentUuid) -> Option<String> {
    let one = planned.iter().find(|one| one.proposed.uuid == *uuid)?;
    one.facts.host_unreadable().map(ToString::to_string)
}

fn group_of(change: &[ProposedCommitment]) -> ChangeGroup {
    let member = |proposed: &ProposedCommitment| ChangeMember {
        uuid: proposed.uuid.clone(),
        wanted: proposed.after.as_ref().map(facts::spec_of),
        former: None,
    };
    ChangeGroup { name: DRY_RUN.to_owned(), is_being_applied: true, members: change.iter().map(member).collect() }
}

/// A rejection that does not depend on capacity.
fn refused(one: &PlannedCommitment<'_>) -> Option<(CommitmentUuid, String)> {
    match &one.plan.verdict {
        Verdict::Refused { text, retry: false, .. } => Some((one.proposed.uuid.clone(), text.clone())),
        _ => None,
    }
}

/// What never counts as a rejection: something that cannot be read or may not be touched at the moment.
fn undecided(one: &PlannedCommitment<'_>) -> Option<ChangeVerdict> {
    let why = match &one.plan.verdict {
        Verdict::Paused(why) => format!("it is paused: {why}"),
        Verdict::Unreadable(why) | Verdict::Blocked(why) => why.to_string(),
        Verdict::DisruptionLimited(stopped) => stopped.to_string(),
        Verdict::NoCapacity { message, detail } => format!("{message}: {detail}"),
        Verdict::Duplicate(served) => format!("{served} has the same UUID and is served"),
        Verdict::WrongCluster(cluster) => format!("its zone is served by cluster {cluster}"),
        Verdict::Refused { text, retry: true, .. } => text.clone(),
        Verdict::Deleting => "it is being deleted".to_owned(),
        Verdict::Planned
        | Verdict::Over(_)
        | Verdict::Reserve
        | Verdict::RolledBack
        | Verdict::Refused { .. }
        | Verdict::Settled
        | Verdict::Count(_)
        | Verdict::Covered => return None,
    };
    Some(ChangeVerdict::Undecided(one.proposed.uuid.clone(), why))
}
