//! The controller: read, plan, decide, apply, report, write (`docs/architecture.md`).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, DisruptionLimit, Event, EventKind, Events, FlavorGroupsCache, ObjectField, ObjectKey, Pauses, Reconciler,
    RequestClass, Requester, Right, Routes, Stopped, Store, Verb, Watches, Writer, Written,
};
use berth_core::SlotKey;
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::{self, safety};
use berth_crds::{
    CommitmentChange, CommittedResource, CommittedResourceSpec, Condition, Hypervisor, Pipeline, Reservation, labels,
};
use berth_scheduler::{DomainNames, PipelineChoice, Scheduler, SchedulerError, pipeline_for};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_vm_source::VmSource;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, debug, info, info_span};

use crate::apply::Apply;
use crate::block_reason::BlockReason;
use crate::cores::CoresBook;
use crate::disruption::{mark_slots, unless_stopped};
use crate::error::Error;
use crate::facts::{CommitmentFacts, Ready, ready};
use crate::metrics::CommitmentMetrics;
use crate::object::Origin;
use crate::pace::CreatePace;
use crate::plan::{CommitmentDecision, Limits, Placing, Verdict, decide};
use crate::read::{Reader, syncer};
use crate::rejections::Rejections;
use crate::status::{CommitmentReady, CommitmentReport, Delays, report, status};
use crate::watches::{self, Watched};

mod invalid;

/// A commitment with more new slots gets its condition before they are created, not after.
const LONG_APPLY: usize = 32;

/// The settings from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    pub limits: Limits,
    pub delays: Delays,
    /// Which pipeline places the slots of which flavor group.
    pub pipelines: PipelineChoice,
    /// `slotCreationDelay`: pause between two slots of a commitment, if an external scheduler places them; zero
    /// disables it.
    pub slot_creation_delay: Duration,
    /// `enablePaygPreAllocation`: a commitment that grows first gets slots around VMs that its project runs outside of
    /// slots.
    pub takes_over_vms: bool,
}

/// The dependencies of the controller.
pub struct Context<S> {
    pub commitments: Writer<CommittedResource>,
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// Pipelines, which are only watched.
    pub pipelines: Store<Pipeline>,
    pub routes: Routes,
    pub flavor_groups: FlavorGroupsCache,
    pub pauses: Pauses,
    pub disruption_limit: DisruptionLimit,
    pub scheduler: Arc<S>,
    pub domain_names: Arc<dyn DomainNames>,
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub metrics: CommitmentMetrics,
    pub ids: FreshIds,
    pub settings: Settings,
    pub cores: Arc<CoresBook>,
    /// Changes, read only.
    pub changes: Store<CommitmentChange>,
    pub vms: VmSource,
}

/// Turns commitments into slots.
pub struct CommittedResourceController<S> {
    pub(crate) context: Context<S>,
    pace: CreatePace,
    rejections: Rejections,
}

impl<S: Scheduler> Reconciler for CommittedResourceController<S> {
    const NAME: &'static str = "committed-resource";
    const OBJECT: ObjectField = ObjectField::Commitment;
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<CommittedResource>(&[Verb::Get, Verb::Patch])
                .because("The finalizer of commitments. Their spec belongs to others; RBAC cannot tell the two apart."),
            Right::status::<CommittedResource>(&[Verb::Patch]).because("What became of a commitment."),
            Right::events_about::<CommittedResource>().because("Events about commitments."),
            Right::kind::<Reservation>(&[Verb::Get, Verb::Create, Verb::Patch, Verb::Delete])
                .because("Slots of commitments are created, sized and deleted."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        let stores = Watched {
            commitments: self.context.commitments.store(),
            reservations: self.context.reservations.store(),
            hypervisors: &self.context.hypervisors,
            knowledges: self.context.flavor_groups.store(),
            capacities: self.context.cores.capacities(),
            pipelines: &self.context.pipelines,
            changes: &self.context.changes,
        };
        watches::declare(watches, &stores);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.context.commitments.store().keys()
    }

    /// Commitments that wait for their slots come after those that were not planned yet.
    fn request_class(&self, key: &ObjectKey) -> RequestClass {
        let object = self.context.commitments.store().get(key);
        let waits = object.is_some_and(|object| {
            let is_observed = |ready: &Ready| Some(ready.observed_generation) == object.metadata.generation;
            ready(&object).filter(is_observed).is_some_and(|ready| ready.reason == Some(Reason::Reserving))
                && object.metadata.deletion_timestamp.is_none()
        });
        if waits { RequestClass::Retry } else { RequestClass::New }
    }

