//! Read: what the capacity view knows of a host, the objects of the slots on it, and whether everything is known that
//! concerns it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::indexes::RESERVATION_BY_HOST;
use berth_cluster::{InvalidEntry, ObjectKey, Partial};
use berth_core::host::{ConditionStatus, Host};
use berth_core::{Resources, Zone};
use berth_crds::Reservation;
use berth_crds::conditions::READY;
use berth_scheduler::{Held, HostReport};

use super::facts::{Occupant, OversubscriptionFacts};
use super::reconcile::OversubscriptionController;
use super::zone::{ZoneEvictions, plan_zone};
use crate::watches::is_slot;

/// A host as it was read, with the objects of the slots on it.
pub(super) struct ObservedHost {
    pub(super) host: Host,
    pub(super) facts: OversubscriptionFacts,
    pub(super) slots: Vec<(ObjectKey, Arc<Reservation>)>,
}

impl OversubscriptionController {
    /// The state of the host in the capacity view, if the view uses this object for the name.
    pub(super) fn report(&self, key: &ObjectKey) -> Option<HostReport> {
        self.context.hypervisors.get(key)?;
        let report = self.context.view.host_report(&(&*key.name).into())?;
        (report.host.cluster == key.cluster).then_some(report)
    }

    /// Whether everything is known that concerns the host: its own object, and all Reservations in its cluster and in
    /// those that have reservations on it.
    pub(super) fn check_complete(&self, report: &HostReport) -> Result<(), Partial> {
        let name = report.host.name.as_str();
        self.context.hypervisors.require_complete_for(&report.host.cluster, |one| *one.key.name == *name)?;
        let reservations = self.context.reservations.store();
        let named = reservations.select(&RESERVATION_BY_HOST, name);
        let readable = |one: &InvalidEntry| named.iter().any(|entry| entry.key == one.key);
        let concerns = |one: &InvalidEntry| {
            readable(one) || one.raw["spec"]["targetHost"] == *name || one.raw["status"]["host"] == *name
        };
        let clusters = report.reservations.iter().map(|held| &held.reservation.key.cluster);
        for cluster in clusters.chain([&report.host.cluster]).collect::<BTreeSet<_>>() {
            reservations.require_complete_for(cluster, concerns)?;
        }
        Ok(())
    }

    /// What all hosts of the zone would lose, as the capacity view shows them now. A host that cannot be checked counts as
    /// one that loses nothing, so that it stops no other host.
    pub(super) fn zone_evictions(&self, zone: &Zone) -> Arc<ZoneEvictions> {
        let overbooked = self.context.view.overbooked_hosts(zone);
        self.zones.get_or_plan(zone, overbooked, self.context.settings.interval, |names| {
            let reports = names.iter().filter_map(|name| self.context.view.host_report(name));
            let checkable = reports.filter(|report| self.check_complete(report).is_ok());
            let facts = checkable.map(|report| self.read(report)).map(|seen| (seen.host.name, seen.facts));
            plan_zone(facts, &self.context.settings)
        })
    }

    pub(super) fn read(&self, report: HostReport) -> ObservedHost {
        let store = self.context.reservations.store();
        let object = |held: &Held| {
            let key = ObjectKey::from(&held.reservation.key);
            let stays = |object: &Reservation| is_slot(object) && object.metadata.deletion_timestamp.is_none();
            store.get(&key).filter(|object| stays(object)).map(|object| (key, object))
        };
        let held = report.reservations.iter().filter_map(|held| Some((held, object(held)?)));
        let (occupants, slots) =
            held.map(|(held, (key, object))| (self.occupant(&report.host, held, &object), (key, object))).unzip();
        let facts = OversubscriptionFacts {
            ready: report.host.conditions.get(READY) == Some(&ConditionStatus::True)
                && report.host.invalid_amount.is_none(),
            free: report.observed,
            slots: occupants,
        };
        ObservedHost { host: report.host, facts, slots }
    }

    fn occupant(&self, host: &Host, held: &Held, object: &Reservation) -> Occupant {
        let expected = object.spec.committed_resource_reservation.iter().flat_map(|data| &data.allocations);
        let paused = self.context.pauses.slot(object).is_some();
        Occupant {
            key: held.reservation.key.clone(),
            size: held.reservation.size.at_least_zero(),
            block: held.block.block,
            empty: expected.count() == 0 && held.covered == Resources::ZERO,
            leaving: object.spec.target_host.as_deref() != Some(host.name.as_str()) && !paused,
            is_paused: paused,
        }
    }
}
