//! Reads every object that the scheduler needs once from all configured clusters, without changing anything. The home
//! cluster must answer; a remote that does not answer is reported as unreadable.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_cluster::{
    Cluster, Clusters, Fence, FlavorGroupsCache, Kind, KnownFlavorGroups, Listed, ReadBy, ReadError, Routes, Store,
    StoreSet as _, WriteError, chain,
};
use berth_core::{ClusterName, CommitmentUuid};
use berth_liquid::info::{self, InfoMap};
use berth_scheduler_api::claims::{self, ClaimMap, ClaimMetrics};
use berth_telemetry::clock::SystemClock;
use berth_telemetry::config::{self, Configuration, Files};
use berth_telemetry::logs::{self, Format, LogOptions};
use berth_telemetry::metrics::Metrics;
use futures::FutureExt as _;
use futures::future::{join_all, try_join};
use serde::Serialize;
use tokio::runtime;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::args::ClusterArguments;
use crate::error::Error;
use crate::operator::{memory_settings, user_agent};
use crate::wiring::{Memory, MemorySettings, claim_keeper};

/// What a command cannot see that does not ask the leader.
pub(super) const UNSEEN: &str = "Not included: decisions of the operator that are not written yet.";

/// The objects of all clusters at one time.
pub(super) struct ClusterSnapshot {
    pub(super) configuration: Configuration,
    pub(super) clusters: Clusters,
    pub(super) routes: Routes,
    pub(super) memory: Memory,
    pub(super) missing: Vec<UnreadableCluster>,
    /// The file that names the home cluster, unless the environment does.
    pub(super) kubeconfig: Option<PathBuf>,
    /// Why the claims that the leader keeps are unknown.
    claims_error: Option<WriteError>,
}

/// A cluster that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct UnreadableCluster {
    pub(super) cluster: String,
    /// The zone whose objects it holds, if it has one.
    pub(super) zone: Option<String>,
    pub(super) why: String,
}

impl UnreadableCluster {
    pub(super) fn line(&self) -> String {
        let zone = self.zone.as_ref().map(|zone| format!(" (zone {zone})")).unwrap_or_default();
        format!("PARTIAL: cluster {}{zone} is missing: {}\n", self.cluster, self.why)
    }
}

pub(super) fn configured(arguments: &ClusterArguments) -> Result<Configuration, Error> {
    let variable = std::env::var("LOG_LEVEL").unwrap_or_else(|_| "warn".to_owned());
    let directives = std::env::var("RUST_LOG").ok();
    logs::init(&LogOptions {
        format: Some(Format::Human),
        variable: Some(variable),
        directives,
        ..LogOptions::default()
    })?;
    let files = Files { config: arguments.config.clone(), secrets: arguments.secrets.clone() };
    let loaded = config::load(&files, arguments.strict_config)?;
    loaded.findings.log();
    Ok(loaded.configuration)
}

/// Reads everything once that the scheduler decides on. The error says why it is not known what projects may use.
pub(super) fn read_snapshot(
    arguments: &ClusterArguments,
    configuration: Configuration,
) -> Result<(ClusterSnapshot, Option<ReadError>), Error> {
    limit_time(async {
        let snapshot = read_clusters(arguments, configuration, ReadBy::Scheduler).await?;
        let budgets = snapshot.read_budgets().await;
        Ok((snapshot, budgets.err()))
    })
}

pub(super) fn limit_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    runtime.block_on(work)
}

/// Goes to all clusters and reads everything once.
pub(super) async fn read_clusters(
    arguments: &ClusterArguments,
    configuration: Configuration,
    by: ReadBy,
) -> Result<ClusterSnapshot, Error> {
    let agent = user_agent(&configuration);
    let kubeconfig = arguments.kubeconfig.as_deref();
    let clusters = Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers, None).await?;
    let snapshot = ClusterSnapshot::read(clusters, configuration, by).await?;
    Ok(ClusterSnapshot { kubeconfig: arguments.kubeconfig.clone(), ..snapshot })
}

/// The settings of the operator, but without shuffling, so that the output shows the order of the weights.
fn settings(configuration: &Configuration) -> MemorySettings {
    let mut settings = memory_settings(configuration);
    settings.scheduler.answers.shuffle_first = 0;
    settings.vms.report_failure("this command does not read the database of VMs");
    settings
}

