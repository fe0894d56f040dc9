//! The service info for Limes: the leader keeps it with its version in the `ConfigMap` `berth-liquid-info`, and every
//! replica serves exactly what is there.

mod error;
mod live;
mod metrics;
mod object;
mod publication;
mod published;
mod publisher;
mod source;
#[cfg(test)]
pub(crate) mod tests;

use berth_cluster::Single;
use k8s_openapi::api::core::v1::ConfigMap;

pub use error::PublishError;
pub use live::LiveCommitments;
pub use metrics::register;
pub use publication::{ConfigurationState, InfoFacts, NextPublication, Publication, plan};
pub use published::{PublishedInfo, follow};
pub use publisher::{InfoPublisher, InfoPublisherParts};
pub use source::InfoSource;

/// The `ConfigMap`.
pub type InfoMap = Single<ConfigMap>;

/// The name of the `ConfigMap`.
pub const NAME: &str = "berth-liquid-info";