    /// The span adds the global request id to the log lines.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let span = info_span!("commitment", module = "committed-resources", greq = Empty);
        self.reconcile_commitment(key).instrument(span).await
    }
}

impl<S: Scheduler> CommittedResourceController<S> {
    pub fn new(context: Context<S>) -> Self {
        Self { context, pace: CreatePace::default(), rejections: Rejections::default() }
    }

    pub fn context(&self) -> &Context<S> {
        &self.context
    }

    async fn reconcile_commitment(&self, key: ObjectKey) -> Result<Action, Error> {
        self.settle(&key).await?;
        let _looking = self.context.cores.start_reconciliation(&key);
        if let Some(invalid) = self.context.commitments.store().invalid_entry(&key) {
            return self.reconcile_invalid(&key, &invalid).await;
        }
        let Some(seen) = self.context.commitments.store().get(&key) else {
            let requesters = [Requester::of::<CommittedResource>(&key), syncer(&key)];
            for requester in &requesters {
                self.context.disruption_limit.release(requester);
            }
            self.pace.forget(&key);
            self.rejections.end(&key);
            return Ok(Action::AwaitChange);
        };
        let Acted { decided, untouched, outcome } = self.act(&key, &seen).await?;
        if !outcome.as_ref().is_err_and(Error::is_stale) {
            self.note_plan(&seen);
        }
        let Some(object) = self.context.commitments.store().get(&key) else {
            return outcome.map(|()| Action::AwaitChange);
        };
        // A decision about one spec is not valid for another; the change has enqueued the commitment.
        if (object.uid(), object.metadata.generation) != (seen.uid(), seen.metadata.generation) {
            return outcome.map(|()| Action::AwaitChange);
        }
        match outcome {
            Ok(()) => {
                let facts = untouched.filter(|_| Arc::ptr_eq(&object, &seen));
                let after = facts.unwrap_or_else(|| self.reader().facts(&key, &object));
                self.report(&key, &object, &after, &decided).await
            }
            Err(error) if error.is_stale() => Err(error),
            Err(error) => {
                let after = self.reader().facts(&key, &object);
                self.report(
                    &key,
                    &object,
                    &after,
                    &CommitmentDecision::blocked(BlockReason::Failed(error.to_string())),
                )
                .await?;
                Err(error)
            }
        }
    }

    /// Its slots that are left are wanted, and get hosts from now on.
    fn note_plan(&self, seen: &CommittedResource) {
        let (uuid, object_uid) = (seen.spec.commitment_uuid.as_str().into(), seen.uid().unwrap_or_default());
        self.context.scheduler.planned(&uuid, &object_uid, seen.metadata.generation.unwrap_or_default());
    }

    async fn act(&self, key: &ObjectKey, object: &Arc<CommittedResource>) -> Result<Acted, Error> {
        let request_id = self.request_id(object);
        Span::current().record("greq", request_id.as_str());
        let mut facts = self.reader().facts(key, object);
        let decided = match self.decide(&mut facts, &request_id).await {
            Ok(decided) => self.counted(key, decided),
            Err(error) => {
                let retry = matches!(error, SchedulerError::InDoubt { .. });
                let blocked = CommitmentDecision::blocked(BlockReason::Scheduler(error.clone()));
                let outcome = if retry { Err(error.into()) } else { Ok(()) };
                return Ok(Acted { decided: blocked, untouched: None, outcome });
            }
        };
        let (decided, stopped) = unless_stopped(key, &facts, decided, &self.context.disruption_limit);
        let decided = self.paced(key, decided);
        let outcome = self.apply(key, object, &facts, &decided, request_id).await;
        self.log_refusal(&decided, &outcome);
        let (reservations, now) = (&self.context.reservations, self.context.clock.now());
        let marked = mark_slots(reservations, &facts, &decided.plan.verdict, &stopped, now).await;
        let untouched = (decided.plan.is_empty() && matches!(marked, Ok(false))).then_some(facts);
        let outcome = outcome.and(marked.map(drop));
        Ok(Acted { decided, untouched, outcome })
    }

    /// With an external scheduler slots may be created with a pause between them.
    fn paced(&self, key: &ObjectKey, decided: CommitmentDecision) -> CommitmentDecision {
        let pause = self.context.settings.slot_creation_delay;
        if !decided.is_delayed || pause.is_zero() {
            return decided;
        }
        let paced = self.pace.step(key, decided.plan.slots.create.len(), pause);
        CommitmentDecision { paced: Some(paced), ..decided }
    }

