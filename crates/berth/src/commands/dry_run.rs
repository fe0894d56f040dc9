//! The controllers of the operator behind a fence that never opens, so that they only plan. Waiting slots are tried
//! first, in the order of the waiting list, because that list is not stored in objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::{Events, Fence, ObjectKey, ReadBy};
use berth_core::SlotKey;
use berth_reservation::ReservationStep;
use berth_scheduler::{BuiltIn, NoDomainNames, Placed, Scheduler, Shortage, SlotRequest};
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::cluster_snapshot::{self, ClusterSnapshot};
use super::leader::AskedOperator;
use super::slot_facts::{PlacementTrial, SlotFacts};
use super::{output, vms};
use crate::args::{ClusterArguments, Output};
use crate::error::Error;
use crate::operator::scheduler;
use crate::wiring::{Controllers, Environment, OperatorMetrics};

/// A dry run of the controllers.
pub(super) struct OperatorDryRun {
    pub(super) controllers: Controllers,
    pub(super) now: Timestamp,
    /// What the leader said about the object.
    pub(super) asked: AskedOperator,
    tried: BTreeMap<SlotKey, PlacementTrial>,
}

/// Reads everything that the scheduler or the controllers depend on, and then prints the explanation.
pub(super) fn show<T: Serialize>(
    clusters: &ClusterArguments,
    by: ReadBy,
    form: Output,
    explain: impl AsyncFnOnce(&ClusterSnapshot) -> Result<T, Error>,
    text: impl FnOnce(&T) -> String,
) -> Result<(), Error> {
    let configuration = cluster_snapshot::configured(clusters)?;
    let account = cluster_snapshot::limit_time(async {
        let snapshot = cluster_snapshot::read_clusters(clusters, configuration, by).await?;
        explain(&snapshot).await
    })?;
    output::show(form, &account, text)
}

impl OperatorDryRun {
    /// The promises of the leader in the zone of the object count in it.
    pub(super) async fn new(
        snapshot: &ClusterSnapshot,
        clock: Arc<dyn Clock>,
        zone: Option<&str>,
        asked: AskedOperator,
    ) -> Result<Self, Error> {
        let now = clock.now();
        asked.count_promises(snapshot, &snapshot.memory.scheduler.claims_in(&zone.unwrap_or_default().into()));
        let url = &snapshot.configuration.reservation_controller.scheduler;
        let chosen = Arc::new(scheduler(None, (url, "slots"), &snapshot.configuration, &snapshot.memory)?);
        let controllers = controllers(snapshot, clock, chosen.clone(), &Fence::closed())?;
        let tried = match &*chosen {
            Chosen::BuiltIn(built_in) => try_all(snapshot, &controllers, built_in).await,
            Chosen::External(_) => {
                unplaced(snapshot, &controllers).map(|key| (SlotKey::from(&key), PlacementTrial::Elsewhere)).collect()
            }
        };
        Ok(Self { controllers, now, asked, tried })
    }

    /// A slot; `None` when there is no readable one.
    pub(super) fn slot(&self, key: &ObjectKey) -> Option<SlotFacts> {
        let (dry_run, slot) = (self.controllers.slots().dry_run(key)?, SlotKey::from(key));
        let known = self.asked.answer.as_ref().and_then(|answer| answer.slot(&slot)).cloned();
        let (vms, trial) = (vms::rows(&dry_run, known.as_ref(), self.now), self.tried.get(&slot).cloned());
        Some(SlotFacts { key: key.clone(), vms, trial, known, now: self.now, dry_run })
    }
}

/// Controllers over the objects that were read, which write only if the fence lets them.
pub(super) fn controllers(
    snapshot: &ClusterSnapshot,
    clock: Arc<dyn Clock>,
    scheduler: Arc<Chosen>,
    fence: &Fence,
) -> Result<Controllers, Error> {
    let registry = Metrics::new(&BTreeMap::new())?;
    let metrics = OperatorMetrics::register(&registry, &snapshot.memory)?;
    let counted = metrics.cluster.events.clone();
    let (events, _) = Events::new(&snapshot.clusters, None, counted, CancellationToken::new());
    let environment = Environment {
        configuration: &snapshot.configuration,
        clusters: snapshot.clusters.clone(),
        routes: snapshot.routes.clone(),
        fence: fence.clone(),
        events: events.fenced(fence.clone()),
        clock,
        capacity_scheduler: scheduler.clone(),
        scheduler,
        ids: FreshIds::random(),
        // People who ask may not read the Secret of the operator.
        domain_names: Arc::new(NoDomainNames),
        limes: None,
        metrics: &metrics,
    };
    Ok(Controllers::new(&snapshot.memory, &environment))
}

fn unplaced<'l>(snapshot: &'l ClusterSnapshot, controllers: &'l Controllers) -> impl Iterator<Item = ObjectKey> + 'l {
    let bare = snapshot.memory.stores.reservations.all().into_iter();
    let bare = bare.filter(|entry| entry.object.spec.target_host.is_none()).map(|entry| entry.key);
    bare.filter(|key| controllers.slots().dry_run(key).is_some_and(|slot| slot.plan.step == ReservationStep::Place))
}

/// Asks for a host for each of them, the oldest commitment first, as the operator does.
async fn try_all(
    snapshot: &ClusterSnapshot,
    controllers: &Controllers,
    built_in: &BuiltIn,
) -> BTreeMap<SlotKey, PlacementTrial> {
    let (mut tried, mut requests) = (BTreeMap::new(), Vec::new());
    for key in unplaced(snapshot, controllers) {
        match controllers.slots().request(&key).await {
            Some(Ok(request)) => requests.push(request),
            Some(Err(ready)) => drop(tried.insert(SlotKey::from(&key), PlacementTrial::Unanswered(ready.text()))),
            None => {}
        }
    }
    requests.sort_by(|a, b| (&a.rank, &a.key).cmp(&(&b.rank, &b.key)));
    for request in requests {
        let trial = match built_in.place(&request).await {
            Ok(Placed::Host(host)) => PlacementTrial::Host(host),
            Ok(Placed::Nowhere(_) | Placed::Unplanned) => continue,
            Err(error) => PlacementTrial::Unanswered(error.with_advice()),
        };
        tried.insert(request.key, trial);
    }
    let waiting = built_in.waiting_slots();
    tried.extend(waiting.iter().map(|(slot, shortage)| (slot.key.clone(), waits(snapshot, slot, shortage, &waiting))));
    tried
}

/// Only those in its zone compete with it.
fn waits(
    snapshot: &ClusterSnapshot,
    slot: &SlotRequest,
    shortage: &Shortage,
    all: &[(SlotRequest, Shortage)],
) -> PlacementTrial {
    let zone: Vec<&SlotRequest> = all.iter().map(|(other, _)| other).filter(|other| other.zone == slot.zone).collect();
    let ahead: Vec<_> = zone.iter().take_while(|other| other.key != slot.key).collect();
    let mut before: Vec<(String, usize)> = Vec::new();
    for other in ahead.iter().filter(|other| other.rank.commitment != slot.rank.commitment) {
        let name = snapshot.commitment_name(&other.rank.commitment);
        match before.last_mut().filter(|(last, _)| *last == name) {
            Some((_, count)) => *count += 1,
            None => before.push((name, 1)),
        }
    }
    PlacementTrial::Nowhere { shortage: shortage.clone(), number: ahead.len() + 1, of: zone.len(), before }
}
