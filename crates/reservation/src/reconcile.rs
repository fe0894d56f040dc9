//! The controller: read, plan, apply (`docs/architecture.md`). The one decision that it takes, a host for a slot without one,
//! is the scheduler's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, DisruptionLimit, Events, FirstSeen, FlavorGroupsCache, ObjectField, ObjectKey, Pauses, Reconciler,
    RequestClass, Requester, Requests, Right, Routes, Store, Verb, Watches, Writer,
};
use berth_core::{HostName, SlotKey, VmId};
use berth_crds::{CommittedResource, Hypervisor, Pipeline, Reservation};
use berth_scheduler::{DomainNames, PipelineChoice, Scheduler};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_vm_source::VmSource;
use parking_lot::Mutex;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::error::Error;
use crate::facts::Delays;
use crate::metrics::ReservationMetrics;
use crate::oversubscription::Evictions;
use crate::plan::{ReservationPlan, ReservationStep, plan};
use crate::request::given_request_id;
use crate::retries::Retries;
use crate::status::nameless;
use crate::watches::{self, Watched, is_reported_invalid, is_slot, is_unplaced};

/// The settings from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    pub delays: Delays,
    /// Which pipeline places the slots of which flavor group.
    pub pipelines: PipelineChoice,
    /// `featureGates.committedResourceTracking`: a slot expects VMs of its project and group that run beside it.
    pub adopts_vms: bool,
}

/// The dependencies of the controller.
pub struct Context<S> {
    pub reservations: Writer<Reservation>,
    /// Commitments, read only.
    pub commitments: Store<CommittedResource>,
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
    pub metrics: ReservationMetrics,
    pub ids: FreshIds,
    pub settings: Settings,
    /// The requests of this controller: a decision about several slots enqueues the others.
    pub requests: Requests<ObjectKey>,
    pub vms: VmSource,
}

/// Puts slots into force on hosts and keeps them there.
pub struct ReservationController<S> {
    pub(crate) context: Context<S>,
    pub(crate) missing: FirstSeen<HostName, Duration>,
    /// Slots in force whose host was given another zone.
    pub(crate) misplaced: FirstSeen<ObjectKey>,
    pub(crate) missing_vms: MissingVms,
    /// Since when the filter counts in the condition of a slot without a host have not changed.
    pub(crate) reported_since: FirstSeen<ObjectKey>,
    /// Slots that got a host together with another one of their commitment and have not been reconciled since.
    pub(crate) promised: FirstSeen<ObjectKey>,
    /// When the slots without a host are tried again.
    pub(crate) retries: Arc<Retries>,
    /// Slots that lost their host because of a verdict and have not been placed since.
    pub(crate) revoked: FirstSeen<ObjectKey>,
    /// Why slots lost their host that another controller took it from.
    pub(crate) evictions: Evictions,
}

impl<S: Scheduler> Reconciler for ReservationController<S> {
    const NAME: &'static str = "commitment-reservation";
    const OBJECT: ObjectField = ObjectField::Slot;
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Get, Verb::Patch])
                .because("Slots get a host, lose it, and follow their VMs."),
            Right::status::<Reservation>(&[Verb::Patch]).because("Whether a slot is in force, and where."),
            Right::events_about::<Reservation>().because("Events about slots."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        let stores = Watched {
            reservations: self.store(),
            commitments: &self.context.commitments,
            hypervisors: &self.context.hypervisors,
            knowledges: self.context.flavor_groups.store(),
            pipelines: &self.context.pipelines,
        };
        watches::declare(watches, &stores, &self.retries);
        let (hosts, slots) = (self.context.hypervisors.clone(), self.store().clone());
        let requests = self.context.requests.clone();
        self.context.vms.on_change(move |change| requests.add(watches::map_vms(change, &hosts, &slots)));
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        watches::unplaced(self.store(), &self.retries);
        self.store().keys()
    }

    /// Slots with a host are confirmed before others are tried.
    fn request_class(&self, key: &ObjectKey) -> RequestClass {
        match self.store().get(key) {
            Some(object) if is_unplaced(&object) => RequestClass::Retry,
            _ => RequestClass::Finish,
        }
    }

    /// The span adds the global request id to the log lines.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let span = info_span!("slot", module = "committed-resources", greq = Empty);
        self.reconcile_slot(key).instrument(span).await
    }
}

impl<S: Scheduler> ReservationController<S> {
    pub fn new(context: Context<S>) -> Self {
        let (reported_since, promised, revoked, misplaced) = Default::default();
        let (missing, missing_vms) = (FirstSeen::default(), MissingVms::default());
        let (retries, evictions) = (Arc::default(), Evictions::default());
        Self { context, missing, misplaced, missing_vms, reported_since, promised, retries, revoked, evictions }
    }

    /// Where an eviction leaves the reason for taking the host of a slot.
    pub fn evictions(&self) -> Evictions {
        self.evictions.clone()
    }

