//! The controller: read, plan, apply, report, write (architecture section 3). The one decision that it takes, a host
//! for a slot without one, is the scheduler's.

mod braking;
mod foresee;
mod verification;

use std::sync::Arc;

use berth_cluster::{
    Absences, Action, Asker, Brake, Entry, Event, EventKind, Events, FlavorGroupsCache, Freezer, Guard, ObjectKey,
    Reconciler, Requests, Right, Routes, Store, Verb, Watches, WriteError, Writer, Written,
    indexes::{COMMITMENT_BY_UUID, RESERVATION_BY_COMMITMENT, RESERVATION_BY_HOST},
};
use berth_core::{ClusterName, HostName, SlotKey, slot::Slot};
use berth_crds::{
    CommittedResource, Hypervisor, Pipeline, Reservation,
    conditions::{
        Status,
        reservation::{self as texts, Reason},
    },
    facts, labels,
};
use berth_scheduler::{
    DomainNames, PipelineChoice, Placed, Placement, Scheduler, SchedulerError, SlotRequest, WholeRequest,
};
use berth_telemetry::{clock::Clock, ids::FreshIds};
use kube::{Resource, ResourceExt};
use tracing::{Instrument as _, Span, debug, field::Empty, info, info_span};

use crate::{
    departures::Departures,
    error::Error,
    facts::{Facts, HostFact},
    keys::slot_key,
    metrics::ReservationMetrics,
    oversubscription::Evictions,
    plan::{Delays, Plan, Revocation, Step, plan},
    request::{Context, request, unreadable},
    since::Since,
    status::{Place, Says, status},
    watches::{self, Watched, is_slot},
};

pub use foresee::Outlook;

/// What the configuration says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When to look again.
    pub delays: Delays,
    /// Which pipeline places the slots of which flavor group.
    pub pipelines: PipelineChoice,
}

/// What the controller works with.
pub struct Parts<S, D> {
    /// Reservations, read and written.
    pub reservations: Writer<Reservation>,
    /// Commitments, read only.
    pub commitments: Store<CommittedResource>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    /// Pipelines, which are only watched.
    pub pipelines: Store<Pipeline>,
    /// Which cluster serves which zone.
    pub routes: Routes,
    /// The flavor groups.
    pub flavor_groups: FlavorGroupsCache,
    /// Knows what is left as it is (U57).
    pub freezer: Freezer,
    /// Stops what would disturb too much (D14).
    pub brake: Brake,
    /// Finds hosts.
    pub scheduler: Arc<S>,
    /// Names of domains.
    pub domain_names: D,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub events: Events,
    /// Counts.
    pub metrics: ReservationMetrics,
    /// Ids of requests that nobody gave one.
    pub ids: FreshIds,
    /// The configuration.
    pub settings: Settings,
    /// The requests of this controller: a decision about several slots enqueues the others.
    pub requests: Requests<ObjectKey>,
}

/// Puts slots into force on hosts and keeps them there.
pub struct ReservationController<S, D> {
    parts: Parts<S, D>,
    missing: Absences<HostName>,
    departures: Departures,
    /// Since when the filter counts in the condition of a slot without host are as they are.
    told: Since<ObjectKey>,
    /// Slots that got a host together with another one of their commitment and have not asked for it yet.
    promised: Since<ObjectKey>,
    /// Why slots lost their host that another controller took it from.
    evictions: Evictions,
}

impl<S: Scheduler, D: DomainNames> Reconciler for ReservationController<S, D> {
    const NAME: &'static str = "commitment-reservation";
    type Key = ObjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Patch]).because("Slots get a host, lose it, and follow their VMs."),
            Right::status::<Reservation>(&[Verb::Patch]).because("Whether a slot is in force, and where."),
            Right::events_about::<Reservation>().because("Events about slots."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        let stores = Watched {
            reservations: self.store(),
            commitments: &self.parts.commitments,
            hypervisors: &self.parts.hypervisors,
            knowledges: self.parts.flavor_groups.store(),
            pipelines: &self.parts.pipelines,
        };
        watches::declare(watches, &stores);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.store().keys()
    }

    /// The log lines say which slot they are about.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let span = info_span!("slot", module = "committed-resources", req = &*key.name, greq = Empty);
        self.reconcile_slot(key).instrument(span).await
    }
}

