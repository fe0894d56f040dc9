//! The metrics of this crate, declared once and handed down. Labels are kinds, clusters, controllers and closed sets of
//! outcomes, never names of objects.

use std::sync::Arc;

use berth_telemetry::metrics::{
    Kind::{Counter, Gauge, Histogram},
    Metric, Metrics, MetricsError,
};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use crate::watch::Credentials;

const RUNS: Metric = Metric {
    name: "berth_controller_runs_total",
    kind: Counter,
    labels: &["controller", "outcome"],
    help: "Looks at an object, by outcome: done, again (another look was ordered) or failed.",
};
const FAILURES: Metric = Metric {
    name: "berth_controller_failures_total",
    kind: Counter,
    labels: &["controller", "class"],
    help: "Failed looks, by class: soon (decided on old facts), later (something does not answer), user (somebody must act).",
};
const DURATION: Metric = Metric {
    name: "berth_controller_run_duration_seconds",
    kind: Histogram,
    labels: &["controller"],
    help: "Duration of a look at an object in seconds.",
};
const BACKING_OFF: Metric = Metric {
    name: "berth_controller_backing_off_objects",
    kind: Gauge,
    labels: &["controller"],
    help: "Objects whose last look failed.",
};
const OBJECTS: Metric = Metric {
    name: "berth_store_objects",
    kind: Gauge,
    labels: &["kind", "cluster"],
    help: "Readable objects in the store.",
};
const MALFORMED: Metric = Metric {
    name: "berth_store_malformed_objects",
    kind: Gauge,
    labels: &["kind", "cluster"],
    help: "Objects whose newest state does not decode.",
};
const COMPLETE: Metric = Metric {
    name: "berth_store_complete",
    kind: Gauge,
    labels: &["kind", "cluster"],
    help: "1 if the store shows all objects of the cluster, 0 if it is not synced, its watch fails or objects are malformed.",
};
const WATCH_FAILURES: Metric = Metric {
    name: "berth_watch_failures_total",
    kind: Counter,
    labels: &["kind", "cluster"],
    help: "Failed lists and watches.",
};
const CREDENTIALS: Metric = Metric {
    name: "berth_cluster_credentials_accepted",
    kind: Gauge,
    labels: &["cluster"],
    help: "1 if the cluster accepts our credentials as far as its watches know, 0 if it does not (401).",
};
const FIT: Metric = Metric {
    name: "berth_cluster_fit",
    kind: Gauge,
    labels: &["cluster"],
    help: "1 if the cluster answers and has the version, kinds and rights that we need, 0 if not.",
};
const NAME_CONFLICTS: Metric = Metric {
    name: "cortex_multicluster_cross_cluster_name_conflicts_total",
    kind: Counter,
    labels: &["method", "gvk"],
    help: "Names met in more than one cluster, by method: list (seen by watches) or create (a create was refused).",
};
const WRITES: Metric = Metric {
    name: "berth_writes_total",
    kind: Counter,
    labels: &["kind", "verb", "outcome"],
    help: "Writes by outcome: ok, gone, conflict, exists, refused, unavailable, unknown, not_leader.",
};
const IN_DOUBT: Metric = Metric {
    name: "berth_writes_in_doubt",
    kind: Gauge,
    labels: &["kind"],
    help: "Objects of which we do not know whether our last write took effect.",
};
const EVENTS_DROPPED: Metric = Metric {
    name: "berth_events_dropped_total",
    kind: Counter,
    labels: &["cause"],
    help: "Kubernetes events that were not published: queue_full, failed or not_leader.",
};
const LEADER: Metric =
    Metric { name: "berth_leader", kind: Gauge, labels: &[], help: "1 while this process leads, 0 while it does not." };
const TRANSITIONS: Metric = Metric {
    name: "berth_leader_transitions_total",
    kind: Counter,
    labels: &[],
    help: "Changes of the holder of the lease that this process has seen.",
};

