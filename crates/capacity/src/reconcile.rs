//! The controller: a cycle reads, probes, computes and writes the capacity of all groups and zones (`docs/architecture.md`).

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{
    Action, FlavorGroupsCache, ObjectField, ObjectKey, Partial, Reconciler, Right, Routes, Store, Verb, Watches, Writer,
};
use berth_core::capacity::ProbedHost;
use berth_core::flavor::{FlavorGroup, FlavorGroups};
use berth_core::liquid::units::UnitOf;
use berth_core::{Resources, Zone};
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Pipeline, Reservation};
use berth_scheduler::{HostCapacity, Scheduler};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_vm_source::VmSource;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::apply::Applier;
use crate::error::Error;
use crate::metrics::CapacityMetrics;
use crate::plan::{CapacityPlan, CycleFacts, Place, PlaceFacts, ZoneFacts, plan};
use crate::probe::{Positions, Prober};
use crate::read::{KnownZones, Reader};
use crate::settings::Settings;
use crate::watches::{CapacityKey, Watched};

/// The dependencies of the controller.
pub struct Context<S> {
    pub capacities: Writer<FlavorGroupCapacity>,
    /// Read only.
    pub commitments: Store<CommittedResource>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    pub reservations: Store<Reservation>,
    pub pipelines: Store<Pipeline>,
    pub flavor_groups: FlavorGroupsCache,
    pub vms: VmSource,
    pub routes: Routes,
    /// Answers the probes, and knows the hosts.
    pub scheduler: Arc<S>,
    pub unit_of: UnitOf,
    pub clock: Arc<dyn Clock>,
    pub ids: FreshIds,
    pub metrics: CapacityMetrics,
    pub settings: Settings,
}

/// Computes and writes the capacity.
pub struct CapacityController<S> {
    context: Context<S>,
    last_cycle: Mutex<LastCycle>,
}

/// What a cycle leaves for the next one.
#[derive(Debug, Default)]
struct LastCycle {
    ended: Option<Instant>,
    /// The places without hosts or group, if the cycle was complete.
    absent: BTreeSet<Place>,
}

/// The result of a cycle before anything is written.
struct Computed {
    plan: CapacityPlan,
    is_complete: bool,
    /// Why no zone can be read.
    unreadable: Option<Partial>,
}

impl<S: Scheduler> Reconciler for CapacityController<S> {
    const NAME: &'static str = "capacity";
    const OBJECT: ObjectField = ObjectField::Object;
    type Key = CapacityKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<FlavorGroupCapacity>(&[Verb::Get]).because("A capacity of unknown state is read again."),
            Right::kind::<FlavorGroupCapacity>(&[Verb::Create, Verb::Delete])
                .because("There is one for each flavor group and zone."),
            Right::status::<FlavorGroupCapacity>(&[Verb::Patch]).because("What there is of a flavor group in a zone."),
        ]
    }

    fn watches(&self, watches: &mut Watches<CapacityKey>) {
        let Context { capacities, commitments, hypervisors, reservations, pipelines, flavor_groups, .. } =
            &self.context;
        let capacities = capacities.store();
        Watched { capacities, hypervisors, reservations, commitments, pipelines, flavor_groups }.declare(watches);
    }

    fn first_keys(&self) -> Vec<CapacityKey> {
        vec![CapacityKey]
    }

    async fn reconcile(&self, _: CapacityKey) -> Result<Action, Error> {
        let settings = &self.context.settings;
        let ended = self.last_cycle.lock().ended;
        if let Some(rest) = ended.and_then(|ended| settings.least_interval.checked_sub(ended.elapsed()))
            && !rest.is_zero()
        {
            return Ok(Action::RequeueAfter(rest));
        }
        let began = Instant::now();
        let outcome = self.run(began).await;
        self.context.metrics.end_cycle(outcome.is_ok(), began.elapsed());
        self.last_cycle.lock().ended = Some(Instant::now());
        outcome.map(|()| Action::RequeueAfter(settings.interval))
    }
}

impl<S: Scheduler> CapacityController<S> {
    pub fn new(context: Context<S>) -> Self {
        Self { context, last_cycle: Mutex::default() }
    }

    /// What a cycle would write and delete now.
    pub async fn dry_run(&self) -> Result<CapacityPlan, Error> {
        self.compute(Instant::now()).await.map(|computed| computed.plan)
    }

    async fn run(&self, began: Instant) -> Result<(), Error> {
        self.settle_doubts().await;
        let Computed { plan, is_complete, unreadable } = self.compute(began).await?;
        if is_complete {
            self.last_cycle.lock().absent.clone_from(&plan.absent);
        }
        // The probes may have taken long.
        let proofs = if is_complete { self.reader().prove_complete().unwrap_or_default() } else { Vec::new() };
        self.applier().apply(&plan, &proofs).await?;
        unreadable.map_or(Ok(()), |partial| Err(partial.into()))
    }

