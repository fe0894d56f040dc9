//! The metrics of this crate. Labels are kinds, clusters, controllers and closed sets of outcomes, never names of
//! objects.

use std::sync::Arc;

use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use crate::watch::{Credentials, Recoveries};

/// From a planned no-op to a plan with hundreds of writes.
const SECONDS: &[f64] = &[0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 60.0];

declare_metrics! {
    /// Metrics of controllers.
    pub struct ControllerMetrics {
        pub(crate) runs: IntCounterVec["controller", "outcome"], "berth_controller_runs_total",
            "Reconciliations, by outcome: done, requeued or failed.";
        pub(crate) failures: IntCounterVec["controller", "class"], "berth_controller_failures_total",
            "Failed reconciliations, by class: conflict (decided on outdated facts), transient (something did not answer), permanent (a user must act).";
        pub(crate) duration: HistogramVec["controller"] in SECONDS, "berth_controller_run_duration_seconds",
            "Duration of reconciliations in seconds.";
        pub(crate) backing_off: IntGaugeVec["controller"], "berth_controller_backing_off_objects",
            "Objects whose last reconciliation failed.";
    }
}

declare_metrics! {
    /// Metrics of stores and their watches.
    pub(crate) struct StoreSeries {
        pub(crate) objects: IntGaugeVec["kind", "cluster"], "berth_store_objects",
            "Readable objects in the store.";
        pub(crate) invalid_entry: IntGaugeVec["kind", "cluster"], "berth_store_invalid_objects",
            "Objects whose newest state does not decode.";
        pub(crate) complete: IntGaugeVec["kind", "cluster"], "berth_store_complete",
            "1 if the store shows all objects of the cluster, 0 if it is not synced, its watch fails or objects are invalid.";
        pub(crate) watch_failures: IntCounterVec["kind", "cluster"], "berth_watch_failures_total",
            "Failed lists and watches.";
        pub(crate) in_doubt: IntGaugeVec["kind"], "berth_writes_in_doubt",
            "Objects of which we do not know whether our last write took effect.";
        credentials: IntGaugeVec["cluster"], "berth_cluster_credentials_accepted",
            "1 if the cluster accepts our credentials as far as its watches know, 0 if it does not (401).";
    }
}

declare_metrics! {
    /// Metrics of clusters.
    pub struct ClusterHealthMetrics {
        pub(crate) healthy: IntGaugeVec["cluster"], "berth_cluster_healthy",
            "1 if the cluster answers and has the version, kinds and rights that we need, 0 if not.";
    }
}

declare_metrics! {
    /// Metrics of names that exist in several clusters.
    pub struct ConflictMetrics {
        pub(crate) name_conflicts: IntCounterVec["method", "gvk"], "cortex_multicluster_cross_cluster_name_conflicts_total",
            "Names met in more than one cluster, by method: list (seen by watches) or create (a create was refused).";
    }
}

declare_metrics! {
    /// Metrics of writes, besides names that exist in several clusters.
    pub(crate) struct WriteSeries {
        pub(crate) writes: IntCounterVec["kind", "verb", "outcome"], "berth_writes_total",
            "Writes by outcome: ok, gone, conflict, exists, refused, unavailable, unknown, not_leader.";
    }
}

declare_metrics! {
    /// Metrics of the publisher of events.
    pub struct EventMetrics {
        pub(crate) dropped: IntCounterVec["cause"], "berth_events_dropped_total",
            "Kubernetes events that were not published: queue_full, failed or not_leader.";
    }
}

declare_metrics! {
    /// The metrics of the disruption limit.
    pub struct DisruptionLimitMetrics {
        pub(crate) engaged: IntGaugeVec["zone"], "berth_disruption_limit_reached",
            "1 while the disruption limit holds back a plan for slots of the zone.";
        pub(crate) stopped: IntCounterVec["zone"], "berth_disruption_limit_stopped_total",
            "Plans that the disruption limit has stopped, each counted once until it continues or is given up.";
    }
}

declare_metrics! {
    /// Metrics of the leader election.
    pub struct LeaseMetrics {
        leader: IntGaugeVec[], "berth_leader",
            "1 while this process leads, 0 while it does not.";
        transitions: IntCounterVec[], "berth_leader_transitions_total",
            "Changes of the holder of the lease that this process has seen.";
    }
}

/// Everything that this crate counts.
#[derive(Clone, Debug)]
pub struct ClusterMetrics {
    pub controllers: Arc<ControllerMetrics>,
    pub stores: Arc<StoreMetrics>,
    pub writes: Arc<WriteMetrics>,
    pub events: Arc<EventMetrics>,
    pub cluster_health: Arc<ClusterHealthMetrics>,
    pub conflicts: Arc<ConflictMetrics>,
    pub disruption_limit: Arc<DisruptionLimitMetrics>,
    pub lease: Arc<LeaseMetrics>,
}

/// Metrics of stores and their watches.
#[derive(Debug)]
pub struct StoreMetrics {
    pub(crate) series: StoreSeries,
    pub(crate) credentials: Credentials,
    pub(crate) recoveries: Recoveries,
}

/// Metrics of writers.
#[derive(Debug)]
pub struct WriteMetrics {
    pub(crate) writes: IntCounterVec,
    pub(crate) conflicts: Arc<ConflictMetrics>,
}

impl LeaseMetrics {
    /// Shows whether this process leads. The election calls it; a process without an election must call it itself.
    pub fn leads(&self, leads: bool) {
        self.leader.with_label_values::<&str>(&[]).set(i64::from(leads));
    }

    pub(crate) fn transitions(&self) {
        self.transitions.with_label_values::<&str>(&[]).inc();
    }
}

impl ClusterMetrics {
    /// Registers all metrics of this crate; to be called once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let conflicts = Arc::new(ConflictMetrics::register(metrics)?);
        let series = StoreSeries::register(metrics)?;
        let credentials = Credentials::new(series.credentials.clone());
        Ok(Self {
            controllers: Arc::new(ControllerMetrics::register(metrics)?),
            stores: Arc::new(StoreMetrics { series, credentials, recoveries: Recoveries::default() }),
            writes: Arc::new(WriteMetrics {
                writes: WriteSeries::register(metrics)?.writes,
                conflicts: conflicts.clone(),
            }),
            events: Arc::new(EventMetrics::register(metrics)?),
            cluster_health: Arc::new(ClusterHealthMetrics::register(metrics)?),
            conflicts,
            disruption_limit: Arc::new(DisruptionLimitMetrics::register(metrics)?),
            lease: Arc::new(LeaseMetrics::register(metrics)?),
        })
    }
}