impl<S: Scheduler, D: DomainNames> ReservationController<S, D> {
    /// A controller that has seen nothing yet.
    pub fn new(parts: Parts<S, D>) -> Self {
        let (missing, departures) = (Absences::default(), Departures::default());
        let (told, promised) = (Since::default(), Since::default());
        Self { parts, missing, departures, told, promised, evictions: Evictions::default() }
    }

    /// Where whoever takes the host of a slot away leaves a word why.
    pub fn evictions(&self) -> Evictions {
        self.evictions.clone()
    }

    async fn reconcile_slot(&self, key: ObjectKey) -> Result<Action, Error> {
        self.settle(&key).await?;
        let object = self.store().get(&key).filter(|object| is_slot(object));
        let Some(object) = object else {
            self.told.forget(&key);
            self.evictions.forget(&key);
            self.departures.forget(&key);
            self.give_back(&key);
            self.parts.brake.over(&Asker::of::<Reservation>(&key));
            return Ok(Action::AwaitChange);
        };
        Span::current().record("greq", given_request_id(&object));
        let facts = self.read(&key, &object);
        let Plan { step, again } = plan(&facts, self.parts.settings.delays);
        if step != Step::Place {
            self.give_back(&key);
        }
        let Some(object) = self.unless_stopped(&key, object, &step, &facts.host).await? else {
            return Ok(Action::RequeueAfter(self.parts.settings.delays.retry));
        };
        match step {
            Step::Nothing => {}
            Step::Frozen => self.parts.scheduler.withdraw(&slot_key(&key)),
            Step::Echo => self.write(&key, &object, None).await?,
            Step::Verify(verified) => self.verified(&key, &object, verified).await?,
            Step::Nameless => self.say(&key, &object, nameless()).await?,
            Step::Confirm { pre_allocated } => self.confirm(&key, &object, pre_allocated).await?,
            Step::Unbind(why) => self.unbind(&key, &object, &self.known(&key, why)).await?,
            Step::Revoke(why) => self.revoke_all(&key, &object, &why).await?,
            Step::Return(host) => self.target(&key, &object, &host).await?,
            Step::Place => self.place(&key, &object).await?,
        }
        Ok(Action::from_delay(again))
    }

    fn store(&self) -> &Store<Reservation> {
        self.parts.reservations.store()
    }

    async fn settle(&self, key: &ObjectKey) -> Result<(), Error> {
        if self.store().in_doubt(key) {
            self.parts.reservations.settle(key).await?;
            self.parts.scheduler.settled(&slot_key(key));
        }
        Ok(())
    }

    /// A slot that does not need the host that was found for it together with others gives the room back.
    fn give_back(&self, key: &ObjectKey) {
        if self.promised.forget(key) {
            self.parts.scheduler.applied(&[slot_key(key)]);
        }
    }

    fn read(&self, key: &ObjectKey, object: &Reservation) -> Facts {
        let slot = facts::slot(object);
        let hosts = self.parts.routes.target::<Hypervisor>(Some(slot.zone.as_str())).ok();
        let followed = |cluster: &ClusterName| self.parts.hypervisors.followed(cluster).is_ok();
        let complete = hosts.as_ref().and_then(|cluster| self.parts.hypervisors.complete(cluster).ok());
        Facts {
            frozen: self.parts.freezer.slot(object),
            confirmed: verification::confirmed(object),
            vms: self.vms(key, object, &slot, complete.as_ref()),
            hosts_are_complete: complete.is_some(),
            host: slot.target_host.as_ref().map_or(HostFact::Exists, |host| self.host(hosts.as_ref(), host)),
            verdict: self.parts.scheduler.verdict(&slot_key(key)),
            former_is_good: slot.status_host.as_ref().is_some_and(|host| self.is_good(hosts.as_ref(), host, &slot)),
            hosts_are_followed: hosts.as_ref().is_some_and(followed),
            slot,
        }
    }