/// Fills the stores from every cluster that can be read as a whole; the others are missing. Part of a cluster would be
/// worse: hosts without their reservations seem free.
async fn fill(
    clusters: &Clusters,
    routes: &Routes,
    memory: &Memory,
    configuration: &Configuration,
    by: ReadBy,
) -> Result<Vec<UnreadableCluster>, Error> {
    let zones = configuration.api_servers.remotes.iter().map(|remote| remote.zone().map(str::to_owned)).chain([None]);
    let reading = clusters.iter().map(|cluster| memory.stores.read_once(cluster, routes, by));
    let mut missing = Vec::new();
    for ((cluster, zone), contents) in clusters.iter().zip(zones).zip(join_all(reading).await) {
        match contents {
            Ok(contents) => contents.fill(),
            Err(error) if cluster.name == ClusterName::home() => return Err(error.into()),
            Err(ReadError { cluster, kind, why, .. }) => {
                let why = format!("{kind}: {why}");
                memory.stores.leave_out(&cluster, routes, &why);
                missing.push(UnreadableCluster { cluster: cluster.to_string(), zone, why });
            }
        }
    }
    Ok(missing)
}

/// Lets the claims that the leader keeps count here as well.
async fn load_claims(clusters: &Clusters, memory: &Memory, configuration: &Configuration) -> Result<(), WriteError> {
    let (map, unsearched) = ClaimMap::find(clusters, claims::NAME).await;
    let map = map.fenced(Fence::closed());
    let registry = Metrics::new(&BTreeMap::new()).and_then(|metrics| ClaimMetrics::register(&metrics));
    let Ok(metrics) = registry else { return Ok(()) };
    claim_keeper(memory, map.clone(), Arc::new(SystemClock), &configuration.scheduler, metrics).load().await?;
    map.or_unsearched(unsearched)
}

impl ClusterSnapshot {
    /// Reads everything once.
    pub(super) async fn read(clusters: Clusters, configuration: Configuration, by: ReadBy) -> Result<Self, Error> {
        let routes = Routes::new(&configuration.api_servers);
        let memory = Memory::new(settings(&configuration), &routes);
        let missing = fill(&clusters, &routes, &memory, &configuration, by).await?;
        let claims_error = load_claims(&clusters, &memory, &configuration).await.err();
        Ok(Self { configuration, clusters, routes, memory, missing, kubeconfig: None, claims_error })
    }

    /// Reads what projects may use. Only `berth schedule` needs it, and its user may lack the right.
    pub(super) async fn read_budgets(&self) -> Result<(), ReadError> {
        let stores = &self.memory.stores;
        try_join(self.read_all(&stores.commitments), self.read_all(&stores.quotas)).await.map(drop)
    }

    /// Reads the quotas. Only `berth explain zone` needs them alone, and its user may lack the right.
    pub(super) async fn read_quotas(&self) -> Result<(), ReadError> {
        self.read_all(&self.memory.stores.quotas).await
    }

    /// Reads the service info that Limes was told. Only `berth explain zone` needs it, and its user may lack the right.
    pub(super) async fn read_published_info(&self) -> Result<(), WriteError> {
        let (map, unsearched) = InfoMap::find(&self.clusters, info::NAME).await;
        let map = map.fenced(Fence::closed());
        map.read().await?;
        map.or_unsearched(unsearched)?;
        // Its first turn takes what was read, and nothing comes after that.
        let _ = info::follow(map, self.memory.published_info.clone(), CancellationToken::new()).now_or_never();
        Ok(())
    }

    async fn read_all<K: Kind>(&self, store: &Store<K>) -> Result<(), ReadError> {
        let is_missing = |name: &ClusterName| self.missing.iter().any(|missing| missing.cluster == name.as_str());
        for cluster in self.clusters.iter() {
            if self.routes.serves::<K>(&cluster.name) && !is_missing(&cluster.name) {
                Listed::read(cluster).await?.fill(store);
            }
        }
        Ok(())
    }

    pub(super) fn warn_of_unknown_claims(&self) {
        if let Some(error) = &self.claims_error {
            warn!(error = chain(error), "the claims of VMs that have not appeared yet are unknown");
        }
    }

    /// The flavor groups, if they can be read.
    pub(super) fn flavor_groups(&self) -> Result<KnownFlavorGroups, berth_cluster::FlavorGroupsError> {
        FlavorGroupsCache::new(self.memory.stores.knowledges.clone()).get()
    }

    /// The name of the object of a commitment, or the UUID where there is none.
    pub(super) fn commitment_name(&self, uuid: &CommitmentUuid) -> String {
        let found = self.memory.stores.commitments.select(&COMMITMENT_BY_UUID, uuid.as_str());
        found.first().map_or_else(|| uuid.to_string(), |entry| entry.key.name.to_string())
    }

    /// The end of a text about an unknown name: it may be that of an object that could not be read.
    pub(super) fn unread_clusters(&self) -> String {
        let clusters: Vec<_> = self.missing.iter().map(|missing| missing.cluster.as_str()).collect();
        if clusters.is_empty() {
            String::new()
        } else {
            format!("; could not be read: cluster {}", clusters.join(", cluster "))
        }
    }

    pub(super) fn heading(missing: &[UnreadableCluster]) -> String {
        missing.iter().map(UnreadableCluster::line).collect()
    }
}
