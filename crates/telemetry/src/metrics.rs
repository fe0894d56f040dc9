//! The registry behind `/metrics`. Each metric exists once, and `monitoring.labels` are on all of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};

pub use crate::error::TelemetryError as MetricsError;
use crate::gauge_in_pieces::GaugeInPieces;
pub use crate::gauge_in_pieces::SeriesPiece;
pub use crate::metric::{Kind, Metric};

/// The registry of one process. Clones share it.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    constant: Arc<BTreeMap<String, String>>,
    registered: Arc<Mutex<Vec<Metric>>>,
    /// Gauges that are not in the registry, because they have too many series to be gathered at once.
    in_pieces: Arc<Mutex<Vec<GaugeInPieces>>>,
}

impl Metrics {
    /// An empty registry whose metrics all carry `labels`.
    pub fn new(labels: &BTreeMap<String, String>) -> Result<Self, MetricsError> {
        if let Some(name) = labels.keys().find(|name| !is_label_name(name)) {
            return Err(MetricsError::LabelName { name: name.clone() });
        }
        let constant: HashMap<String, String> = labels.clone().into_iter().collect();
        let registry = Registry::new_custom(None, Some(constant))
            .map_err(|source| MetricsError::Metric { metric: "(registry)", source })?;
        let (registered, in_pieces) = (Arc::default(), Arc::default());
        Ok(Self { registry, constant: Arc::new(labels.clone()), registered, in_pieces })
    }

    pub fn counter(&self, metric: &Metric) -> Result<IntCounterVec, MetricsError> {
        self.register(metric, Kind::Counter, IntCounterVec::new(opts(metric), metric.labels))
    }

    pub fn gauge(&self, metric: &Metric) -> Result<IntGaugeVec, MetricsError> {
        self.register(metric, Kind::Gauge, IntGaugeVec::new(opts(metric), metric.labels))
    }

    /// Registers a gauge of fractions, for example seconds.
    pub fn gauge_float(&self, metric: &Metric) -> Result<GaugeVec, MetricsError> {
        self.register(metric, Kind::Gauge, GaugeVec::new(opts(metric), metric.labels))
    }

    /// Registers a histogram; `buckets` are upper bounds in the unit of the metric, ascending.
    pub fn histogram(&self, metric: &Metric, buckets: &[f64]) -> Result<HistogramVec, MetricsError> {
        let opts = HistogramOpts::new(metric.name, metric.help).buckets(buckets.to_vec());
        self.register(metric, Kind::Histogram, HistogramVec::new(opts, metric.labels))
    }

    /// Registers a gauge whose values are computed when they are read: each entry is the label values and the number.
    ///
    /// `f` runs while `/metrics` waits, so it must neither block nor compute for long.
    pub fn computed(
        &self,
        metric: &Metric,
        f: impl Fn() -> Vec<(Vec<String>, f64)> + Send + Sync + 'static,
    ) -> Result<(), MetricsError> {
        let collector = GaugeVec::new(opts(metric), metric.labels).map(|shape| Computed {
            metric: *metric,
            shape: Arc::new(shape),
            values: Arc::new(f),
        });
        self.register(metric, Kind::Gauge, collector).map(drop)
    }

    /// Registers a gauge with many series, for example some for each project. They are read in pieces while the page is sent:
    /// `next_piece` gets the end of the piece before.
    pub fn computed_in_pieces(
        &self,
        metric: &Metric,
        next_piece: impl Fn(Option<&str>) -> SeriesPiece + Send + Sync + 'static,
    ) -> Result<(), MetricsError> {
        let shape = GaugeVec::new(opts(metric), metric.labels);
        // It stays in the registry without values, so that its name is taken.
        self.register(metric, Kind::Gauge, shape)?;
        let constant = self.constant.clone();
        self.in_pieces.lock().push(GaugeInPieces { metric: *metric, constant, next_piece: Arc::new(next_piece) });
        Ok(())
    }

    /// All declarations so far, by name: what the documentation is compared with.
    pub fn registered(&self) -> Vec<Metric> {
        let mut all = self.registered.lock().clone();
        all.sort_by_key(|metric| metric.name);
        all
    }

    /// Everything in the text exposition format. Metrics without a value yet are left out.
    pub fn render(&self) -> String {
        self.pieces().collect()
    }