const ENGAGED: Metric = Metric {
    name: "berth_brake_engaged",
    kind: Gauge,
    labels: &["zone"],
    help: "1 while the brake holds back a plan for slots of the zone.",
};
const STOPPED: Metric = Metric {
    name: "berth_brake_stopped_total",
    kind: Counter,
    labels: &["zone"],
    help: "Plans that the brake has stopped, each once until it goes on or is given up.",
};

/// From a planned no-op to a plan with hundreds of writes.
const SECONDS: &[f64] = &[0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 60.0];

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

/// What controllers count.
#[derive(Debug)]
pub struct ControllerMetrics {
    pub(crate) runs: IntCounterVec,
    pub(crate) failures: IntCounterVec,
    pub(crate) duration: HistogramVec,
    pub(crate) backing_off: IntGaugeVec,
}

/// What is shown of stores and their watches.
#[derive(Debug)]
pub struct StoreMetrics {
    pub(crate) objects: IntGaugeVec,
    pub(crate) malformed: IntGaugeVec,
    pub(crate) complete: IntGaugeVec,
    pub(crate) watch_failures: IntCounterVec,
    pub(crate) in_doubt: IntGaugeVec,
    pub(crate) credentials: Credentials,
}

/// What writers count.
#[derive(Debug)]
pub struct WriteMetrics {
    pub(crate) writes: IntCounterVec,
    pub(crate) conflicts: Arc<ConflictMetrics>,
}

/// What is shown of clusters.
#[derive(Debug)]
pub struct FitnessMetrics {
    pub(crate) fit: IntGaugeVec,
}

/// What is counted of names that several clusters have.
#[derive(Debug)]
pub struct ConflictMetrics {
    pub(crate) name_conflicts: IntCounterVec,
}

/// What the publisher of events counts.
#[derive(Debug)]
pub struct EventMetrics {
    pub(crate) dropped: IntCounterVec,
}

/// What the brake counts.
#[derive(Debug)]
pub struct BrakeMetrics {
    pub(crate) engaged: IntGaugeVec,
    pub(crate) stopped: IntCounterVec,
}

/// What the election of a leader shows.
#[derive(Debug)]
pub struct LeaseMetrics {
    leader: IntGaugeVec,
    transitions: IntCounterVec,
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
        let conflicts = Arc::new(ConflictMetrics { name_conflicts: metrics.counter(&NAME_CONFLICTS)? });
        Ok(Self {
            controllers: Arc::new(ControllerMetrics {
                runs: metrics.counter(&RUNS)?,
                failures: metrics.counter(&FAILURES)?,
                duration: metrics.histogram(&DURATION, SECONDS)?,
                backing_off: metrics.gauge(&BACKING_OFF)?,
            }),
            stores: Arc::new(StoreMetrics {
                objects: metrics.gauge(&OBJECTS)?,
                malformed: metrics.gauge(&MALFORMED)?,
                complete: metrics.gauge(&COMPLETE)?,
                watch_failures: metrics.counter(&WATCH_FAILURES)?,
                in_doubt: metrics.gauge(&IN_DOUBT)?,
                credentials: Credentials::new(metrics.gauge(&CREDENTIALS)?),
            }),
            writes: Arc::new(WriteMetrics { writes: metrics.counter(&WRITES)?, conflicts: conflicts.clone() }),
            events: Arc::new(EventMetrics { dropped: metrics.counter(&EVENTS_DROPPED)? }),
            fitness: Arc::new(FitnessMetrics { fit: metrics.gauge(&FIT)? }),
            conflicts,
            brake: Arc::new(BrakeMetrics { engaged: metrics.gauge(&ENGAGED)?, stopped: metrics.counter(&STOPPED)? }),
            lease: Arc::new(LeaseMetrics {
                leader: metrics.gauge(&LEADER)?,
                transitions: metrics.counter(&TRANSITIONS)?,
            }),
        })
    }
}
