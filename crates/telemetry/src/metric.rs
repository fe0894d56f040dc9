//! How a metric is declared.

/// What kind of number a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Observations sorted into buckets.
    Histogram,
}

/// The declaration of one metric. The crate that owns the metric keeps it as a constant, so that documentation and code
/// can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The full name; ours begin with `berth_`.
    pub name: &'static str,
    /// What kind of number it is.
    pub kind: Kind,
    /// Names of its labels, in the order in which values are given. Values must come from closed sets.
    pub labels: &'static [&'static str],
    /// One sentence for people: what is counted, in which unit.
    pub help: &'static str,
}
