//! The claims of answers survive the process: the leader keeps them in the `ConfigMap` `berth-claims`, and the next
//! leader reads it before it decides anything.

mod keeper;
mod metrics;
mod object;
#[cfg(test)]
mod tests;

use berth_cluster::Single;
use k8s_openapi::api::core::v1::ConfigMap;

pub use keeper::{ClaimKeeper, ClaimKeeperParts};
pub use metrics::ClaimMetrics;

/// The `ConfigMap`.
pub type ClaimMap = Single<ConfigMap>;

/// The name of the `ConfigMap`.
pub const NAME: &str = "berth-claims";