    async fn reconcile_slot(&self, key: ObjectKey) -> Result<Action, Error> {
        self.settle(&key).await?;
        if let Some(invalid) = self.store().invalid_entry(&key) {
            self.context.reservations.report_invalid(&invalid, self.context.clock.now()).await?;
            return Ok(Action::AwaitChange);
        }
        let object = self.store().get(&key);
        if let Some(object) = object.as_ref().filter(|object| is_reported_invalid(object)) {
            self.take_back_invalid(&key, object).await?;
            return Ok(Action::AwaitChange);
        }
        let object = object.filter(|object| is_slot(object));
        let Some(object) = object else {
            self.reported_since.forget(&key);
            self.revoked.forget(&key);
            self.evictions.forget(&key);
            self.missing_vms.forget(&key);
            self.misplaced.forget(&key);
            self.stop_waiting(&key);
            self.context.disruption_limit.release(&Requester::of::<Reservation>(&key));
            return Ok(Action::AwaitChange);
        };
        Span::current().record("greq", given_request_id(&object));
        let facts = self.read(&key, &object);
        let ReservationPlan { step, requeue_after } = plan(&facts, self.context.settings.delays);
        let object = self.report_misplaced(&key, object, &facts).await?;
        if step != ReservationStep::Place {
            self.stop_waiting(&key);
        }
        let Some(object) = self.unless_stopped(&key, object, &step, &facts.host).await? else {
            return Ok(Action::RequeueAfter(self.context.settings.delays.retry));
        };
        match step {
            ReservationStep::Nothing => {}
            ReservationStep::Paused => self.context.scheduler.withdraw(&SlotKey::from(&key)),
            ReservationStep::Echo => self.write(&key, &object, None).await?,
            ReservationStep::Verify(verified) => self.verified(&key, &object, verified).await?,
            ReservationStep::Adopt(vms) => self.adopt(&key, &object, &vms).await?,
            ReservationStep::Nameless => self.write_ready(&key, &object, nameless()).await?,
            ReservationStep::Confirm { pre_allocated } => self.confirm(&key, &object, pre_allocated).await?,
            ReservationStep::Unbind(why) => self.unbind(&key, &object, &self.known(&key, why), None).await?,
            ReservationStep::Revoke(why) => self.revoke_all(&key, &object, &why).await?,
            ReservationStep::Return(host) => self.target(&key, &object, &host).await?,
            ReservationStep::Place => return Ok(Action::from_delay(self.place_in_turn(&key, &object).await?)),
        }
        Ok(Action::from_delay(requeue_after))
    }

    pub(crate) fn store(&self) -> &Store<Reservation> {
        self.context.reservations.store()
    }

    pub(crate) async fn settle(&self, key: &ObjectKey) -> Result<(), Error> {
        if self.store().in_doubt(key) {
            self.context.reservations.settle(key).await?;
            // The read says nothing about a write that has become unknown after it began.
            self.store().when_settled(key, || self.context.scheduler.settled(&SlotKey::from(key)));
        }
        Ok(())
    }

    /// The slot waits for no host any more. One that does not need the host that was found for it together with others
    /// gives the capacity back.
    fn stop_waiting(&self, key: &ObjectKey) {
        self.context.requests.add(self.retries.forget(key));
        if self.promised.forget(key) {
            self.context.scheduler.applied(&[SlotKey::from(key)]);
        }
    }
}

// Since when VMs that slots expect are missing: counted, like the absence of a host, on the time in which the hosts could
// be read. A restart starts again, because nothing was observed in between.

/// The VMs that are missing, by slot, with the reading on the clock when that was first noticed.
#[derive(Debug, Default)]
pub(crate) struct MissingVms {
    noticed: Mutex<BTreeMap<ObjectKey, BTreeMap<VmId, Duration>>>,
}

impl MissingVms {
    /// These VMs of the slot are missing now, and no others; for how long each has been. `clock` is the time in which the
    /// hosts were followed.
    pub(crate) fn missing(&self, slot: &ObjectKey, vms: &BTreeSet<VmId>, clock: Duration) -> BTreeMap<VmId, Duration> {
        let mut noticed = self.noticed.lock();
        let before = noticed.remove(slot).unwrap_or_default();
        let since = |vm: &VmId| (vm.clone(), before.get(vm).copied().unwrap_or(clock));
        let now: BTreeMap<_, _> = vms.iter().map(since).collect();
        let times = now.iter().map(|(vm, since)| (vm.clone(), clock.saturating_sub(*since))).collect();
        if !now.is_empty() {
            noticed.insert(slot.clone(), now);
        }
        times
    }

    /// For how long each VM of the slot has been missing at this reading of the clock.
    pub(crate) fn held_for(&self, slot: &ObjectKey, clock: Duration) -> BTreeMap<VmId, Duration> {
        let noticed = self.noticed.lock();
        let since = noticed.get(slot).into_iter().flatten();
        since.map(|(vm, since)| (vm.clone(), clock.saturating_sub(*since))).collect()
    }

    /// The VMs of this slot are no longer checked.
    pub(crate) fn forget(&self, slot: &ObjectKey) {
        self.noticed.lock().remove(slot);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    #[test]
    fn time_counts_for_each_vm_from_the_first_reconciliation_that_missed_it() {
        let (missing_vms, slot) = (MissingVms::default(), ObjectKey::new(ClusterName::home(), "slot"));
        let missing = |vms: &[&str], seconds| {
            let vms = vms.iter().map(|vm| (*vm).into()).collect();
            let times = missing_vms.missing(&slot, &vms, Duration::from_secs(seconds));
            times.into_values().map(|time| time.as_secs()).collect::<Vec<_>>()
        };
        assert_eq!(missing(&["a"], 100), [0]);
        assert_eq!(missing(&["a", "b"], 130), [30, 0]);
        assert_eq!(missing(&["b"], 140), [10], "a is there again");
        assert_eq!(missing(&["a", "b"], 150), [0, 20]);
        let held = missing_vms.held_for(&slot, Duration::from_secs(155));
        assert_eq!(held, [("a".into(), Duration::from_secs(5)), ("b".into(), Duration::from_secs(25))].into());
        missing_vms.forget(&slot);
        assert_eq!(missing(&["b"], 160), [0]);
        assert_eq!(missing(&[], 170), [0; 0]);
        assert!(missing_vms.noticed.lock().is_empty(), "nothing is stored for a slot without missing VMs");
    }
}
