//! Registers all metrics of the operator in one place, so that a test can compare the documentation with them.

use std::sync::Arc;

use berth_capacity::CapacityMetrics;
use berth_cluster::{ClusterMetrics, Routes};
use berth_committed_resource::{CommitmentMetrics, orphans};
use berth_http::metrics::HttpMetrics;
use berth_limes_syncer::SyncMetrics;
use berth_liquid::changes::ChangeMetrics;
use berth_liquid::info;
use berth_liquid::server::LiquidMetrics;
use berth_openstack::TokenMetrics;
use berth_quota::QuotaMetrics;
use berth_reservation::ReservationMetrics;
use berth_reservation::in_flight::InFlightMetrics;
use berth_reservation::oversubscription::OversubscriptionMetrics;
use berth_scheduler::BuiltIn;
use berth_scheduler_api::claims::ClaimMetrics;
use berth_scheduler_api::history::{HistoryMetrics, RetentionMetrics};
use berth_scheduler_api::metrics::ApiMetrics;
use berth_scheduler_api::tracking::BookingMetrics;
use berth_telemetry::clock::{Clock as _, SystemClock};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use berth_usage::UsageMetrics;
use berth_vm_source::VmSourceMetrics;

use super::background_tasks::BackgroundTaskMetrics;
use super::{Memory, MemorySettings};
use crate::build_info;
use crate::watchdog::InvariantMetrics;

const WAITING: Metric = Metric {
    name: "berth_scheduler_waiting_slots",
    kind: Kind::Gauge,
    labels: &[],
    help: "Slots that wait for a host because nothing fits.",
};

const ASSUMED: Metric = Metric {
    name: "berth_scheduler_assumed_slots",
    kind: Kind::Gauge,
    labels: &["state"],
    help: "Slots whose host is decided and not yet seen, by state: pending (the write is under way) or in_doubt (its \
           outcome is unknown).",
};

const CLAIMED: Metric = Metric {
    name: "berth_scheduler_claims",
    kind: Kind::Gauge,
    labels: &[],
    help: "Answers to requests from outside whose VM or slot is not observed yet; their capacity is kept.",
};

const DISPLACED: Metric = Metric {
    name: "berth_scheduler_displaced_hosts",
    kind: Kind::Gauge,
    labels: &[],
    help: "How often a host replaced one of the same name in another cluster.",
};

const FLAVOR_GROUPS_AGE: Metric = Metric {
    name: "berth_flavor_groups_age_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "How long the flavor groups could not be taken from their Knowledge object; 0 while they are up to date. New \
           and growing commitments wait.",
};

const CLOCK_SKEW: Metric = Metric {
    name: "berth_clock_skew_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "By how much the clock of this process is ahead of that of the home API server. Above a minute in either \
           direction nothing ends because of a time.",
};

/// The metrics of all parts of the operator.
pub struct OperatorMetrics {
    pub cluster: ClusterMetrics,
    pub http: HttpMetrics,
    pub commitments: CommitmentMetrics,
    pub changes: ChangeMetrics,
    pub reservations: ReservationMetrics,
    pub oversubscription: OversubscriptionMetrics,
    pub in_flight: InFlightMetrics,
    pub invariants: InvariantMetrics,
    pub api: ApiMetrics,
    pub bookings: BookingMetrics,
    pub histories: HistoryMetrics,
    pub history_deletions: RetentionMetrics,
    pub claims: ClaimMetrics,
    pub liquid: LiquidMetrics,
    pub tokens: TokenMetrics,
    pub syncer: SyncMetrics,
    pub usage: UsageMetrics,
    pub quota: QuotaMetrics,
    pub capacity: CapacityMetrics,
    pub background_tasks: BackgroundTaskMetrics,
    pub vms: VmSourceMetrics,
}

impl OperatorMetrics {
    /// Registers everything; once per process.
    pub fn register(metrics: &Metrics, memory: &Memory) -> Result<Self, MetricsError> {
        let Memory { stores, scheduler, pipelines, flavor_groups, skew, vms, .. } = memory;
        build_info::register(metrics)?;
        scheduler_metrics(metrics, scheduler)?;
        pipelines.register(metrics)?;
        let shared = flavor_groups.clone();
        let age = move || shared.problem().map_or(0.0, |problem| problem.age.as_secs_f64());
        metrics.computed(&FLAVOR_GROUPS_AGE, move || vec![(vec![], age())])?;
        let skew = skew.clone();
        let ahead = move || skew.of(SystemClock.now()).map(|ahead| ahead.as_secs_f64());
        metrics.computed(&CLOCK_SKEW, move || ahead().map(|ahead| (vec![], ahead)).into_iter().collect())?;
        info::register(metrics, &memory.service_info, &memory.published_info)?;
        orphans::register(metrics, stores.commitments.clone(), stores.reservations.clone())?;
        Ok(Self {
            cluster: ClusterMetrics::register(metrics)?,
            http: HttpMetrics::register(metrics)?,
            commitments: CommitmentMetrics::register(metrics, stores.commitments.clone())?,
            changes: ChangeMetrics::register(metrics, stores.changes.clone())?,
            reservations: ReservationMetrics::register(metrics, &stores.reservations)?,
            oversubscription: OversubscriptionMetrics::register(metrics)?,
            in_flight: InFlightMetrics::register(metrics)?,
            invariants: InvariantMetrics::register(metrics)?,
            api: ApiMetrics::register(metrics, scheduler)?,
            bookings: BookingMetrics::register(metrics)?,
            histories: HistoryMetrics::register(metrics)?,
            history_deletions: RetentionMetrics::register(metrics)?,
            claims: ClaimMetrics::register(metrics)?,
            liquid: LiquidMetrics::register(metrics)?,
            tokens: TokenMetrics::register(metrics)?,
            syncer: SyncMetrics::register(metrics)?,
            usage: UsageMetrics::register(metrics)?,
            quota: QuotaMetrics::register(metrics)?,
            capacity: CapacityMetrics::register(
                metrics,
                &stores.capacities,
                (Arc::new(SystemClock), memory.capacity_max_age),
            )?,
            background_tasks: BackgroundTaskMetrics::register(metrics)?,
            vms: VmSourceMetrics::register_with(metrics, vms)?,
        })
    }

    /// Everything that an operator shows, for the documentation.
    pub fn all() -> Result<Vec<Metric>, MetricsError> {
        let metrics = Metrics::new(&std::collections::BTreeMap::new())?;
        Self::register(&metrics, &Memory::new(MemorySettings::default(), &Routes::home_only()))?;
        Ok(metrics.registered())
    }
}

fn scheduler_metrics(metrics: &Metrics, scheduler: &Arc<BuiltIn>) -> Result<(), MetricsError> {
    let shared = scheduler.clone();
    metrics.computed(&WAITING, move || vec![(vec![], count(shared.waiting_slots().len()))])?;
    let shared = scheduler.clone();
    metrics.computed(&ASSUMED, move || {
        let doubted = shared.doubts().len();
        let pending = shared.assumed().saturating_sub(doubted);
        vec![(vec!["pending".to_owned()], count(pending)), (vec!["in_doubt".to_owned()], count(doubted))]
    })?;
    let shared = scheduler.clone();
    metrics.computed(&CLAIMED, move || vec![(vec![], count(shared.claimed()))])?;
    let shared = scheduler.clone();
    metrics.computed(&DISPLACED, move || vec![(vec![], count(shared.displaced().try_into().unwrap_or(usize::MAX)))])
}

#[expect(clippy::cast_precision_loss, reason = "counts of objects are far below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}
