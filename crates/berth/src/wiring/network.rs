//! What each component listens on and connects to. The network policies of the chart are compared with these tables, and the tables with
//! the sockets of running processes.

use std::collections::BTreeSet;

use berth_telemetry::config::Configuration;
use reqwest::Url;
use serde::Serialize;

use super::openstack::{asks_keystone, asks_limes, resolves_domains};

/// Of DNS.
const NAMES: u16 = 53;

/// Which way connections go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Listens,
    Connects,
}

/// The other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// Nova, Limes, and replicas that forward requests; for Placement the clients of its API.
    ApiClients,
    /// The kubelet. Placement answers it where it answers readers of metrics.
    Probes,
    /// Prometheus.
    MetricsReaders,
    NameServers,
    /// Those of all clusters.
    ApiServers,
    /// The replica that leads.
    Leader,
    Keystone,
    /// Services in the catalog of Keystone: Limes, and Keystone itself.
    #[serde(rename = "openstack-services")]
    OpenStackServices,
    /// Another scheduler than the built-in one.
    ExternalScheduler,
    /// The database of Nova, with its VMs.
    VmDatabase,
    /// The database of Placement.
    LedgerDatabase,
}

/// Where ports are that the configuration does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortSource {
    /// The kubeconfig, or the environment of the pod.
    Kubeconfig,
    /// The Secret with the credentials of Keystone.
    CredentialsSecret,
    /// The catalog of Keystone.
    Catalog,
    /// The Secret that the Datasource names.
    DatasourceSecret,
}

/// The ports of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ports {
    known: BTreeSet<u16>,
    further: Option<PortSource>,
    is_optional: bool,
}

/// A row that applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkUse {
    pub direction: Direction,
    pub peer: Peer,
    /// Those that flags and configuration have.
    pub ports: BTreeSet<u16>,
    /// Where further ones are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further_ports: Option<PortSource>,
    /// Whether it depends on objects of the cluster that there are connections.
    pub is_optional: bool,
}

/// What a row says of a component that starts like this; `None`: it does not apply.
struct Row<S> {
    direction: Direction,
    peer: Peer,
    ports: fn(&S) -> Option<Ports>,
}

/// How an operator starts. Port 0 is one that the operating system chooses.
pub(crate) struct OperatorStart<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) apis: Option<u16>,
    pub(crate) probes: Option<u16>,
    pub(crate) metrics: Option<u16>,
    pub(crate) competes: bool,
    pub(crate) serves_liquid: bool,
    /// The URLs of schedulers that are not its own.
    pub(crate) schedulers: Vec<&'a str>,
}

/// How a server of the Placement API starts.
pub(crate) struct PlacementStart<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) api: u16,
    pub(crate) metrics: Option<u16>,
    pub(crate) has_secure_metrics: bool,
    pub(crate) is_authenticated: bool,
    /// Of PostgreSQL.
    pub(crate) database: Option<u16>,
}

const fn listens<S>(peer: Peer, ports: fn(&S) -> Option<Ports>) -> Row<S> {
    Row { direction: Direction::Listens, peer, ports }
}

const fn connects<S>(peer: Peer, ports: fn(&S) -> Option<Ports>) -> Row<S> {
    Row { direction: Direction::Connects, peer, ports }
}

/// The table of the operator.
fn operator_rows<'a>() -> [Row<OperatorStart<'a>>; 10] {
    [
        listens(Peer::ApiClients, |start| start.apis.map(Ports::one)),
        listens(Peer::Probes, |start| start.probes.map(Ports::one)),
        listens(Peer::MetricsReaders, |start| start.metrics.map(Ports::one)),
        connects(Peer::NameServers, |_| Some(Ports::one(NAMES))),
        connects(Peer::ApiServers, |start| {
            Some(Ports::of_urls(remotes(start.configuration)).and(PortSource::Kubeconfig))
        }),
        connects(Peer::Leader, |start| start.apis.filter(|_| start.competes).map(Ports::one)),
        connects(Peer::Keystone, |start| keystone(start.configuration, start.serves_liquid)),
        connects(Peer::OpenStackServices, |start| {
            let uses_catalog = asks_limes(start.configuration) || resolves_domains(start.configuration);
            uses_catalog.then(|| Ports::default().and(PortSource::Catalog))
        }),
        connects(Peer::ExternalScheduler, |start| {
            (!start.schedulers.is_empty()).then(|| Ports::of_urls(start.schedulers.iter().copied()))
        }),
        connects(Peer::VmDatabase, |start| vm_database(start.configuration)),
    ]
}