    /// The same, piece by piece as it is sent.
    pub fn pieces(&self) -> impl Iterator<Item = String> + Send + use<> {
        let families = self.registry.gather().into_iter().map(encode);
        let in_pieces = self.in_pieces.lock().clone();
        families.chain(in_pieces.into_iter().flat_map(GaugeInPieces::pieces))
    }

    fn register<C: Collector + Clone + 'static>(
        &self,
        metric: &Metric,
        kind: Kind,
        collector: prometheus::Result<C>,
    ) -> Result<C, MetricsError> {
        if metric.kind != kind {
            return Err(MetricsError::Kind { metric: metric.name, declared: metric.kind, registered: kind });
        }
        if let Some(label) = metric.labels.iter().find(|label| self.constant.contains_key(**label)) {
            return Err(MetricsError::LabelTaken { label: (*label).to_owned(), metric: metric.name });
        }
        let failed = |source| MetricsError::Metric { metric: metric.name, source };
        let collector = collector.map_err(failed)?;
        self.registry.register(Box::new(collector.clone())).map_err(failed)?;
        self.registered.lock().push(*metric);
        Ok(collector)
    }
}

/// The collectors of one metric, one for each combination of label values.
pub trait Series: Sized {
    const KIND: Kind;

    /// Registers it; `buckets` are those of a histogram, else empty.
    fn register(metrics: &Metrics, metric: &Metric, buckets: &[f64]) -> Result<Self, MetricsError>;
}

impl Series for IntCounterVec {
    const KIND: Kind = Kind::Counter;

    fn register(metrics: &Metrics, metric: &Metric, _: &[f64]) -> Result<Self, MetricsError> {
        metrics.counter(metric)
    }
}

impl Series for IntGaugeVec {
    const KIND: Kind = Kind::Gauge;

    fn register(metrics: &Metrics, metric: &Metric, _: &[f64]) -> Result<Self, MetricsError> {
        metrics.gauge(metric)
    }
}

impl Series for HistogramVec {
    const KIND: Kind = Kind::Histogram;

    fn register(metrics: &Metrics, metric: &Metric, buckets: &[f64]) -> Result<Self, MetricsError> {
        metrics.histogram(metric, buckets)
    }
}

