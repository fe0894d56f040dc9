//! What this program was built from, in a metric of every command that serves metrics.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};

/// The version of the release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit, or `unknown`; the build script finds it out.
pub const REVISION: &str = match option_env!("BERTH_BUILD_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

const BUILD: Metric = Metric {
    name: "berth_build_info",
    kind: Kind::Gauge,
    labels: &["version", "revision"],
    help: "Always 1; the version and the commit that it was built from are in the labels.",
};

/// Registers the metric; once per process.
pub fn register(metrics: &Metrics) -> Result<(), MetricsError> {
    metrics.computed(&BUILD, || vec![(vec![VERSION.to_owned(), REVISION.to_owned()], 1.0)])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn version_and_revision_are_labels() {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        register(&metrics).unwrap();
        let line = format!("berth_build_info{{revision=\"{REVISION}\",version=\"{VERSION}\"}} 1\n");
        let text = metrics.render();
        assert!(text.contains(&line), "{text}");
        let is_commit = REVISION.len() == 40 && REVISION.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_commit || REVISION == "unknown" || option_env!("BERTH_REVISION") == Some(REVISION), "{REVISION}");
    }
}
