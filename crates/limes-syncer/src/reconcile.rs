//! The controller: read, plan, apply (`docs/architecture.md`).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{
    Action, Disruption, DisruptionLimit, Events, ObjectField, ObjectKey, Pauses, Reconciler, Requester, Requests,
    Right, Routes, Store, Verb, Watches, Writer,
};
use berth_core::CommitmentUuid;
use berth_crds::conditions::safety::{DISRUPTION_LIMITED, UNKNOWN_TO_LIMES};
use berth_crds::{CommitmentChange, CommittedResource, Reservation, conditions, labels};
use berth_telemetry::clock::Clock;
use kube::ResourceExt as _;

use crate::apply::Apply;
use crate::error::Error;
use crate::event_limit::EventLimit;
use crate::events::Report;
use crate::filter::SkipReason;
use crate::key::SyncKey;
use crate::metrics::{Counted, SyncMetrics};
use crate::plan::{EndReason, KeepReason, SyncPlan, plan};
use crate::read::{Reader, StoredObject};
use crate::recent::RecentChanges;
use crate::view::Began;
use crate::views::{PendingComparison, Views};
use crate::watches;

/// When a commitment is compared again that could not be compared now.
const RETRY: Duration = Duration::from_secs(60);

/// The dependencies of the controller.
pub struct Context {
    pub commitments: Writer<CommittedResource>,
    /// Changes and slots, read only.
    pub changes: Store<CommitmentChange>,
    pub reservations: Store<Reservation>,
    pub routes: Routes,
    pub pauses: Pauses,
    pub disruption_limit: DisruptionLimit,
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub metrics: SyncMetrics,
    /// Where the commitments are enqueued that are to be compared.
    pub requests: Requests<SyncKey>,
    /// Where the commitments are enqueued whose condition `DisruptionLimited` has to change. Their controller writes it, as it
    /// does all of their status.
    pub commitment_requests: Requests<ObjectKey>,
    pub settings: Settings,
}

/// The settings of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `changeQuietPeriod`.
    pub quiet_period: Duration,
    /// `endStaleCommitments`.
    pub ends_stale: bool,
}

/// Compares commitments with what Limes lists, and corrects them.
pub struct SyncController {
    context: Context,
    views: Views,
    recent: RecentChanges,
    event_limit: EventLimit,
}

impl Reconciler for SyncController {
    const NAME: &'static str = "limes-syncer";
    const OBJECT: ObjectField = ObjectField::Commitment;
    type Key = SyncKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<CommittedResource>(&[Verb::Get, Verb::Create, Verb::Patch, Verb::Delete])
                .because("Commitments are corrected after the list of Limes."),
            Right::events_about::<CommittedResource>().because("Events about commitments."),
        ]
    }

    fn watches(&self, watches: &mut Watches<SyncKey>) {
        watches::declare(watches, self.context.commitments.store(), &self.views);
    }

    fn first_keys(&self) -> Vec<SyncKey> {
        watches::first(&self.views)
    }

    async fn reconcile(&self, key: SyncKey) -> Result<Action, Error> {
        let Some(pending) = self.views.pending(&key.0) else { return Ok(Action::AwaitChange) };
        match self.compare(&key.0, &pending).await {
            // A pause or a change also ends this comparison: the next view is compared after it.
            Ok(Action::AwaitChange) | Err(Error::Paused | Error::OpenChange) => {
                self.views.settle(&key.0, &pending.view);
                Ok(Action::AwaitChange)
            }
            // A cluster that can be read again requests it too.
            Err(Error::Partial(_)) => Ok(Action::RequeueAfter(RETRY)),
            Ok(later) => Ok(later),
            Err(error) => {
                self.context.metrics.count(Counted::Failed);
                Err(error)
            }
        }
    }
}

impl SyncController {
    /// To be called once per process: it follows the store from now on.
    pub fn new(context: Context) -> Self {
        let recent = RecentChanges::of(context.commitments.store());
        Self { context, views: Views::default(), recent, event_limit: EventLimit::default() }
    }

    /// What is known of Limes.
    pub fn views(&self) -> &Views {
        &self.views
    }

    pub fn recent(&self) -> &RecentChanges {
        &self.recent
    }

    pub fn requests(&self) -> &Requests<SyncKey> {
        &self.context.requests
    }

    async fn compare(&self, uuid: &CommitmentUuid, pending: &PendingComparison) -> Result<Action, Error> {
        let name = berth_crds::names::commitment(uuid.as_str());
        self.context.commitments.settle_doubts(|key| *key.name == *name).await?;
        let now = self.context.clock.trusted_now().ok();
        let (facts, stored) = self.reader().facts(uuid, pending, now)?;
        let plan = plan(&facts);
        if let (Some(stored), false) = (&stored, matches!(plan, SyncPlan::End(_))) {
            self.context.disruption_limit.release(&requester(&stored.0));
            self.show_stop(stored, false);
        }
        self.carry_out(plan, stored.as_ref(), pending.view.began).await
    }

