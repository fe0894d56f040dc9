//! Checks the disruption limit before every removal of a host that no user asked for. A plan that the limit stops is
//! not applied; the slot stays, gets the condition, and is reconciled again.

use std::sync::Arc;

use berth_cluster::indexes::RESERVATION_BY_HOST;
use berth_cluster::{
    Disruption, Entry, ObjectKey, Requester, Stopped, disruption_limited_reason, write_disruption_limited,
};
use berth_core::HostName;
use berth_crds::conditions::safety::{HOST_IN_ANOTHER_ZONE, HOST_MISSING, HOST_OVERBOOKED};
use berth_crds::{Reservation, facts};
use berth_scheduler::Scheduler;

use crate::error::Error;
use crate::facts::HostFact;
use crate::plan::{ReservationStep, Revocation};
use crate::reconcile::ReservationController;
use crate::watches::is_slot;

const CAUSES: [&str; 3] = [HOST_MISSING, HOST_IN_ANOTHER_ZONE, HOST_OVERBOOKED];

impl<S: Scheduler> ReservationController<S> {
    /// The slot as it is now if the step may be done, none if the disruption limit holds it back.
    pub(crate) async fn unless_stopped(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        step: &ReservationStep,
        host: &HostFact,
    ) -> Result<Option<Arc<Reservation>>, Error> {
        let (disruption_limit, requester) = (&self.context.disruption_limit, Requester::of::<Reservation>(key));
        let disruption =
            if let ReservationStep::Revoke(why) = step { self.disruption(key, &object, why) } else { None };
        let outcome = if let Some(plan) = disruption {
            let demand = self.demand(&plan);
            disruption_limit.ask(&requester, &plan, demand)
        } else {
            disruption_limit.release(&requester);
            Ok(())
        };
        // While a host is missing, and its grace is not over, the mark of a former process is not taken back.
        let undecided = *step == ReservationStep::Nothing && matches!(host, HostFact::Missing(..));
        if *step == ReservationStep::Paused || undecided || (outcome.is_ok() && self.may_become_stopped(&object)) {
            return Ok(Some(object));
        }
        let (is_stopped, now) = (outcome.is_err(), self.context.clock.now());
        let stopped = outcome.err().or_else(|| self.stopped_eviction(key, &object));
        let reported =
            write_disruption_limited(&self.context.reservations, key, object, &CAUSES, stopped.as_ref(), now).await?;
        Ok((!is_stopped).then_some(reported))
    }

    /// The eviction of the slot that the disruption limit has stopped. It does not stop any step of the slot.
    fn stopped_eviction(&self, key: &ObjectKey, object: &Reservation) -> Option<Stopped> {
        self.evictions.stopped(key, &object.spec.target_host.as_deref()?.into())
    }

    /// A former process has marked the slot because of its over-booked host, and this one has not decided on the host.
    fn may_become_stopped(&self, object: &Reservation) -> bool {
        let host =
            object.spec.target_host.as_deref().filter(|_| disruption_limited_reason(object) == Some(HOST_OVERBOOKED));
        host.is_some_and(|host| self.evictions.is_undecided(&host.into()))
    }

    /// The disruption by the revocation; none if a user cleared the host, or for an eviction, which has checked the
    /// limit itself.
    fn disruption(&self, key: &ObjectKey, object: &Reservation, why: &Revocation) -> Option<Disruption> {
        let cause = match why {
            Revocation::Cleared | Revocation::Oversubscribed(..) => return None,
            Revocation::HostGone(..) | Revocation::NoSuchHost(_) => HOST_MISSING,
            Revocation::WrongZone(..) => HOST_IN_ANOTHER_ZONE,
            Revocation::Overbooked(..) => HOST_OVERBOOKED,
        };
        let others = self.lost_together(key, object, why).into_iter().map(|entry| entry.key);
        let slots = [key.clone()].into_iter().chain(others).collect();
        Some(Disruption { zone: zone(object).to_owned(), cause, slots })
    }

    /// The other slots of the commitment on a host that is gone: they lose it in the same reconciliation.
    pub(crate) fn lost_together(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        why: &Revocation,
    ) -> Vec<Entry<Reservation>> {
        let Revocation::HostGone(host, _) = why else { return Vec::new() };
        let slot = facts::slot(object);
        let mut others = self.on_host(host);
        others.retain(|other| other.key.cluster == key.cluster && other.key != *key);
        others.retain(|other| facts::slot(&other.object).commitment == slot.commitment);
        others
    }

    fn on_host(&self, host: &HostName) -> Vec<Entry<Reservation>> {
        let mut entries = self.store().select(&RESERVATION_BY_HOST, host.as_str());
        entries
            .retain(|entry| is_slot(&entry.object) && entry.object.spec.target_host.as_deref() == Some(host.as_str()));
        entries
    }

    /// All slots of the zone that the same cause concerns, on all hosts that are missing or in another zone: a zone that
    /// has lost all of its hosts must not lose as many slots as the disruption limit allows.
    fn demand(&self, plan: &Disruption) -> impl Iterator<Item = ObjectKey> {
        let slots: Vec<_> = match plan.cause {
            HOST_MISSING => self.missing.keys().iter().flat_map(|host| self.on_host(host)).collect(),
            HOST_IN_ANOTHER_ZONE => self.misplaced_without_vms(),
            _ => Vec::new(),
        };
        let concerned = slots
            .into_iter()
            .filter(|entry| zone(&entry.object) == plan.zone && self.context.pauses.slot(&entry.object).is_none());
        concerned.map(|entry| entry.key)
    }

    fn misplaced_without_vms(&self) -> Vec<Entry<Reservation>> {
        let keys = self.misplaced.keys().into_iter();
        let entries = keys.filter_map(|key| Some(Entry { object: self.store().get(&key)?, key }));
        entries.filter(|entry| facts::slot(&entry.object).expected.is_empty()).collect()
    }
}

fn zone(object: &Reservation) -> &str {
    object.spec.availability_zone.as_deref().unwrap_or_default()
}
