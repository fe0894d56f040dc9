//! What is exported about the source: its age and size, failed reads, and the connection.

use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{IntCounterVec, IntGaugeVec};
use strum::IntoEnumIterator as _;

use crate::error::{FailureKind, VmSourceError};
use crate::listed::Differences;
use crate::source::VmSource;

const CONFIGURED: Metric = Metric {
    name: "berth_vm_source_configured",
    kind: Kind::Gauge,
    labels: &[],
    help: "1 if a database with servers and flavors is configured, else 0: usage is then not known.",
};

const AGE: Metric = Metric {
    name: "berth_vm_source_age_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "Seconds since the snapshot of VMs was current: since the last good read, or since the last copy from Nova if \
           that is older. No series while nothing was read.",
};

const VMS: Metric =
    Metric { name: "berth_vm_source_vms", kind: Kind::Gauge, labels: &[], help: "VMs in the snapshot." };

declare_metrics! {
    /// What the refresher counts. Clones count together.
    pub struct VmSourceMetrics {
        failed_reads: IntCounterVec["reason"], "berth_vm_source_failed_reads_total",
            "Failed reads of servers and flavors, by reason. The former snapshot stays.";
        lacking: IntGaugeVec[], "berth_vm_source_lacking_vms", "VMs that hosts list and the tables do not have.";
        unlisted: IntGaugeVec["zone"], "berth_vms_unlisted",
            "VMs that the tables have and no host lists, by the zone of their rows; unknown if it has no hosts.";
        attempts: IntCounterVec["host", "database"], "cortex_db_connection_attempts_total",
            "Attempts to connect to the database with servers and flavors.";
        max_open: IntGaugeVec["host", "database"], "cortex_db_connections_max_open",
            "Most connections to the database at a time: always 1.";
        open: IntGaugeVec["host", "database"], "cortex_db_connections_open", "Open connections to the database, 0 or 1.";
        in_use: IntGaugeVec["host", "database"], "cortex_db_connections_in_use",
            "Connections to the database that are used at the moment, 0 or 1.";
        idle: IntGaugeVec["host", "database"], "cortex_db_connections_idle",
            "Open connections to the database that are not used at the moment, 0 or 1.";
    }
}

impl VmSourceMetrics {
    /// All of them, with those of the source itself; once per process.
    pub fn register_with(metrics: &Metrics, source: &VmSource) -> Result<Self, MetricsError> {
        let shared = source.clone();
        metrics.computed(&CONFIGURED, move || vec![(vec![], f64::from(u8::from(shared.is_configured())))])?;
        let shared = source.clone();
        metrics.computed(&AGE, move || shared.age().map(|age| (vec![], age.as_secs_f64())).into_iter().collect())?;
        let shared = source.clone();
        metrics
            .computed(&VMS, move || vec![(vec![], shared.last_snapshot().map_or(0.0, |all| count(all.vms().len())))])?;
        let this = Self::register(metrics)?;
        for kind in FailureKind::iter() {
            this.failed_reads.with_label_values(&[kind.as_str()]).inc_by(0);
        }
        Ok(this)
    }

    pub(crate) fn failed(&self, error: &VmSourceError) {
        self.failed_reads.with_label_values(&[error.kind().as_str()]).inc();
    }

    pub(crate) fn compared(&self, differences: &Differences) {
        self.lacks(differences.lacking.len());
        if let Some(unlisted) = &differences.unlisted {
            self.unlisted.reset();
            for (zone, count) in unlisted {
                let count = i64::try_from(*count).unwrap_or(i64::MAX);
                self.unlisted.with_label_values(&[zone.as_str()]).set(count);
            }
        }
    }

    pub(crate) fn lacks(&self, vms: usize) {
        self.lacking.with_label_values::<&str>(&[]).set(i64::try_from(vms).unwrap_or(i64::MAX));
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of VMs are far below 2^53")]
fn count(vms: usize) -> f64 {
    vms as f64
}

/// How the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Closed,
    InUse,
    Idle,
}

/// The metrics of the connection to one database at a time.
#[derive(Debug)]
pub(crate) struct ConnectionMetrics {
    metrics: VmSourceMetrics,
    /// Host and database.
    labels: Option<[String; 2]>,
}

impl ConnectionMetrics {
    pub fn new(metrics: VmSourceMetrics) -> Self {
        Self { metrics, labels: None }
    }

    /// A connection to this database is tried. The series of another one end.
    pub fn attempt(&mut self, host: &str, database: &str) {
        let labels = [host.to_owned(), database.to_owned()];
        if self.labels.as_ref() != Some(&labels) {
            self.gauges().into_iter().for_each(IntGaugeVec::reset);
        }
        self.metrics.attempts.with_label_values(&labels).inc();
        self.labels = Some(labels);
        self.show(ConnectionState::Closed);
    }

    pub fn show(&self, state: ConnectionState) {
        use ConnectionState::{Closed, Idle, InUse};
        let Some(labels) = &self.labels else { return };
        for (gauge, value) in self.gauges().into_iter().zip([true, state != Closed, state == InUse, state == Idle]) {
            gauge.with_label_values(labels).set(value.into());
        }
    }

    fn gauges(&self) -> [&IntGaugeVec; 4] {
        let VmSourceMetrics { max_open, open, in_use, idle, .. } = &self.metrics;
        [max_open, open, in_use, idle]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_connection_is_shown_for_one_database_at_a_time() {
        let registry = Metrics::new(&BTreeMap::new()).unwrap();
        let mut shown = ConnectionMetrics::new(VmSourceMetrics::register(&registry).unwrap());
        shown.show(ConnectionState::Idle);
        assert!(!registry.render().contains("cortex_db_connections_open{"), "no database is known");
        shown.attempt("old", "nova");
        shown.attempt("db", "nova");
        for (state, open, in_use, idle) in
            [(ConnectionState::InUse, 1, 1, 0), (ConnectionState::Idle, 1, 0, 1), (ConnectionState::Closed, 0, 0, 0)]
        {
            shown.show(state);
            let text = registry.render();
            for (name, value) in [("max_open", 1), ("open", open), ("in_use", in_use), ("idle", idle)] {
                let line = format!("cortex_db_connections_{name}{{database=\"nova\",host=\"db\"}} {value}\n");
                assert!(text.contains(&line), "{line}{text}");
            }
            assert!(!text.contains("cortex_db_connections_open{database=\"nova\",host=\"old\"}"));
        }
        assert!(registry.render().contains(r#"cortex_db_connection_attempts_total{database="nova",host="old"} 1"#));
    }
}