/// Declares metrics as a struct of their collectors: type, labels, buckets of a histogram, name and help of each stand
/// together, and `register` registers all of them.
///
/// ```
/// use berth_telemetry::metrics::Metrics;
/// use prometheus::{HistogramVec, IntCounterVec};
///
/// berth_telemetry::declare_metrics! {
///     /// What a door counts.
///     pub struct DoorMetrics {
///         opened: IntCounterVec["side"], "door_opened_total", "How often the door was opened, by side.";
///         open: HistogramVec[] in &[0.1, 1.0], "door_open_seconds", "How long the door was open, in seconds.";
///     }
/// }
///
/// # fn main() -> Result<(), berth_telemetry::metrics::MetricsError> {
/// let metrics = Metrics::new(&Default::default())?;
/// let door = DoorMetrics::register(&metrics)?;
/// door.opened.with_label_values(&["front"]).inc();
/// door.open.with_label_values::<&str>(&[]).observe(0.5);
/// assert!(metrics.render().contains(r#"door_opened_total{side="front"} 1"#));
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! declare_metrics {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Struct:ident {
            $(
                $(#[$field_meta:meta])*
                $field_vis:vis $field:ident: $Series:ident[$($label:literal),*] $(in $buckets:expr)?, $name:literal,
                $help:literal;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $Struct {
            $($(#[$field_meta])* $field_vis $field: $Series,)*
        }

        impl $Struct {
            /// Registers all of them; once per process.
            $vis fn register(
                metrics: &$crate::metrics::Metrics,
            ) -> Result<Self, $crate::metrics::MetricsError> {
                use $crate::metrics::{Metric, Series};
                Ok(Self {
                    $($field: {
                        let kind = <$Series as Series>::KIND;
                        let metric = Metric { name: $name, kind, labels: &[$($label),*], help: $help };
                        let buckets: &[f64] = &[];
                        $(let buckets: &[f64] = $buckets;)?
                        <$Series as Series>::register(metrics, &metric, buckets)?
                    },)*
                })
            }
        }
    };
}

fn encode(family: MetricFamily) -> String {
    let (name, mut text) = (family.name().to_owned(), String::new());
    if let Err(error) = TextEncoder::new().encode_utf8(&[family], &mut text) {
        tracing::error!(metric = name, error = %error, "metric ignored: not encodable");
    }
    text
}

fn opts(metric: &Metric) -> Opts {
    Opts::new(metric.name, metric.help)
}

fn is_label_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A gauge whose values are computed at each scrape. `shape` provides its description and has no values.
#[derive(Clone)]
struct Computed {
    metric: Metric,
    shape: Arc<GaugeVec>,
    values: Arc<dyn Fn() -> Vec<(Vec<String>, f64)> + Send + Sync>,
}

impl Collector for Computed {
    fn desc(&self) -> Vec<&Desc> {
        self.shape.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(gauge) = GaugeVec::new(opts(&self.metric), self.metric.labels) else { return Vec::new() };
        for (labels, value) in (self.values)() {
            match gauge.get_metric_with_label_values(&labels) {
                Ok(one) => one.set(value),
                Err(error) => {
                    tracing::error!(metric = self.metric.name, error = %error, "value ignored: wrong labels");
                }
            }
        }
        gauge.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: Metric = Metric { name: "runs_total", kind: Kind::Counter, labels: &["outcome"], help: "Runs." };
    const FREE: Metric =
        Metric { name: "free_bytes", kind: Kind::Gauge, labels: &["zone"], help: "Free memory in bytes." };
    const TIME: Metric =
        Metric { name: "run_seconds", kind: Kind::Histogram, labels: &[], help: "Duration of runs in seconds." };

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn constant_labels_are_on_every_sample() {
        let metrics = Metrics::new(&labels(&[("component", "nova-scheduling")])).unwrap();
        metrics.counter(&RUNS).unwrap().with_label_values(&["ok"]).inc();
        let text = metrics.render();
        assert!(text.contains(r#"runs_total{outcome="ok",component="nova-scheduling"} 1"#), "{text}");
    }

    #[test]
    fn computed_gauges_are_asked_at_each_scrape_and_forget_old_label_values() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        let zone = Arc::new(Mutex::new("az-a".to_owned()));
        let shared = zone.clone();
        metrics.computed(&FREE, move || vec![(vec![shared.lock().clone()], 7.0)]).unwrap();
        assert!(metrics.render().contains(r#"free_bytes{zone="az-a"} 7"#));
        *zone.lock() = "az-b".to_owned();
        let text = metrics.render();
        assert!(text.contains(r#"free_bytes{zone="az-b"} 7"#) && !text.contains("az-a"), "{text}");
    }

    #[test]
    fn computed_values_with_the_wrong_number_of_labels_are_left_out() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        metrics.computed(&FREE, || vec![(vec![], 1.0), (vec!["az-a".to_owned()], 2.0)]).unwrap();
        let text = metrics.render();
        assert!(text.contains(r#"free_bytes{zone="az-a"} 2"#) && !text.contains("} 1"), "{text}");
    }

    #[test]
    fn histograms_have_the_buckets_they_were_given() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        metrics.histogram(&TIME, &[0.1, 1.0]).unwrap().with_label_values::<&str>(&[]).observe(0.5);
        let text = metrics.render();
        assert!(text.contains(r#"run_seconds_bucket{le="0.1"} 0"#), "{text}");
        assert!(text.contains(r#"run_seconds_bucket{le="1"} 1"#), "{text}");
    }

    #[test]
    fn what_was_registered_is_known_by_name() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        metrics.counter(&RUNS).unwrap();
        metrics.gauge(&FREE).unwrap();
        assert_eq!(metrics.registered(), [FREE, RUNS]);
    }

    #[test]
    fn a_name_can_be_registered_once() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        metrics.counter(&RUNS).unwrap();
        assert!(matches!(metrics.counter(&RUNS), Err(MetricsError::Metric { metric: "runs_total", .. })));
    }

    #[test]
    fn the_declared_kind_must_be_the_registered_one() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        assert!(matches!(metrics.gauge(&RUNS), Err(MetricsError::Kind { metric: "runs_total", .. })));
        assert!(metrics.registered().is_empty());
    }

    #[test]
    fn constant_labels_must_be_labels_and_must_not_hide_others() {
        assert!(matches!(Metrics::new(&labels(&[("not-a-label", "x")])), Err(MetricsError::LabelName { .. })));
        let metrics = Metrics::new(&labels(&[("outcome", "x")])).unwrap();
        assert!(matches!(metrics.counter(&RUNS), Err(MetricsError::LabelTaken { metric: "runs_total", .. })));
    }
}
