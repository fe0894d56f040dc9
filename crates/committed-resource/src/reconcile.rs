//! The controller: read, plan, decide, apply, report, write (architecture section 3).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, Asker, Brake, Event, EventKind, Events, FlavorGroupsCache, Freezer, ObjectKey, Reconciler, Right, Routes,
    Store, Verb, Watches, Writer, Written,
};
use berth_core::SlotKey;
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::{self, safety};
use berth_crds::{CommittedResource, Condition, Hypervisor, Pipeline, Reservation, labels};
use berth_scheduler::{DomainNames, PipelineChoice, Scheduler, SchedulerError, pipeline_for};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, debug, info, info_span};

use crate::apply::Apply;
use crate::braking::unless_stopped;
use crate::cores::CoresBook;
use crate::error::Error;
use crate::facts::Facts;
use crate::hindrance::Hindrance;
use crate::metrics::CommitmentMetrics;
use crate::object::Origin;
use crate::pace::Pace;
use crate::plan::{Course, Decided, Limits, Placing, decide};
use crate::read::Reader;
use crate::status::{Delays, Says, report, status};
use crate::watches::{self, Watched};

/// A commitment with more new slots says that it is on its way before they are created, not after.
const LONG_APPLY: usize = 32;

/// What the configuration says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of a plan.
    pub limits: Limits,
    /// When to look again.
    pub delays: Delays,
    /// Which pipeline places the slots of which flavor group.
    pub pipelines: PipelineChoice,
    /// `slotCreationDelay`: pause between two slots of a commitment, when an external scheduler places them; zero is none.
    pub slot_creation_delay: Duration,
}

/// What the controller works with.
pub struct Context<S> {
    /// Commitments, read and written.
    pub commitments: Writer<CommittedResource>,
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// Pipelines, which are only watched.
    pub pipelines: Store<Pipeline>,
    /// Which cluster serves which zone.
    pub routes: Routes,
    /// The flavor groups.
    pub flavor_groups: FlavorGroupsCache,
    /// Knows what is left as it is.
    pub freezer: Freezer,
    /// Stops what would disturb too much.
    pub brake: Brake,
    /// Finds hosts.
    pub scheduler: Arc<S>,
    /// Names of domains.
    pub domain_names: Arc<dyn DomainNames>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub events: Events,
    /// Counts.
    pub metrics: CommitmentMetrics,
    /// Ids of requests that nobody gave one.
    pub ids: FreshIds,
    /// The configuration.
    pub settings: Settings,
    /// Counts and gives out cores.
    pub cores: Arc<CoresBook>,
}

/// Turns commitments into slots.
pub struct CommittedResourceController<S> {
    pub(crate) context: Context<S>,
    /// When commitments got their last slots.
    pace: Pace,
}

impl<S: Scheduler> Reconciler for CommittedResourceController<S> {
    const NAME: &'static str = "committed-resource";
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<CommittedResource>(&[Verb::Patch])
                .because("The finalizer of commitments. Their spec belongs to others; RBAC cannot tell the two apart."),
            Right::status::<CommittedResource>(&[Verb::Patch]).because("What became of a commitment."),
            Right::events_about::<CommittedResource>().because("Events about commitments."),
            Right::kind::<Reservation>(&[Verb::Create, Verb::Patch, Verb::Delete])
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
        };
        watches::declare(watches, &stores);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.context.commitments.store().keys()
    }

    /// The log lines say which commitment they are about.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let (name, greq) = (key.name.to_string(), Empty);
        let span = info_span!("commitment", module = "committed-resources", committedResource = name, req = name, greq);
        self.reconcile_commitment(key).instrument(span).await
    }
}

impl<S: Scheduler> CommittedResourceController<S> {
    /// A controller that has seen nothing yet.
    pub fn new(context: Context<S>) -> Self {
        Self { context, pace: Pace::default() }
    }

    /// What it works with.
    pub fn context(&self) -> &Context<S> {
        &self.context
    }

