//! Declarations of metrics.

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process lives.
    Counter,
    Gauge,
    Histogram,
}

/// The declaration of one metric. The crate that owns the metric keeps it as a constant, so that documentation and code
/// can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The full name; ours begin with `berth_`.
    pub name: &'static str,
    pub kind: Kind,
    /// Names of its labels, in the order in which values are given. Values must come from closed sets.
    pub labels: &'static [&'static str],
    /// One sentence for users: the counted thing, and its unit.
    pub help: &'static str,
}