/// The table of Placement.
fn placement_rows<'a>() -> [Row<PlacementStart<'a>>; 6] {
    [
        listens(Peer::ApiClients, |start| Some(Ports::one(start.api))),
        listens(Peer::MetricsReaders, |start| start.metrics.map(Ports::one)),
        connects(Peer::NameServers, |_| Some(Ports::one(NAMES))),
        connects(Peer::ApiServers, |start| {
            let reads_secrets = start.is_authenticated && start.configuration.common.keystone.is_some();
            (start.has_secure_metrics || reads_secrets).then(|| Ports::default().and(PortSource::Kubeconfig))
        }),
        connects(Peer::Keystone, |start| start.is_authenticated.then(|| credentials(start.configuration))),
        connects(Peer::LedgerDatabase, |start| start.database.map(Ports::one)),
    ]
}

/// What an operator that starts like this listens on and connects to.
pub(crate) fn of_operator(start: &OperatorStart<'_>) -> Vec<NetworkUse> {
    applying(&operator_rows(), start)
}

/// What a server of the Placement API that starts like this listens on and connects to.
pub(crate) fn of_placement(start: &PlacementStart<'_>) -> Vec<NetworkUse> {
    applying(&placement_rows(), start)
}

fn applying<S>(table: &[Row<S>], start: &S) -> Vec<NetworkUse> {
    let applies = |row: &Row<S>| {
        let Ports { known, further, is_optional } = (row.ports)(start)?;
        let (direction, peer) = (row.direction, row.peer);
        Some(NetworkUse { direction, peer, ports: known, further_ports: further, is_optional })
    };
    table.iter().filter_map(applies).collect()
}

fn remotes(configuration: &Configuration) -> impl Iterator<Item = &str> {
    configuration.api_servers.remotes.iter().map(|remote| remote.host.as_str())
}

/// The credentials for the names of domains are always in a Secret.
fn keystone(configuration: &Configuration, serves_liquid: bool) -> Option<Ports> {
    let of_process = asks_keystone(configuration, serves_liquid).then(|| credentials(configuration));
    if resolves_domains(configuration) {
        Some(of_process.unwrap_or_default().and(PortSource::CredentialsSecret))
    } else {
        of_process
    }
}

/// Where the credentials of a process lead to.
fn credentials(configuration: &Configuration) -> Ports {
    match (&configuration.common.keystone, &configuration.keystone_keys.url) {
        (None, Some(url)) => Ports::of_urls([url.as_str()]),
        _ => Ports::default().and(PortSource::CredentialsSecret),
    }
}

/// Without the key there are connections if there is a Datasource with the usual name.
fn vm_database(configuration: &Configuration) -> Option<Ports> {
    let keys = &configuration.common;
    let ports = Ports { is_optional: keys.datasource_name.is_none(), ..Ports::default() };
    keys.vm_source_sqlite.is_none().then(|| ports.and(PortSource::DatasourceSecret))
}

impl Ports {
    fn one(port: u16) -> Self {
        Self { known: [port].into(), ..Self::default() }
    }

    /// URLs were checked when the configuration was read.
    fn of_urls<'u>(urls: impl IntoIterator<Item = &'u str>) -> Self {
        let port = |url: &str| Url::parse(url).ok()?.port_or_known_default();
        Self { known: urls.into_iter().filter_map(port).collect(), ..Self::default() }
    }

    fn and(self, further: PortSource) -> Self {
        Self { further: Some(further), ..self }
    }
}