    async fn reconcile_commitment(&self, key: ObjectKey) -> Result<Action, Error> {
        self.settle(&key).await?;
        let _looking = self.context.cores.looking(&key);
        let Some(seen) = self.context.commitments.store().get(&key) else {
            self.context.brake.over(&Asker::of::<CommittedResource>(&key));
            self.pace.forget(&key);
            return Ok(Action::AwaitChange);
        };
        let Acted { decided, untouched, outcome } = self.act(&key, &seen).await?;
        let Some(object) = self.context.commitments.store().get(&key) else {
            return outcome.map(|()| Action::AwaitChange);
        };
        // What was decided for one spec says nothing about another; whoever changed it has woken us.
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
                self.report(&key, &object, &after, &Decided::hindered(Hindrance::Failed(error.to_string()))).await?;
                Err(error)
            }
        }
    }

    /// Plans, decides and applies.
    async fn act(&self, key: &ObjectKey, object: &Arc<CommittedResource>) -> Result<Acted, Error> {
        let request_id = self.request_id(object);
        Span::current().record("greq", request_id.as_str());
        let mut facts = self.reader().facts(key, object);
        let decided = match self.decide(&mut facts, &request_id).await {
            Ok(decided) => self.counted(key, decided),
            Err(error) => {
                let retry = matches!(error, SchedulerError::InDoubt { .. });
                let hindered = Decided::hindered(Hindrance::Scheduler(error.clone()));
                let outcome = if retry { Err(error.into()) } else { Ok(()) };
                return Ok(Acted { decided: hindered, untouched: None, outcome });
            }
        };
        let decided = self.paced(key, unless_stopped(key, &facts, decided, &self.context.brake));
        let outcome = self.apply(key, object, &facts, &decided, request_id).await;
        self.tell_refusal(key, &decided, &outcome);
        let untouched = decided.plan.is_empty().then_some(facts);
        Ok(Acted { decided, untouched, outcome })
    }

    /// With an external scheduler slots may have to be created with a pause between them.
    fn paced(&self, key: &ObjectKey, decided: Decided) -> Decided {
        let pause = self.context.settings.slot_creation_delay;
        if !decided.later || pause.is_zero() {
            return decided;
        }
        let paced = self.pace.step(key, decided.plan.slots.create.len(), pause);
        Decided { paced: Some(paced), ..decided }
    }

    /// Looks up what earlier writes left in doubt, before anything is decided on it.
    async fn settle(&self, key: &ObjectKey) -> Result<(), Error> {
        if self.context.commitments.store().in_doubt(key) {
            self.context.commitments.settle(key).await?;
        }
        let prefix = format!("{}-", key.name);
        let doubts = self.context.reservations.store().doubts();
        for slot in doubts.iter().filter(|slot| slot.name.starts_with(&prefix)) {
            self.context.reservations.settle(slot).await?;
            self.context.scheduler.settled(&SlotKey::from(slot));
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
            freezer: &self.context.freezer,
            scheduler: &*self.context.scheduler,
            routes: &self.context.routes,
            cores: &self.context.cores,
        }
    }

    pub(crate) async fn decide(&self, facts: &mut Facts, request_id: &str) -> Result<Decided, SchedulerError> {
        if let Some(why) = &facts.frozen {
            return Ok(Decided::idle(Course::Frozen(why.clone())));
        }
        let placing = Placing {
            pipeline: pipeline_for(&facts.spec.group, &self.context.settings.pipelines).to_owned(),
            domain_name: self.context.domain_names.resolve(&facts.spec.domain).await?,
            request_id: request_id.to_owned(),
        };
        decide(facts, self.context.settings.limits, self.context.clock.now(), &*self.context.scheduler, &placing).await
    }

    /// Takes cores for a plan that asks for them.
    pub(crate) fn counted(&self, key: &ObjectKey, decided: Decided) -> Decided {
        let Course::Count(claim) = &decided.plan.course else { return decided };
        let verdict = self.context.cores.take(key, claim, self.context.clock.now());
        Decided { cores: Some(verdict), ..decided }
    }

    /// Runs the plan unless it is refused as a whole, and ends its assume entries either way.
    async fn apply(
        &self,
        key: &ObjectKey,
        object: &Arc<CommittedResource>,
        facts: &Facts,
        decided: &Decided,
        request_id: String,
    ) -> Result<(), Error> {
        let entries = Entries { controller: self, decided, has_ended: false };
        if decided.is_refused(facts) || decided.plan.is_empty() {
            entries.end();
            return Ok(());
        }
        debug!(plan = %decided.plan.slots, request_id, "applying");
        let is_long = decided.plan.course == Course::Reserve && decided.plan.slots.create.len() > LONG_APPLY;
        if is_long
            && let Err(error) = self.write(key, object, Some(&Says::waiting()), facts, &decided.plan.course).await
        {
            entries.end();
            return Err(error);
        }
        let newest = self.context.commitments.store().get(key).unwrap_or_else(|| object.clone());
        let rolls_back = decided.plan.course == Course::RolledBack;
        let creator = if rolls_back { labels::SLOT_CREATOR_ROLLBACK } else { labels::SLOT_CREATOR };
        let apply = Apply {
            key,
            commitments: &self.context.commitments,
            reservations: &self.context.reservations,
            scheduler: &*self.context.scheduler,
            freezer: &self.context.freezer,
            commitment: object,
            origin: Origin { request_id, commitment_uid: object.uid().unwrap_or_default(), creator },
        };
        let outcome = apply.run(&newest, facts, decided).await;
        entries.end();
        outcome
    }

    fn tell_refusal(&self, key: &ObjectKey, decided: &Decided, outcome: &Result<(), Error>) {
        if let Course::Refused { text, limit: Some((group, zone)), .. } = &decided.plan.course {
            info!(commitment = %key.name, reason = text, "no slots are created");
            self.context.metrics.slot_limit.with_label_values(&[group.as_str(), zone.as_str()]).inc();
        }
        if let Err(error) = outcome {
            debug!(commitment = %key.name, %error, "the plan was not applied to its end");
        }
    }

    async fn report(
        &self,
        key: &ObjectKey,
        object: &CommittedResource,
        after: &Facts,
        decided: &Decided,
    ) -> Result<Action, Error> {
        let report = report(after, decided, self.context.settings.delays, self.context.clock.now());
        self.write(key, object, report.says.as_ref(), after, &decided.plan.course).await?;
        Ok(Action::from_delay(report.again))
    }

    async fn write(
        &self,
        key: &ObjectKey,
        old: &CommittedResource,
        says: Option<&Says>,
        facts: &Facts,
        course: &Course,
    ) -> Result<(), Error> {
        let mut new = old.clone();
        let now = self.context.clock.now();
        new.status = says.map(|says| status(old, says, now)).or(new.status);
        mark(&mut new, facts, course, now);
        if let Written::Changed(written) = self.context.commitments.patch_status(key, old, &new).await? {
            self.tell(key, old, &written, says);
        }
        Ok(())
    }

    /// One event per change of the reason, except for the first `Reserving`, and one for each mark that comes or goes.
    fn tell(&self, key: &ObjectKey, old: &CommittedResource, new: &CommittedResource, says: Option<&Says>) {
        for event in changed_marks(old, new) {
            info!(commitment = %key.name, reason = event.reason, message = event.note, "commitment marked");
            self.context.events.publish(&key.cluster, &new.object_ref(&()), event);
        }
        let ready = |object: &CommittedResource| conditions::ready(&object.status.as_ref()?.conditions).cloned();
        let (before, Some(after)) = (ready(old), ready(new)) else { return };
        let first = before.is_none() && after.reason == Reason::Reserving.as_str();
        if first || before.is_some_and(|before| before.reason == after.reason) {
            return;
        }
        info!(commitment = %key.name, reason = after.reason, message = after.message, "commitment changed");
        let event = Event {
            kind: if says.is_some_and(Says::is_failure) { EventKind::Warning } else { EventKind::Normal },
            reason: after.reason,
            action: "Reserve".to_owned(),
            note: after.message,
        };
        self.context.events.publish(&key.cluster, &new.object_ref(&()), event);
    }
}

