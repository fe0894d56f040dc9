//! Which clusters hold the objects of a kind, and into which one an object belongs, by configuration alone.

use std::sync::Arc;

use berth_core::ClusterName;
use berth_telemetry::config::{self, ApiServers};
use thiserror::Error;

use crate::gvk::{gvk, printed};
use crate::names::names;
use crate::{Classified, ErrorClass, Kind};

/// Which cluster serves what. Clones share it.
#[derive(Clone, Debug)]
pub struct Routes {
    table: Arc<Table>,
}

#[derive(Debug)]
struct Table {
    servers: ApiServers,
    /// The names of the remotes, in the order of the configuration.
    names: Vec<ClusterName>,
}

/// No cluster serves the kind or zone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    #[error("gvk {gvk} is not configured in home or any remote cluster")]
    NotConfigured { gvk: String },
    /// Remotes serve a kind whose objects have no zone.
    #[error("no ResourceRouter configured for GVK {gvk} with {remotes} remote clusters")]
    NoRouter { gvk: String, remotes: usize },
    /// The zone of the object or that of a remote is missing.
    #[error("resource router match error for GVK {gvk}: {reason}")]
    Unmatchable { gvk: String, reason: String },
    /// No cluster serves the kind for this zone.
    #[error("no cluster matched for GVK {gvk}: cluster selector {zone:?} did not match any candidate")]
    NoClusterMatched {
        gvk: String,
        /// The zone of the object; empty if no cluster serves the kind at all.
        zone: String,
    },
}

impl RouteError {
    /// True if the zone is simply not served here, which some callers pass over.
    pub fn is_no_cluster_matched(&self) -> bool {
        matches!(self, Self::NoClusterMatched { .. })
    }
}

impl Classified for RouteError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Permanent
    }
}

impl Default for Routes {
    fn default() -> Self {
        Self::home_only()
    }
}

impl Routes {
    pub fn home_only() -> Self {
        Self::new(&ApiServers::default())
    }

    pub fn new(servers: &ApiServers) -> Self {
        Self { table: Arc::new(Table { names: names(servers), servers: servers.clone() }) }
    }

    /// All clusters: the remotes in the order of the configuration, then home.
    pub fn names(&self) -> Vec<ClusterName> {
        self.table.names.iter().cloned().chain([ClusterName::home()]).collect()
    }

    /// The clusters that serve a kind: the remotes in the order of the configuration, then home.
    pub fn clusters<K: Kind>(&self) -> Result<Vec<ClusterName>, RouteError> {
        self.table.clusters(&gvk::<K>())
    }

    pub fn serves<K: Kind>(&self, cluster: &ClusterName) -> bool {
        self.serves_kind(&gvk::<K>(), cluster)
    }

    /// The same of a kind that is known by its name only.
    pub(crate) fn serves_kind(&self, kind: &config::Kind, cluster: &ClusterName) -> bool {
        self.table.clusters(kind).is_ok_and(|all| all.contains(cluster))
    }

    /// The cluster that an object with this availability zone belongs to. An empty zone means no zone.
    pub fn target<K: Kind>(&self, zone: Option<&str>) -> Result<ClusterName, RouteError> {
        self.table.target(&gvk::<K>(), zone.filter(|zone| !zone.is_empty()))
    }
}

impl Table {
    fn clusters(&self, kind: &config::Kind) -> Result<Vec<ClusterName>, RouteError> {
        let remotes = self.remotes(kind).map(|(name, _)| name.clone());
        let all: Vec<_> = remotes.chain(self.home(kind)).collect();
        if all.is_empty() { Err(RouteError::NotConfigured { gvk: printed(kind) }) } else { Ok(all) }
    }

    fn target(&self, kind: &config::Kind, zone: Option<&str>) -> Result<ClusterName, RouteError> {
        let remotes = self.remotes(kind).count();
        let by_zone = match (remotes, kind.is_routed()) {
            (0, _) => None,
            (_, true) => self.remote_of(kind, zone)?,
            (_, false) => return Err(RouteError::NoRouter { gvk: printed(kind), remotes }),
        };
        let selector = if remotes == 0 { "" } else { zone.unwrap_or_default() };
        let no_match = || RouteError::NoClusterMatched { gvk: printed(kind), zone: selector.to_owned() };
        by_zone.or_else(|| self.home(kind)).ok_or_else(no_match)
    }

    fn remote_of(&self, kind: &config::Kind, zone: Option<&str>) -> Result<Option<ClusterName>, RouteError> {
        let unmatchable = |reason| RouteError::Unmatchable { gvk: printed(kind), reason };
        let zone = zone.ok_or_else(|| unmatchable(without_zone(kind)))?;
        for (name, remote) in self.remotes(kind) {
            if remote.zone().ok_or_else(|| unmatchable(without_label(kind)))? == zone {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    fn remotes(&self, kind: &config::Kind) -> impl Iterator<Item = (&ClusterName, &config::Remote)> {
        self.names.iter().zip(&self.servers.remotes).filter(move |(_, remote)| remote.serves(kind))
    }

    fn home(&self, kind: &config::Kind) -> Option<ClusterName> {
        self.servers.home_serves(kind).then(ClusterName::home)
    }
}

/// The reason when an object has no zone.
fn without_zone(kind: &config::Kind) -> String {
    let thing = match kind.kind.as_str() {
        "Hypervisor" => return "hypervisor does not have availability zone label".to_owned(),
        "Reservation" => "reservation",
        "CommittedResource" => "committed resource",
        "FlavorGroupCapacity" => "flavor group capacity",
        "ProjectQuota" => "project quota",
        "History" => "history",
        other => other,
    };
    format!("{thing} does not have availability zone in spec")
}

/// The reason when a remote has no zone. The configuration refuses such remotes.
fn without_label(kind: &config::Kind) -> String {
    let label = if kind.kind == "Reservation" { "availability zone" } else { config::ZONE_LABEL };
    format!("cluster does not have {label} label")
}

#[cfg(test)]
mod tests;