    fn is_good(&self, hosts: Option<&ClusterName>, host: &HostName, slot: &Slot) -> bool {
        let key = hosts.map(|cluster| ObjectKey::new(cluster.clone(), host.as_str()));
        let host = key.and_then(|key| self.parts.hypervisors.get(&key));
        host.is_some_and(|host| host.labels().get(labels::ZONE).is_some_and(|zone| *zone == *slot.zone.as_str()))
    }

    /// A host whose object cannot be read exists; only a complete read of the cluster of the zone proves an absence
    /// (U36). What is wrong with a host of another cluster, the capacity view knows.
    fn host(&self, hosts: Option<&ClusterName>, host: &HostName) -> HostFact {
        let store = &self.parts.hypervisors;
        let exists = |cluster: ClusterName| store.get(&ObjectKey::new(cluster, host.as_str())).is_some();
        if store.clusters().into_iter().any(exists) {
            self.missing.over(host);
            return HostFact::Exists;
        }
        match hosts.map(|cluster| store.complete(cluster)) {
            Some(Ok(complete)) => {
                let missing = self.missing.missing(host, complete.followed_time());
                // It may have come in between, and the run for another slot may have found it before this absence was noted.
                if store.clusters().into_iter().any(exists) {
                    self.missing.over(host);
                    return HostFact::Exists;
                }
                HostFact::Missing(missing, complete.whole())
            }
            Some(Err(_)) | None => HostFact::Unreadable,
        }
    }

    async fn confirm(&self, key: &ObjectKey, object: &Reservation, pre_allocated: bool) -> Result<(), Error> {
        let Some(host) = object.spec.target_host.as_deref() else { return Ok(()) };
        let (reason, message) = if pre_allocated {
            (Reason::PreAllocated, texts::PRE_ALLOCATED)
        } else {
            (Reason::ReservationActive, texts::SCHEDULED)
        };
        let says = Says::new(Status::True, reason, message).at(Place::On(host.into()));
        self.told.forget(key);
        self.say(key, object, says).await?;
        let left = object.status.as_ref().and_then(|status| status.host.as_deref()).filter(|left| *left != host);
        if let Some(left) = left {
            self.tell(key, object, EventKind::Normal, "SlotMoved", format!("moved from host {left} to host {host}"));
        }
        Ok(())
    }

    /// When a host has gone, all slots of the commitment on it lose it in one look, so that they are placed anew
    /// together (U36).
    async fn revoke_all(&self, key: &ObjectKey, object: &Arc<Reservation>, why: &Revocation) -> Result<(), Error> {
        self.revoke(key, object, why).await?;
        let Revocation::HostGone(host, _) = why else { return Ok(()) };
        for other in self.lost_together(key, object, why) {
            self.revoke(&other.key, &other.object, why).await?;
        }
        if self.store().select(&RESERVATION_BY_HOST, host.as_str()).is_empty() {
            self.missing.over(host);
        }
        Ok(())
    }

    /// Takes the host away on the facts that were read, then says so. With a host that has gone its VMs are gone, too;
    /// else they run where they ran, and the slot keeps expecting them.
    async fn revoke(&self, key: &ObjectKey, object: &Arc<Reservation>, why: &Revocation) -> Result<(), Error> {
        let mut bare = Reservation::clone(object);
        bare.spec.target_host = None;
        if let (Revocation::HostGone(..), Some(data)) = (why, &mut bare.spec.committed_resource_reservation) {
            data.allocations.clear();
        }
        match self.parts.reservations.patch(key, object, &bare, Guard::Version).await? {
            Written::Changed(object) => self.unbind(key, &object, why).await,
            Written::Unchanged | Written::Gone => Ok(()),
        }
    }