/// What a look has done before it reports.
struct Acted {
    decided: Decided,
    /// What was read, if nothing was done about it: the report needs no second reading.
    untouched: Option<Facts>,
    outcome: Result<(), Error>,
}

/// The assume entries of a plan: they end with the apply. Of an apply that is cut off nobody knows which of its writes have
/// happened: its entries are in doubt then, and end when the slots have been looked up.
struct Entries<'a, S: Scheduler> {
    controller: &'a CommittedResourceController<S>,
    decided: &'a Decided,
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

// What is said of a commitment beside Ready: that it is frozen, and that the brake holds its plan back. It
// decides which of these conditions an object has to have, and which events tell of their coming and going.

/// Gives the object the marks that the facts and the course ask for, and no others. What is frozen keeps the mark of the
/// brake as it was, too.
pub(crate) fn mark(object: &mut CommittedResource, facts: &Facts, course: &Course, now: Timestamp) {
    let frozen = facts.frozen.as_ref().map(|why| (why.reason(), why.to_string()));
    let braked = match course {
        Course::Braked(stopped) => Some((stopped.cause, stopped.to_string())),
        _ => None,
    };
    if object.status.is_none() && frozen.is_none() && braked.is_none() {
        return;
    }
    let generation = object.metadata.generation;
    let all = &mut object.status.get_or_insert_default().conditions;
    let mut say = |type_: &str, says: Option<&(&str, String)>| {
        safety::mark(all, type_, says.map(|(reason, text)| (*reason, text.as_str())), generation, now);
    };
    say(safety::FROZEN, frozen.as_ref());
    if frozen.is_none() {
        say(safety::BRAKED, braked.as_ref());
    }
}

/// One event when it is frozen and one when it is set free. Of the brake its zone tells.
pub(crate) fn changed_marks(old: &CommittedResource, new: &CommittedResource) -> Vec<Event> {
    let (before, after) = (find(old, safety::FROZEN), find(new, safety::FROZEN));
    match (before, after) {
        (None, Some(now)) => vec![event("Frozen", &now.message)],
        (Some(_), None) => vec![event("Unfrozen", "it is looked after again")],
        _ => Vec::new(),
    }
}

fn find<'a>(object: &'a CommittedResource, type_: &str) -> Option<&'a Condition> {
    conditions::find(&object.status.as_ref()?.conditions, type_)
}

fn event(reason: &str, note: &str) -> Event {
    let [reason, action, note] = [reason, "Freeze", note].map(str::to_owned);
    Event { kind: EventKind::Normal, reason, action, note }
}