    /// Reads objects in doubt again before anything is decided.
    async fn settle(&self, key: &ObjectKey) -> Result<(), Error> {
        if self.context.commitments.store().in_doubt(key) {
            self.context.commitments.settle(key).await?;
        }
        let prefix = format!("{}-", key.name);
        let doubts = self.context.reservations.store().doubts();
        let uuid = self.context.commitments.store().get(key).map(|object| object.spec.commitment_uuid.clone());
        // A slot that was taken over keeps its name, and one that was never seen has no commitment yet.
        let is_own = |slot: &ObjectKey| {
            let object = self.context.reservations.store().get(slot);
            let data = object.and_then(|object| object.spec.committed_resource_reservation.clone());
            data.and_then(|data| data.commitment_uuid).is_some_and(|named| Some(named) == uuid)
        };
        for slot in doubts.iter().filter(|slot| slot.name.starts_with(&prefix) || is_own(slot)) {
            self.context.reservations.settle(slot).await?;
            // The read says nothing about a write that has become unknown after it began.
            let settled = || self.context.scheduler.settled(&SlotKey::from(slot));
            self.context.reservations.store().when_settled(slot, settled);
        }
        Ok(())
    }

    pub(crate) fn request_id(&self, object: &CommittedResource) -> String {
        let given = object.annotations().get(labels::CREATOR_REQUEST_ID).filter(|id| !id.is_empty());
        given.cloned().unwrap_or_else(|| format!("committed-resource-{}", self.context.ids.fresh()))
    }