    /// Who cleared it, if it was not a person.
    fn known(&self, key: &ObjectKey, why: Revocation) -> Revocation {
        let eviction = self.evictions.why(key).filter(|_| why == Revocation::Cleared);
        eviction.map_or(why, |eviction| Revocation::Oversubscribed(eviction.host, eviction.excess))
    }

    async fn unbind(&self, key: &ObjectKey, object: &Reservation, why: &Revocation) -> Result<(), Error> {
        let message = why.message();
        let says = Says::new(Status::False, Reason::PlacementRevoked, message.as_str()).at(Place::Nowhere);
        self.say(key, object, says).await?;
        self.evictions.forget(key);
        self.parts.metrics.revoked.with_label_values(&[why.cause()]).inc();
        info!(slot = %key.name, reason = message, "slot lost its host");
        self.tell(key, object, EventKind::Warning, Reason::PlacementRevoked.as_str(), message);
        Ok(())
    }

    /// Asks the scheduler for a host and writes it, or says why there is none.
    async fn place(&self, key: &ObjectKey, object: &Arc<Reservation>) -> Result<(), Error> {
        let outcome = match self.requests(key, object).await {
            Ok(requests) => self.settle_on(key, object, self.ask(key, requests).await).await,
            Err(says) => self.say(key, object, says).await,
        };
        self.promised.forget(key);
        self.evictions.forget(key);
        self.parts.scheduler.applied(&[slot_key(key)]);
        outcome
    }

    async fn settle_on(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        placed: Result<Placed, SchedulerError>,
    ) -> Result<(), Error> {
        match placed {
            Ok(Placed::Host(host)) => self.target(key, object, &host).await,
            Ok(Placed::Nowhere(shortage)) => self.nowhere(key, object, &shortage.to_string()).await,
            Err(SchedulerError::InDoubt { .. }) => Err(Error::InDoubt),
            Err(error) => self.say(key, object, self.refreshed(key, unavailable(&error))).await,
        }
    }

    /// The requests of this slot, which comes first, and of the others of its commitment that have no host and have not
    /// been tried yet: they are placed anew together (U36).
    async fn requests(&self, key: &ObjectKey, object: &Reservation) -> Result<Vec<SlotRequest>, Says> {
        let groups = self.parts.flavor_groups.get().map_err(|error| unreadable(&error.to_string()))?;
        let data = object.spec.committed_resource_reservation.clone().unwrap_or_default();
        let domain = data.domain_id.unwrap_or_default();
        let domain_name =
            self.parts.domain_names.resolve(&domain.as_str().into()).await.map_err(|error| unavailable(&error))?;
        let uuid = data.commitment_uuid.unwrap_or_default();
        let request_id = self.request_id(object);
        let context = Context {
            groups: &groups,
            pipelines: &self.parts.settings.pipelines,
            domain_name: domain_name.as_deref(),
            created_unix: self.created(&uuid),
            request_id: &request_id,
        };
        let own = request(slot_key(key), &facts::slot(object), context)?;
        let others = self.others(key, &uuid).into_iter().filter_map(|(key, slot)| request(key, &slot, context).ok());
        Ok([own].into_iter().chain(others).collect())
    }

    fn request_id(&self, object: &Reservation) -> String {
        let given = given_request_id(object).map(str::to_owned);
        given.unwrap_or_else(|| format!("committed-resource-{}", self.parts.ids.fresh()))
    }

    fn created(&self, uuid: &str) -> i64 {
        let commitments = self.parts.commitments.select(&COMMITMENT_BY_UUID, uuid);
        let created = commitments.first().and_then(|entry| entry.object.metadata.creation_timestamp.as_ref());
        created.map_or(i64::MAX, |time| time.0.as_second())
    }

    fn others(&self, key: &ObjectKey, uuid: &str) -> Vec<(SlotKey, Slot)> {
        let entries = self.store().select(&RESERVATION_BY_COMMITMENT, uuid).into_iter();
        let unplaced = entries.filter(|entry| {
            let known = |entry: &Entry<Reservation>| self.parts.scheduler.waiting(&slot_key(&entry.key)).is_some();
            entry.key != *key && entry.object.spec.target_host.is_none() && is_slot(&entry.object) && !known(entry)
        });
        unplaced.map(|entry| (slot_key(&entry.key), facts::slot(&entry.object))).collect()
    }