    fn reader(&self) -> Reader<'_> {
        let Context { commitments, changes, routes, pauses, settings, .. } = &self.context;
        Reader {
            commitments: commitments.store(),
            changes,
            routes,
            pauses,
            recent: &self.recent,
            quiet_period: settings.quiet_period,
            ends_stale: settings.ends_stale,
        }
    }

    async fn carry_out(&self, plan: SyncPlan, stored: Option<&StoredObject>, began: Began) -> Result<Action, Error> {
        let Context { commitments, changes, routes, pauses, .. } = &self.context;
        let run = format!("sync-{}", began.time.as_second());
        let apply = Apply { commitments, changes, routes, pauses, run };
        match (plan, stored) {
            (SyncPlan::Keep(reason), _) => return Ok(self.keep(reason, stored)),
            (SyncPlan::Create(usable), _) => {
                let (key, object) = apply.create(&usable).await?;
                self.context.metrics.count(Counted::Created);
                self.report(&key, &object).created(self.event_limit.allows_another(began.instant));
            }
            (SyncPlan::Patch(usable), Some(stored)) => {
                if let Some(written) = apply.patch(stored, &usable).await? {
                    self.context.metrics.count(Counted::Updated);
                    self.report(&stored.0, &written).corrected(&stored.1);
                }
            }
            (SyncPlan::End(end), Some(stored)) => return self.end(&apply, stored, &end).await,
            (SyncPlan::Delete(proof), Some(stored)) => {
                apply.delete(stored, &proof).await?;
                self.context.metrics.count(Counted::Deleted);
                self.report(&stored.0, &stored.1).deleted();
            }
            (SyncPlan::Patch(_) | SyncPlan::End(_) | SyncPlan::Delete(_), None) => {}
        }
        Ok(Action::AwaitChange)
    }

    fn keep(&self, reason: KeepReason, stored: Option<&StoredObject>) -> Action {
        match reason {
            KeepReason::ZoneDiffers => self.context.metrics.skip(SkipReason::AzMismatch),
            KeepReason::ResourceDiffers => self.context.metrics.skip(SkipReason::ResourceMismatch),
            _ => {}
        }
        if let Some((key, object)) = stored {
            self.report(key, object).kept(reason);
        }
        match reason {
            // The clock will be right again, and the view is still the newest one.
            KeepReason::ClockUntrusted => Action::RequeueAfter(RETRY),
            _ => Action::AwaitChange,
        }
    }

    async fn end(&self, apply: &Apply<'_>, stored: &StoredObject, end: &EndReason) -> Result<Action, Error> {
        let (key, object) = stored;
        let zone = object.spec.availability_zone.clone();
        let slots = self.slots_with_host(&object.spec.commitment_uuid);
        let disruption = Disruption { zone: zone.clone(), cause: UNKNOWN_TO_LIMES, slots };
        if self.context.disruption_limit.ask(&requester(key), &disruption, self.demand(&zone)).is_err() {
            self.show_stop(stored, true);
            return Ok(Action::RequeueAfter(RETRY));
        }
        if let Some(written) = apply.end(stored, &end.spec).await? {
            self.context.metrics.count_end(end.kind);
            self.report(key, &written).ended(end.kind);
        }
        Ok(Action::AwaitChange)
    }

    /// Has the commitment show whether the disruption limit keeps it from being ended, unless it does.
    fn show_stop(&self, (key, object): &StoredObject, is_stopped: bool) {
        let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let shown = conditions::find(conditions, DISRUPTION_LIMITED);
        if shown.is_some_and(|shown| shown.reason == UNKNOWN_TO_LIMES) != is_stopped {
            self.context.commitment_requests.add([key.clone()]);
        }
    }

    /// The slots of all commitments of the zone that may be ended with this view: when Limes has lost many of them, not even
    /// the first is ended.
    fn demand(&self, zone: &str) -> Vec<ObjectKey> {
        let all = self.context.commitments.store().all();
        let may_end = |object: &CommittedResource| {
            let is_candidate =
                self.context.settings.ends_stale || object.annotations().contains_key(labels::NOT_YET_LISTED);
            is_candidate
                && object.spec.availability_zone == zone
                && self.views.unlisted_since(&object.spec.commitment_uuid).is_some()
        };
        let ending = all.iter().filter(|entry| may_end(&entry.object));
        ending.flat_map(|entry| self.slots_with_host(&entry.object.spec.commitment_uuid)).collect()
    }

    fn slots_with_host(&self, uuid: &str) -> Vec<ObjectKey> {
        let slots = self.context.reservations.select(&RESERVATION_BY_COMMITMENT, uuid);
        let placed = slots.into_iter().filter(|entry| entry.object.spec.target_host.is_some());
        placed.map(|entry| entry.key).collect()
    }

    fn report<'a>(&'a self, key: &'a ObjectKey, object: &'a CommittedResource) -> Report<'a> {
        Report { events: &self.context.events, key, object }
    }
}

fn requester(key: &ObjectKey) -> Requester {
    Requester::of::<CommittedResource>(key).because(UNKNOWN_TO_LIMES)
}
