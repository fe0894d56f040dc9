//! The controllers as the operator has them, with their hands tied: their fence never opens, so they can only say what they
//! would do. The slots without a host are tried first, in the order of the waiting list and in the memory of this process
//! alone, because that list is in the memory of the operator.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::{Events, Fence, ObjectKey, ReadBy};
use berth_core::SlotKey;
use berth_reservation::Step;
use berth_scheduler::{BuiltIn, Placed, Scheduler, Shortage, SlotRequest};
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::looking::{self, Look};
use super::slot_facts::{SlotFacts, Trial};
use super::{output, vms};
use crate::args::{ClusterArguments, DEFAULT_API_ADDRESS, Output};
use crate::assembly::{Controllers, Environment, OperatorMetrics};
use crate::error::Error;
use crate::operator::scheduler;

/// What the controllers would do.
pub(super) struct Foresight {
    pub(super) controllers: Controllers,
    pub(super) now: Timestamp,
    tried: BTreeMap<SlotKey, Trial>,
}

/// Looks around with everything that commitments rest on, and shows what is explained then.
pub(super) fn show<T: Serialize>(
    clusters: &ClusterArguments,
    form: Output,
    explain: impl AsyncFnOnce(&Look) -> Result<T, Error>,
    text: impl FnOnce(&T) -> String,
) -> Result<(), Error> {
    let configuration = looking::configured(clusters)?;
    let account = looking::within(async {
        let look = looking::look_around(clusters, configuration, ReadBy::Controllers).await?;
        explain(&look).await
    })?;
    output::show(form, &account, text)
}

impl Foresight {
    pub(super) async fn new(look: &Look, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let now = clock.now();
        let chosen = Arc::new(scheduler(DEFAULT_API_ADDRESS, &look.configuration, &look.memory)?);
        let controllers = controllers(look, clock, chosen.clone(), &Fence::closed())?;
        let tried = match &*chosen {
            Chosen::BuiltIn(built_in) => try_all(look, &controllers, built_in).await,
            Chosen::External(_) => {
                unplaced(look, &controllers).map(|key| (SlotKey::from(&key), Trial::Elsewhere)).collect()
            }
        };
        Ok(Self { controllers, now, tried })
    }

    /// A slot; `None` when there is no readable one.
    pub(super) fn slot(&self, key: &ObjectKey) -> Option<SlotFacts> {
        let outlook = self.controllers.slots().foresee(key)?;
        let trial = self.tried.get(&SlotKey::from(key)).cloned();
        Some(SlotFacts { key: key.clone(), vms: vms::rows(&outlook, self.now), trial, outlook })
    }
}

/// Controllers over what was read, which write only where the fence lets them.
pub(super) fn controllers(
    look: &Look,
    clock: Arc<dyn Clock>,
    scheduler: Arc<Chosen>,
    fence: &Fence,
) -> Result<Controllers, Error> {
    let registry = Metrics::new(&BTreeMap::new())?;
    let metrics = OperatorMetrics::register(&registry, &look.memory)?;
    let counted = metrics.cluster.events.clone();
    let (events, _) = Events::new(&look.clusters, None, counted, CancellationToken::new());
    let environment = Environment {
        configuration: &look.configuration,
        clusters: look.clusters.clone(),
        routes: look.routes.clone(),
        fence: fence.clone(),
        events: events.fenced(fence.clone()),
        clock,
        scheduler,
        ids: FreshIds::random(),
        metrics: &metrics,
    };
    Ok(Controllers::new(&look.memory, &environment))
}

/// The slots that need a host now.
fn unplaced<'l>(look: &'l Look, controllers: &'l Controllers) -> impl Iterator<Item = ObjectKey> + 'l {
    let bare = look.memory.stores.reservations.all().into_iter();
    let bare = bare.filter(|entry| entry.object.spec.target_host.is_none()).map(|entry| entry.key);
    bare.filter(|key| controllers.slots().foresee(key).is_some_and(|slot| slot.plan.step == Step::Place))
}

/// Asks for a host for each of them, the oldest commitment first, as the operator does.
async fn try_all(look: &Look, controllers: &Controllers, built_in: &BuiltIn) -> BTreeMap<SlotKey, Trial> {
    let (mut tried, mut requests) = (BTreeMap::new(), Vec::new());
    for key in unplaced(look, controllers) {
        match controllers.slots().request(&key).await {
            Some(Ok(request)) => requests.push(request),
            Some(Err(says)) => drop(tried.insert(SlotKey::from(&key), Trial::Unanswered(says.text()))),
            None => {}
        }
    }
    requests.sort_by(|a, b| (&a.rank, &a.key).cmp(&(&b.rank, &b.key)));
    for request in requests {
        let trial = match built_in.place(&request).await {
            Ok(Placed::Host(host)) => Trial::Host(host),
            Ok(Placed::Nowhere(_)) => continue,
            Err(error) => Trial::Unanswered(error.with_advice()),
        };
        tried.insert(request.key, trial);
    }
    let waiting = built_in.waiting_slots();
    tried.extend(waiting.iter().map(|(slot, shortage)| (slot.key.clone(), waits(look, slot, shortage, &waiting))));
    tried
}

/// Only those in its zone compete with it.
fn waits(look: &Look, slot: &SlotRequest, shortage: &Shortage, all: &[(SlotRequest, Shortage)]) -> Trial {
    let zone: Vec<&SlotRequest> = all.iter().map(|(other, _)| other).filter(|other| other.zone == slot.zone).collect();
    let ahead: Vec<_> = zone.iter().take_while(|other| other.key != slot.key).collect();
    let mut before: Vec<(String, usize)> = Vec::new();
    for other in ahead.iter().filter(|other| other.rank.commitment != slot.rank.commitment) {
        let name = look.commitment_name(&other.rank.commitment);
        match before.last_mut().filter(|(last, _)| *last == name) {
            Some((_, count)) => *count += 1,
            None => before.push((name, 1)),
        }
    }
    Trial::Nowhere { shortage: shortage.clone(), number: ahead.len() + 1, of: zone.len(), before }
}