    async fn ask(&self, key: &ObjectKey, requests: Vec<SlotRequest>) -> Result<Placed, SchedulerError> {
        let own = requests[0].clone();
        if requests.len() > 1 {
            let mut whole = WholeRequest { slots: requests, existing: true, ..WholeRequest::default() };
            whole.slots.sort_by(|a, b| a.rank.cmp(&b.rank));
            if let Placement::Decided { hosts, .. } = self.parts.scheduler.place_all(&whole).await? {
                let found = whole.slots.iter().zip(&hosts).filter(|(_, host)| host.is_some());
                let others: Vec<_> =
                    found.map(|(slot, _)| slot.key.clone()).filter(|found| *found != slot_key(key)).collect();
                for other in &others {
                    self.promised.noticed(&ObjectKey::new(other.cluster.clone(), other.name.as_str()));
                }
                self.parts.requests.add(others.iter().map(ObjectKey::from));
            }
        }
        self.parts.scheduler.place(&own).await
    }

    async fn target(&self, key: &ObjectKey, object: &Arc<Reservation>, host: &HostName) -> Result<(), Error> {
        let mut placed = Reservation::clone(object);
        placed.spec.target_host = Some(host.to_string());
        debug!(slot = %key.name, %host, "placing");
        let written = self.parts.reservations.patch(key, object, &placed, Guard::Version).await;
        if let Err(WriteError::Unknown { .. }) = &written {
            self.parts.scheduler.in_doubt(&slot_key(key));
        }
        Ok(written.map(drop)?)
    }

    /// Says that no host was found.
    async fn nowhere(&self, key: &ObjectKey, object: &Reservation, shortage: &str) -> Result<(), Error> {
        if self.parts.hypervisors.is_empty() {
            let says = Says::new(Status::False, Reason::NoHostsAvailable, texts::NO_HYPERVISORS);
            return self.say(key, object, says).await;
        }
        let says = Says::new(Status::False, Reason::NoHostsFound, texts::NO_HOSTS).detailed(shortage);
        self.say(key, object, self.refreshed(key, says)).await
    }

    /// Counts, and what the scheduler complains of, are refreshed at most once per retry interval (U52).
    fn refreshed(&self, key: &ObjectKey, says: Says) -> Says {
        let refresh = self.told.noticed(key) >= self.parts.settings.delays.retry;
        if refresh {
            self.told.forget(key);
        }
        Says { refresh, ..says }
    }

    async fn say(&self, key: &ObjectKey, object: &Reservation, says: Says) -> Result<(), Error> {
        self.write(key, object, Some(&says)).await
    }

    async fn write(&self, key: &ObjectKey, old: &Reservation, says: Option<&Says>) -> Result<(), Error> {
        let mut new = old.clone();
        new.status = Some(status(old, says, self.parts.clock.now()));
        Ok(self.parts.reservations.patch_status(key, old, &new).await.map(drop)?)
    }

    fn tell(&self, key: &ObjectKey, object: &Reservation, kind: EventKind, reason: &str, note: String) {
        let event = Event { kind, reason: reason.to_owned(), action: "Place".to_owned(), note };
        self.parts.events.publish(&key.cluster, &object.object_ref(&()), event);
    }
}

fn given_request_id(object: &Reservation) -> Option<&str> {
    let given = object.annotations().get(labels::CREATOR_REQUEST_ID);
    given.map(String::as_str).filter(|id| !id.is_empty())
}

fn nameless() -> Says {
    Says::new(Status::False, Reason::MissingResourceName, texts::NO_RESOURCE_NAME)
}

fn unavailable(error: &SchedulerError) -> Says {
    let message = "the scheduler cannot decide at the moment";
    Says::new(Status::Unknown, Reason::SchedulerUnavailable, message).detailed(error.with_advice())
}
