//! The evictions of a whole zone: all slots that its over-booked hosts would lose. The disruption limit is checked with
//! them, so that a zone whose hosts shrink together does not lose as many slots as the limit allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::{HostName, SlotKey, Zone};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::facts::OversubscriptionFacts;
use super::plan::{Settings, evictions};

/// The slots that each over-booked host of a zone would lose at the end of its grace period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneEvictions {
    by_host: BTreeMap<HostName, Vec<SlotKey>>,
}

/// Plans the evictions of a zone, also from hosts whose grace period is not over yet. A function of the facts of hosts.
pub fn plan_zone(
    hosts: impl IntoIterator<Item = (HostName, OversubscriptionFacts)>,
    settings: &Settings,
) -> ZoneEvictions {
    let planned = hosts.into_iter().map(|(host, facts)| (host, evictions(&facts, settings)));
    ZoneEvictions { by_host: planned.filter(|(_, slots)| !slots.is_empty()).collect() }
}

impl ZoneEvictions {
    /// The slots that hosts other than this one would lose.
    pub fn of_others(&self, host: &HostName) -> Vec<ObjectKey> {
        let others = self.by_host.iter().filter(|(other, _)| *other != host);
        others.flat_map(|(_, slots)| slots).map(ObjectKey::from).collect()
    }
}

/// The evictions of each zone, so that not every host that asks for them plans all others again.
#[derive(Debug, Default)]
pub(super) struct PlannedZones {
    planned: Mutex<BTreeMap<Zone, PlannedZone>>,
}

#[derive(Debug)]
struct PlannedZone {
    at: Instant,
    overbooked: Vec<HostName>,
    evictions: Arc<ZoneEvictions>,
}

impl PlannedZones {
    /// The evictions of the zone: planned anew when other hosts are over-booked than before, or after `interval`.
    pub(super) fn get_or_plan(
        &self,
        zone: &Zone,
        overbooked: Vec<HostName>,
        interval: Duration,
        plan: impl FnOnce(&[HostName]) -> ZoneEvictions,
    ) -> Arc<ZoneEvictions> {
        let mut planned = self.planned.lock();
        let is_fresh = |known: &&PlannedZone| known.at.elapsed() < interval && known.overbooked == overbooked;
        if let Some(known) = planned.get(zone).filter(is_fresh) {
            return known.evictions.clone();
        }
        let evictions = Arc::new(plan(&overbooked));
        planned.insert(zone.clone(), PlannedZone { at: Instant::now(), overbooked, evictions: evictions.clone() });
        evictions
    }
}

#[cfg(test)]
mod tests;