    /// Objects that stay in doubt are left out of the writes.
    async fn settle_doubts(&self) {
        let capacities = &self.context.capacities;
        let is_followed = |key: &ObjectKey| capacities.store().require_synced(&key.cluster).is_ok();
        if let Err(error) = capacities.settle_doubts(is_followed).await {
            debug!(%error, "capacity still in doubt");
        }
    }

    async fn compute(&self, began: Instant) -> Result<Computed, Error> {
        let groups = self.reader().groups()?;
        let hosts = self.context.scheduler.host_capacities();
        let zones = self.reader().zones(&hosts);
        log_unreadable(&zones);
        let facts = self.facts(groups, &hosts, &zones, began).await;
        let is_complete = facts.is_complete;
        let plan = compute_apart(|| plan(&facts));
        for (zone, left) in &plan.left {
            log_left((zone, zones.readable.get(zone).map_or(&[], Vec::as_slice)), left);
        }
        let unreadable = zones.unreadable.into_values().next().filter(|_| zones.readable.is_empty());
        Ok(Computed { plan, is_complete, unreadable })
    }

    async fn facts(
        &self,
        groups: Arc<FlavorGroups>,
        hosts: &[HostCapacity],
        zones: &KnownZones<'_>,
        began: Instant,
    ) -> CycleFacts {
        let (reader, prober, clock) = (self.reader(), self.prober(began), &self.context.clock);
        let mut known = Vec::new();
        for (zone, hosts) in &zones.readable {
            known.push(zone_facts((zone, hosts), &groups, &prober).await);
        }
        let running = reader.running(hosts, &groups).map_err(|error| error.to_string());
        self.context.metrics.show_running(running.is_ok() || !self.context.vms.is_configured());
        CycleFacts {
            zones: known,
            unreadable: zones.unreadable.iter().map(|(zone, why)| (zone.clone(), why.to_string())).collect(),
            running,
            reserved: reader.reserved(hosts, &groups),
            accepted: reader.accepted(),
            stored: reader.stored(),
            is_complete: zones.is_complete,
            absent_before: self.last_cycle.lock().absent.clone(),
            now: clock.now(),
            trusted_now: clock.trusted_now().ok(),
            groups,
        }
    }

    fn prober(&self, began: Instant) -> Prober<'_, S> {
        let Context { scheduler, settings, metrics, ids, .. } = &self.context;
        let request_id = format!("capacity-{}", ids.fresh());
        Prober { scheduler: &**scheduler, settings, metrics, request_id, deadline: began + settings.interval }
    }

    fn reader(&self) -> Reader<'_> {
        let Context { capacities, commitments, hypervisors, reservations, flavor_groups, vms, routes, unit_of, .. } =
            &self.context;
        let capacities = capacities.store();
        Reader { capacities, hypervisors, reservations, commitments, flavor_groups, vms, routes, unit_of }
    }

    fn applier(&self) -> Applier<'_> {
        Applier { capacities: &self.context.capacities, routes: &self.context.routes }
    }
}

/// Groups without a flavor that has memory cannot be probed.
async fn zone_facts<S: Scheduler>(
    (zone, hosts): (&Zone, &[&HostCapacity]),
    groups: &FlavorGroups,
    prober: &Prober<'_, S>,
) -> ZoneFacts {
    let all: Vec<&FlavorGroup> = groups.iter().filter(|group| group.smallest().is_some()).collect();
    let positions: Positions<'_> = hosts.iter().enumerate().map(|(at, host)| (&host.host.name, at)).collect();
    let answers = prober.probe_zone(zone, &all, &positions).await;
    let places = all.into_iter().zip(answers).map(|(group, probed)| PlaceFacts { group: group.name.clone(), probed });
    let places = places.collect();
    let host = |host: &&HostCapacity| ProbedHost { capacity: host.host.capacity, free: host.free.or_zero() };
    ZoneFacts { zone: zone.clone(), hosts: hosts.iter().map(host).collect(), places }
}

/// A large zone takes long to split, and other tasks of this thread must not wait for it. A runtime that has only this thread
/// cannot give them another one.
fn compute_apart<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => compute(),
        _ => block_in_place(compute),
    }
}

/// The clusters themselves are reported elsewhere.
fn log_unreadable(zones: &KnownZones<'_>) {
    for (zone, why) in &zones.unreadable {
        warn!(zone = zone.as_str(), %why, "capacity of the zone is not computed");
    }
    if zones.unreadable.is_empty() && !zones.is_complete {
        debug!("not all clusters can be read, so capacities of absent zones stay");
    }
}

/// What no group gets, because no slot of any of them fits any more.
fn log_left((zone, hosts): (&Zone, &[&HostCapacity]), left: &[(usize, Resources)]) {
    let sum: Resources = left.iter().map(|(_, left)| *left).sum();
    info!(zone = zone.as_str(), memory = %sum.memory, cores = %sum.cpu, "free capacity that no flavor group gets");
    for (at, left) in left {
        let host = hosts.get(*at).map_or("", |host| host.host.name.as_str());
        debug!(zone = zone.as_str(), host, memory = %left.memory, cores = %left.cpu, "free capacity left on the host");
    }
}
