//! Metrics about over-booked hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::{Resources, Zone};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use parking_lot::Mutex;
use prometheus::{IntCounterVec, IntGaugeVec};

const OVERSUBSCRIBED: Metric = Metric {
    name: "cortex_committed_resource_host_oversubscribed",
    kind: Kind::Gauge,
    labels: &["host", "az", "resource"],
    help: "What a host that is ready holds beyond its capacity: memory in bytes, cpu in cores. No series when nothing.",
};

const EVICTED: Metric = Metric {
    name: "cortex_committed_resource_host_oversubscribed_evicted_reservations_total",
    kind: Kind::Counter,
    labels: &["az"],
    help: "Slots that were taken from over-booked hosts.",
};

/// The metrics of the check. Clones share their values.
#[derive(Clone, Debug)]
pub struct OversubscriptionMetrics {
    oversubscribed: IntGaugeVec,
    evicted: IntCounterVec,
    shown: Arc<Mutex<BTreeMap<ObjectKey, Shown>>>,
}

/// The zone under which a host is shown, and its series.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    zone: Zone,
    excess: Resources,
}

impl Shown {
    fn series(&self) -> impl Iterator<Item = (&'static str, i64)> + use<> {
        let all = [("memory", self.excess.memory.get()), ("cpu", self.excess.cpu.get())];
        all.into_iter().filter(|(_, amount)| *amount > 0)
    }
}

impl OversubscriptionMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self {
            oversubscribed: metrics.gauge(&OVERSUBSCRIBED)?,
            evicted: metrics.counter(&EVICTED)?,
            shown: Arc::default(),
        })
    }

    /// Shows by how much a host is over-booked; a resource that is not over-booked has no series.
    pub(super) fn show(&self, host: &ObjectKey, zone: &Zone, excess: Resources) {
        let now = Shown { zone: zone.clone(), excess };
        let mut shown = self.shown.lock();
        if shown.get(host) == Some(&now) {
            return;
        }
        if let Some(before) = shown.remove(host) {
            for (resource, _) in before.series() {
                // Fails only for a series that does not exist.
                let _ = self.oversubscribed.remove_label_values(&[&host.name, before.zone.as_str(), resource]);
            }
        }
        for (resource, amount) in now.series() {
            self.oversubscribed.with_label_values(&[&host.name, zone.as_str(), resource]).set(amount);
        }
        if excess != Resources::ZERO {
            shown.insert(host.clone(), now);
        }
    }

    /// The host is gone or not ready, so its load is unknown.
    pub(super) fn clear(&self, host: &ObjectKey) {
        self.show(host, &Zone::default(), Resources::ZERO);
    }

    /// A slot was taken from a host of this zone.
    pub(super) fn evicted(&self, zone: &Zone) {
        self.evicted.with_label_values(&[zone.as_str()]).inc();
    }
}