    pub(crate) fn reader(&self) -> Reader<'_, S> {
        Reader {
            commitments: self.context.commitments.store(),
            reservations: self.context.reservations.store(),
            hypervisors: &self.context.hypervisors,
            flavor_groups: &self.context.flavor_groups,
            pauses: &self.context.pauses,
            scheduler: &*self.context.scheduler,
            routes: &self.context.routes,
            cores: &self.context.cores,
            changes: &self.context.changes,
            vms: self.context.settings.takes_over_vms.then_some(&self.context.vms),
            disruption_limit: &self.context.disruption_limit,
        }
    }

    pub(crate) async fn decide(
        &self,
        facts: &mut CommitmentFacts,
        request_id: &str,
    ) -> Result<CommitmentDecision, SchedulerError> {
        if let Some(why) = &facts.paused {
            return Ok(CommitmentDecision::idle(Verdict::Paused(why.clone())));
        }
        let placing = Placing {
            pipeline: pipeline_for(&facts.spec.group, &self.context.settings.pipelines).to_owned(),
            domain_name: self.context.domain_names.resolve(&facts.spec.domain).await?,
            request_id: request_id.to_owned(),
        };
        let (limits, now) = (self.context.settings.limits, self.context.clock.trusted_now());
        decide(facts, limits, now, &*self.context.scheduler, &placing).await
    }

    /// Takes the cores of a plan.
    pub(crate) fn counted(&self, key: &ObjectKey, decided: CommitmentDecision) -> CommitmentDecision {
        let Verdict::Count(claim) = &decided.plan.verdict else { return decided };
        let verdict = self.context.cores.take(key, claim, self.context.clock.trusted_now());
        CommitmentDecision { cores: Some(verdict), ..decided }
    }

    /// Runs the plan unless it is refused as a whole, and ends its assume entries either way.
    async fn apply(
        &self,
        key: &ObjectKey,
        object: &Arc<CommittedResource>,
        facts: &CommitmentFacts,
        decided: &CommitmentDecision,
        request_id: String,
    ) -> Result<(), Error> {
        let entries = Entries { controller: self, decided, has_ended: false };
        if decided.is_refused(facts) || decided.plan.is_empty() {
            entries.end();
            return Ok(());
        }
        debug!(plan = %decided.plan.slots, "applying plan");
        let is_long = decided.plan.verdict == Verdict::Reserve && decided.plan.slots.create.len() > LONG_APPLY;
        if is_long
            && let Err(error) =
                self.write(key, object, Some(&CommitmentReady::waiting()), facts, &decided.plan.verdict).await
        {
            entries.end();
            return Err(error);
        }
        let store = self.context.commitments.store();
        let newest = store.get(key).filter(|_| store.invalid_entry(key).is_none()).unwrap_or_else(|| object.clone());
        let rolls_back = decided.plan.verdict == Verdict::RolledBack;
        let creator = if rolls_back { labels::SLOT_CREATOR_ROLLBACK } else { labels::SLOT_CREATOR };
        let apply = Apply {
            key,
            commitments: &self.context.commitments,
            reservations: &self.context.reservations,
            scheduler: &*self.context.scheduler,
            pauses: &self.context.pauses,
            commitment: object,
            metrics: &self.context.metrics,
            now: self.context.clock.now(),
            origin: Origin { request_id, commitment_uid: object.uid().unwrap_or_default(), creator },
        };
        let outcome = apply.run(&newest, facts, decided).await;
        entries.end();
        outcome
    }

    fn log_refusal(&self, decided: &CommitmentDecision, outcome: &Result<(), Error>) {
        if let Verdict::Refused { text, limit: Some((group, zone)), .. } = &decided.plan.verdict {
            info!(reason = text, "no slots created");
            self.context.metrics.slot_limit.with_label_values(&[group.as_str(), zone.as_str()]).inc();
        }
        if let Err(error) = outcome {
            debug!(%error, "plan not applied completely");
        }
    }

    async fn report(
        &self,
        key: &ObjectKey,
        object: &CommittedResource,
        after: &CommitmentFacts,
        decided: &CommitmentDecision,
    ) -> Result<Action, Error> {
        let (delays, now) = (self.context.settings.delays, self.context.clock.now());
        let report = self.reject_in_order(key, after, decided, report(after, decided, delays, now));
        self.write(key, object, report.ready.as_ref(), after, &decided.plan.verdict).await?;
        Ok(Action::from_delay(report.time_until_requeue(object, delays.retry, now)))
    }

    /// The report, or the one that it waits until another commitment that was rejected has released its slots. What a
    /// change writes does not wait, because its caller does.
    fn reject_in_order(
        &self,
        key: &ObjectKey,
        after: &CommitmentFacts,
        decided: &CommitmentDecision,
        report: CommitmentReport,
    ) -> CommitmentReport {
        if after.is_rejected() && !decided.plan.is_empty() {
            return report;
        }
        if after.is_rejected() || !report.rejects_for_capacity() || after.change.is_some() {
            self.rejections.end(key);
            return report;
        }
        let place = (after.spec.zone.clone(), after.spec.group.clone());
        match self.rejections.begin(key, place, !after.slots().is_empty()) {
            Ok(()) => report,
            Err(other) => report.after_rejection_of(&other, self.context.settings.delays),
        }
    }

    async fn write(
        &self,
        key: &ObjectKey,
        old: &CommittedResource,
        ready: Option<&CommitmentReady>,
        facts: &CommitmentFacts,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let mut new = old.clone();
        let now = self.context.clock.now();
        let refresh = self.context.settings.delays.retry;
        new.status = ready.map(|ready| status(old, ready, refresh, now)).or(new.status);
        if let (Some(status), Some(accepted)) = (&mut new.status, accepted_by_roll_back(facts, ready)) {
            status.accepted_spec.clone_from(accepted);
        }
        set_extra_conditions(&mut new, facts, verdict, now);
        let commitments = &self.context.commitments;
        let written = match ready {
            // The API server may execute it late, and slots of a rejected commitment are deleted.
            Some(ready) if ready.reason == Reason::Rejected => {
                commitments.patch_status_of_version(key, old, &new).await?
            }
            _ => commitments.patch_status(key, old, &new).await?,
        };
        if let Written::Changed(written) = written {
            self.publish_events(key, old, &written, ready);
        }
        Ok(())
    }

    /// One event per change of the reason, except for the first `Reserving`, and one for each mark that comes or goes.
    fn publish_events(
        &self,
        key: &ObjectKey,
        old: &CommittedResource,
        new: &CommittedResource,
        ready: Option<&CommitmentReady>,
    ) {
        for event in events_of_extra_conditions(old, new) {
            info!(reason = event.reason, condition_message = event.note, "condition of commitment changed");
            self.context.events.publish(&key.cluster, &new.object_ref(&()), event);
        }
        let condition = |object: &CommittedResource| conditions::ready(&object.status.as_ref()?.conditions).cloned();
        let (before, Some(after)) = (condition(old), condition(new)) else { return };
        let first = before.is_none() && after.reason == Reason::Reserving.as_str();
        if first || before.is_some_and(|before| before.reason == after.reason) {
            return;
        }
        info!(reason = after.reason, condition_message = after.message, "commitment changed");
        let event = Event {
            kind: if ready.is_some_and(CommitmentReady::is_failure) { EventKind::Warning } else { EventKind::Normal },
            reason: after.reason,
            action: "Reserve".to_owned(),
            note: after.message,
        };
        self.context.events.publish(&key.cluster, &new.object_ref(&()), event);
    }
}

