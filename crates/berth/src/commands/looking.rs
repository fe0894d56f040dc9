//! One look at all clusters of the configuration, without changing anything: every object that the scheduler needs is read
//! once and put where the operator would put it. It decides what happens when a cluster does not answer: nothing works
//! without home, a remote is named as missing.

use berth_cluster::{Cluster, Clusters, FlavorGroupsCache, Kind, KnownFlavorGroups, Listed, ReadError, Routes, Store};
use berth_core::ClusterName;
use berth_crds::{Hypervisor, Knowledge, Pipeline, Reservation};
use berth_telemetry::{
    config::{self, Configuration, Files},
    logs::{self, Format, Wanted},
};
use futures::future::join_all;
use serde::Serialize;
use tokio::{runtime, try_join};

use crate::{
    args::ClusterArguments,
    assembly::{Memory, MemorySettings},
    error::Error,
    operator::{memory_settings, user_agent},
};

/// What is known only to the operator, as a line for people.
pub(super) const UNSEEN: &str = "Not seen: what the operator has decided within the last seconds and not written yet.";

/// What there was.
pub(super) struct Look {
    pub(super) configuration: Configuration,
    /// The stores and the scheduler, filled.
    pub(super) memory: Memory,
    /// The clusters that could not be read.
    pub(super) missing: Vec<Missing>,
}

/// A cluster that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Missing {
    pub(super) cluster: String,
    /// The zone whose objects it holds, if it has one.
    pub(super) zone: Option<String>,
    pub(super) why: String,
}

impl Missing {
    /// A line above everything else.
    pub(super) fn line(&self) -> String {
        let zone = self.zone.as_ref().map(|zone| format!(" (zone {zone})")).unwrap_or_default();
        format!("PARTIAL: cluster {}{zone} is missing: {}\n", self.cluster, self.why)
    }
}

/// The configuration, with warnings told.
pub(super) fn configured(arguments: &ClusterArguments) -> Result<Configuration, Error> {
    let variable = std::env::var("LOG_LEVEL").unwrap_or_else(|_| "warn".to_owned());
    let directives = std::env::var("RUST_LOG").ok();
    logs::init(&Wanted { format: Some(Format::Human), variable: Some(variable), directives, ..Wanted::default() })?;
    let files = Files { config: arguments.config.clone(), secrets: arguments.secrets.clone() };
    let loaded = config::load(&files, arguments.strict_config)?;
    loaded.findings.log();
    Ok(loaded.configuration)
}

/// Reads everything once.
pub(super) fn look(arguments: &ClusterArguments, configuration: Configuration) -> Result<Look, Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    runtime.block_on(look_around(arguments, configuration))
}

async fn look_around(arguments: &ClusterArguments, configuration: Configuration) -> Result<Look, Error> {
    let routes = Routes::new(&configuration.api_servers);
    let memory = Memory::new(settings(&configuration), &routes);
    let agent = user_agent(&configuration);
    let kubeconfig = arguments.kubeconfig.as_deref();
    let clusters = Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers).await?;
    let missing = fill(&clusters, &routes, &memory, &configuration).await?;
    Ok(Look { configuration, memory, missing })
}

/// Those of the operator, but nothing is shuffled: people want to see the order of the weights.
fn settings(configuration: &Configuration) -> MemorySettings {
    let mut settings = memory_settings(configuration);
    settings.scheduler.answers.shuffle_first = 0;
    settings
}

/// Fills the stores from every cluster that can be read as a whole; the others are missing. Part of a cluster would be
/// worse: hosts without their reservations look free.
async fn fill(
    clusters: &Clusters,
    routes: &Routes,
    memory: &Memory,
    configuration: &Configuration,
) -> Result<Vec<Missing>, Error> {
    let zones = configuration.api_servers.remotes.iter().map(|remote| remote.zone().map(str::to_owned)).chain([None]);
    let reading = clusters.iter().map(|cluster| Contents::read(cluster, routes));
    let mut missing = Vec::new();
    for ((cluster, zone), contents) in clusters.iter().zip(zones).zip(join_all(reading).await) {
        match contents {
            Ok(contents) => contents.fill(memory),
            Err(error) if cluster.name == ClusterName::home() => return Err(error.into()),
            Err(ReadError { cluster, kind, why, .. }) => {
                missing.push(Missing { cluster: cluster.to_string(), zone, why: format!("{kind}: {why}") });
            }
        }
    }
    Ok(missing)
}

/// Everything of one cluster.
struct Contents {
    hosts: Option<Listed<Hypervisor>>,
    reservations: Option<Listed<Reservation>>,
    knowledges: Option<Listed<Knowledge>>,
    pipelines: Option<Listed<Pipeline>>,
}

impl Contents {
    async fn read(cluster: &Cluster, routes: &Routes) -> Result<Self, ReadError> {
        let (hosts, reservations, knowledges, pipelines) = try_join!(
            one::<Hypervisor>(cluster, routes),
            one::<Reservation>(cluster, routes),
            one::<Knowledge>(cluster, routes),
            optional(one::<Pipeline>(cluster, routes)),
        )?;
        Ok(Self { hosts, reservations, knowledges, pipelines })
    }

    fn fill(self, memory: &Memory) {
        let stores = &memory.stores;
        into(self.pipelines, &stores.pipelines);
        into(self.knowledges, &stores.knowledges);
        into(self.hosts, &stores.hypervisors);
        into(self.reservations, &stores.reservations);
    }
}

async fn one<K: Kind>(cluster: &Cluster, routes: &Routes) -> Result<Option<Listed<K>>, ReadError> {
    if routes.serves::<K>(&cluster.name) { Listed::read(cluster).await.map(Some) } else { Ok(None) }
}

/// A kind that need not be installed.
async fn optional<K>(
    reading: impl Future<Output = Result<Option<Listed<K>>, ReadError>>,
) -> Result<Option<Listed<K>>, ReadError> {
    match reading.await {
        Err(error) if error.not_served => Ok(None),
        read => read,
    }
}

fn into<K: Kind>(listed: Option<Listed<K>>, store: &Store<K>) {
    if let Some(listed) = listed {
        listed.fill(store);
    }
}

impl Look {
    /// The flavor groups, if they can be read.
    pub(super) fn flavor_groups(&self) -> Result<KnownFlavorGroups, berth_cluster::FlavorGroupsError> {
        FlavorGroupsCache::new(self.memory.stores.knowledges.clone()).get()
    }

    /// The lines above everything else.
    pub(super) fn heading(missing: &[Missing]) -> String {
        missing.iter().map(Missing::line).collect()
    }
}
