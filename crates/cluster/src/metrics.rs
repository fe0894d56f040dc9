//! The metrics of this crate, declared once and handed down. Labels are kinds, clusters, controllers and closed sets of
//! outcomes, never names of objects.

use std::sync::Arc;

use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use crate::watch::Credentials;

/// From a planned no-op to a plan with hundreds of writes.
const SECONDS: &[f64] = &[0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 60.0];

declare_metrics! {
    /// What controllers count.
    pub struct ControllerMetrics {
        pub(crate) runs: IntCounterVec["controller", "outcome"], "berth_controller_runs_total",
            "Looks at an object, by outcome: done, again (another look was ordered) or failed.";
        pub(crate) failures: IntCounterVec["controller", "class"], "berth_controller_failures_total",
            "Failed looks, by class: soon (decided on old facts), later (something does not answer), user (somebody must act).";
        pub(crate) duration: HistogramVec["controller"] in SECONDS, "berth_controller_run_duration_seconds",
            "Duration of a look at an object in seconds.";
        pub(crate) backing_off: IntGaugeVec["controller"], "berth_controller_backing_off_objects",
            "Objects whose last look failed.";
    }
}

declare_metrics! {
    /// What is shown of stores and their watches.
    pub(crate) struct StoreSeries {
        pub(crate) objects: IntGaugeVec["kind", "cluster"], "berth_store_objects",
            "Readable objects in the store.";
        pub(crate) malformed: IntGaugeVec["kind", "cluster"], "berth_store_malformed_objects",
            "Objects whose newest state does not decode.";
        pub(crate) complete: IntGaugeVec["kind", "cluster"], "berth_store_complete",
            "1 if the store shows all objects of the cluster, 0 if it is not synced, its watch fails or objects are malformed.";
        pub(crate) watch_failures: IntCounterVec["kind", "cluster"], "berth_watch_failures_total",
            "Failed lists and watches.";
        pub(crate) in_doubt: IntGaugeVec["kind"], "berth_writes_in_doubt",
            "Objects of which we do not know whether our last write took effect.";
        credentials: IntGaugeVec["cluster"], "berth_cluster_credentials_accepted",
            "1 if the cluster accepts our credentials as far as its watches know, 0 if it does not (401).";
    }
}

declare_metrics! {
    /// What is shown of clusters.
    pub struct FitnessMetrics {
        pub(crate) fit: IntGaugeVec["cluster"], "berth_cluster_fit",
            "1 if the cluster answers and has the version, kinds and rights that we need, 0 if not.";
    }
}

declare_metrics! {
    /// What is counted of names that several clusters have.
    pub struct ConflictMetrics {
        pub(crate) name_conflicts: IntCounterVec["method", "gvk"], "cortex_multicluster_cross_cluster_name_conflicts_total",
            "Names met in more than one cluster, by method: list (seen by watches) or create (a create was refused).";
    }
}

declare_metrics! {
    /// What is counted of writes, besides names that several clusters have.
    pub(crate) struct WriteSeries {
        pub(crate) writes: IntCounterVec["kind", "verb", "outcome"], "berth_writes_total",
            "Writes by outcome: ok, gone, conflict, exists, refused, unavailable, unknown, not_leader.";
    }
}

declare_metrics! {
    /// What the publisher of events counts.
    pub struct EventMetrics {
        pub(crate) dropped: IntCounterVec["cause"], "berth_events_dropped_total",
            "Kubernetes events that were not published: queue_full, failed or not_leader.";
    }
}

declare_metrics! {
    /// What the brake counts.
    pub struct BrakeMetrics {
        pub(crate) engaged: IntGaugeVec["zone"], "berth_brake_engaged",
            "1 while the brake holds back a plan for slots of the zone.";
        pub(crate) stopped: IntCounterVec["zone"], "berth_brake_stopped_total",
            "Plans that the brake has stopped, each once until it goes on or is given up.";
    }
}

declare_metrics! {
    /// What the election of a leader shows.
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
    /// For [`crate::Manager`].
    pub controllers: Arc<ControllerMetrics>,
    /// For [`crate::feed`].
    pub stores: Arc<StoreMetrics>,
    /// For [`crate::Writer`].
    pub writes: Arc<WriteMetrics>,
    /// For [`crate::Events`].
    pub events: Arc<EventMetrics>,
    /// For [`crate::Fitness`].
    pub fitness: Arc<FitnessMetrics>,
    /// For [`crate::watch_conflicts`].
    pub conflicts: Arc<ConflictMetrics>,
    /// For [`crate::Brake`].
    pub brake: Arc<BrakeMetrics>,
    /// For [`crate::Election`].
    pub lease: Arc<LeaseMetrics>,
}

/// What is shown of stores and their watches.
#[derive(Debug)]
pub struct StoreMetrics {
    pub(crate) series: StoreSeries,
    pub(crate) credentials: Credentials,
}

/// What writers count.
#[derive(Debug)]
pub struct WriteMetrics {
    pub(crate) writes: IntCounterVec,
    pub(crate) conflicts: Arc<ConflictMetrics>,
}

impl LeaseMetrics {
    /// Shows whether this process leads. The election does it; only a process without one has to.
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
            stores: Arc::new(StoreMetrics { series, credentials }),
            writes: Arc::new(WriteMetrics {
                writes: WriteSeries::register(metrics)?.writes,
                conflicts: conflicts.clone(),
            }),
            events: Arc::new(EventMetrics::register(metrics)?),
            fitness: Arc::new(FitnessMetrics::register(metrics)?),
            conflicts,
            brake: Arc::new(BrakeMetrics::register(metrics)?),
            lease: Arc::new(LeaseMetrics::register(metrics)?),
        })
    }
}