/// What counts as accepted again when a change is undone, unless the commitment is accepted anew.
fn accepted_by_roll_back<'f>(
    facts: &'f CommitmentFacts,
    ready: Option<&CommitmentReady>,
) -> Option<&'f Option<CommittedResourceSpec>> {
    let restored = facts.change.as_ref()?.restored.as_ref()?;
    (!ready.is_some_and(|ready| ready.ready)).then_some(&restored.0)
}

/// The result of a reconciliation before its report.
struct Acted {
    decided: CommitmentDecision,
    /// The facts, if nothing was changed: the report then needs no second read.
    untouched: Option<CommitmentFacts>,
    outcome: Result<(), Error>,
}

/// The assume entries of a plan, which end with the apply. If an apply is interrupted, the outcome of its writes is
/// unknown: its entries are then in doubt, and end when the slots have been read again.
struct Entries<'a, S: Scheduler> {
    controller: &'a CommittedResourceController<S>,
    decided: &'a CommitmentDecision,
    has_ended: bool,
}

impl<S: Scheduler> Entries<'_, S> {
    fn end(mut self) {
        self.has_ended = true;
        self.controller.context.scheduler.applied(&self.decided.assumed);
    }
}

impl<S: Scheduler> Drop for Entries<'_, S> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.decided.assumed.iter().for_each(|slot| self.controller.context.scheduler.in_doubt(slot));
        }
    }
}

// The extra conditions of a commitment, `Paused` and `DisruptionLimited`, and the events about them.

/// Sets the extra conditions that follow from the facts and the verdict, and removes the others. A commitment is held back
/// by the disruption limit with its plan, with one of its slots, or when the syncer is to end it. A paused one keeps its condition `DisruptionLimited`
/// as it was.
pub(crate) fn set_extra_conditions(
    object: &mut CommittedResource,
    facts: &CommitmentFacts,
    verdict: &Verdict,
    now: Timestamp,
) {
    let paused = facts.paused.as_ref().map(|why| (why.reason(), why.to_string()));
    let disruption_limited = match (verdict, &facts.disruption_limited) {
        (Verdict::DisruptionLimited(stopped), _) => Some((stopped.cause, stopped.to_string())),
        (_, Some(of_slot)) => Some((of_slot.reason.as_str(), of_slot.message.clone())),
        (_, None) => facts.stopped_end.as_ref().map(|stopped| (stopped.cause, describe_stopped_end(stopped))),
    };
    if object.status.is_none() && paused.is_none() && disruption_limited.is_none() {
        return;
    }
    let generation = object.metadata.generation;
    let all = &mut object.status.get_or_insert_default().conditions;
    let mut say = |type_: &str, ready: Option<&(&str, String)>| {
        safety::set_extra_condition(all, type_, ready.map(|(reason, text)| (*reason, text.as_str())), generation, now);
    };
    say(safety::INVALID, None);
    say(safety::PAUSED, paused.as_ref());
    if paused.is_none() {
        say(safety::DISRUPTION_LIMITED, disruption_limited.as_ref());
    }
}

fn describe_stopped_end(stopped: &Stopped) -> String {
    format!("three complete lists of Limes do not have the commitment, and yet it is not ended: {stopped}")
}

/// One event when the commitment is paused, one when it is resumed, and one when the disruption limit begins to hold it
/// back. Other events about the disruption limit belong to the zone.
pub(crate) fn events_of_extra_conditions(old: &CommittedResource, new: &CommittedResource) -> Vec<Event> {
    let change = |type_: &str| (find(old, type_), find(new, type_));
    let paused = match change(safety::PAUSED) {
        (None, Some(now)) => Some(event(EventKind::Normal, "Paused", "Pause", &now.message)),
        (Some(_), None) => Some(event(EventKind::Normal, "Resumed", "Pause", "the commitment is reconciled again")),
        _ => None,
    };
    let limited = match change(safety::DISRUPTION_LIMITED) {
        (None, Some(now)) => {
            Some(event(EventKind::Warning, safety::DISRUPTION_LIMITED, "LimitDisruption", &now.message))
        }
        _ => None,
    };
    paused.into_iter().chain(limited).collect()
}

fn find<'a>(object: &'a CommittedResource, type_: &str) -> Option<&'a Condition> {
    conditions::find(&object.status.as_ref()?.conditions, type_)
}

fn event(kind: EventKind, reason: &str, action: &str, note: &str) -> Event {
    let [reason, action, note] = [reason, action, note].map(str::to_owned);
    Event { kind, reason, action, note }
}
