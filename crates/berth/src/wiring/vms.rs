//! The snapshot of VMs of a process: where it is read, and what it is used for besides usage.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use berth_cluster::{
    Clusters, Completeness, Event, EventKind, Events, Listed, ObjectKey, Requests, Single, Store, Stores,
};
use berth_core::{ClusterName, VmId};
use berth_crds::{Datasource, Hypervisor, labels};
use berth_reservation::in_flight::{VmSize, VmSizes};
use berth_telemetry::chain::chain;
use berth_telemetry::clock::{Clock as _, SystemClock};
use berth_telemetry::config::Common;
use berth_telemetry::metrics::Metrics;
use berth_vm_source::{
    DatasourceReader, DatasourceState, Failure, FoundDatasource, Intervals, ListedVms, PostgresTable, RefreshSignals,
    Refresher, RefresherParts, SecretName, SecretValues, SqliteTable, VmSnapshot, VmSource, VmSourceMetrics, VmTable,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;

use super::Memory;

/// The Datasource that is used if the configuration names none.
const DEFAULT: &str = "nova-servers";

/// The key of the Datasource with the VMs.
fn datasource_key(keys: &Common) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), keys.datasource_name.as_deref().unwrap_or(DEFAULT))
}

/// How a process reads the VMs.
pub(crate) struct VmReader {
    file: Option<PathBuf>,
    datasource: Arc<HomeDatasource>,
    /// How its connection is called in the database.
    application: String,
    signals: RefreshSignals,
}

impl VmReader {
    /// Follows the Datasource and the lists of the hosts from now on.
    pub(crate) fn new(keys: &Common, stores: &Stores, clusters: &Clusters, hostname: &str) -> Self {
        let (key, is_required) = (datasource_key(keys), keys.datasource_name.is_some());
        let (store, clusters) = (stores.datasources.clone(), clusters.clone());
        Self {
            file: keys.vm_source_sqlite.clone(),
            signals: follow(stores, key.clone()),
            datasource: Arc::new(HomeDatasource { store, key, is_required, clusters }),
            application: format!("berth@{hostname}"),
        }
    }

    pub(crate) fn refresher(self, memory: &Memory, metrics: &VmSourceMetrics) -> Refresher {
        let Self { file, datasource, application, signals } = self;
        let is_file = file.is_some();
        let table: Box<dyn VmTable> = match file {
            Some(file) => Box::new(SqliteTable::new(file)),
            None => Box::new(PostgresTable::new(datasource.clone(), application, metrics.clone())),
        };
        Refresher::new(RefresherParts {
            source: memory.vms.clone(),
            table,
            datasource: (!is_file).then_some(datasource),
            listed: Arc::new(HostLists(memory.stores.hypervisors.clone())),
            signals,
            clock: Arc::new(SystemClock),
            metrics: metrics.clone(),
            intervals: if is_file { Intervals::of_file() } else { Intervals::default() },
            failures: memory.vm_failures.clone(),
        })
    }
}

/// Reports what changes from now on.
fn follow(stores: &Stores, datasource: ObjectKey) -> RefreshSignals {
    let signals = RefreshSignals::default();
    let reported = signals.clone();
    stores.datasources.on_state(move |change| {
        if change.key == datasource {
            reported.report_datasource();
        }
    });
    let reported = signals.clone();
    stores.hypervisors.on_state(move |change| {
        if !vms(change.old.as_deref()).eq(vms(change.new.as_deref())) {
            reported.report_hosts();
        }
    });
    signals
}

fn vms(host: Option<&Hypervisor>) -> impl Iterator<Item = &str> {
    let status = host.into_iter().flat_map(|host| &host.status);
    status.flat_map(|status| &status.instances).map(|instance| instance.id.as_str())
}

/// The Datasource in the home cluster.
struct HomeDatasource {
    store: Store<Datasource>,
    key: ObjectKey,
    is_required: bool,
    clusters: Clusters,
}

impl DatasourceReader for HomeDatasource {
    fn name(&self) -> &str {
        &self.key.name
    }

    fn is_required(&self) -> bool {
        self.is_required
    }

    fn find(&self) -> FoundDatasource {
        let is_watched = self.store.clusters().contains(&self.key.cluster);
        match (self.store.invalid_entry(&self.key), self.store.get(&self.key)) {
            (Some(invalid), _) => FoundDatasource::Unknown(invalid.error.to_string()),
            (None, Some(object)) => FoundDatasource::Present(state(&object)),
            (None, None) if !is_watched => FoundDatasource::Absent,
            (None, None) => match self.store.completeness(&self.key.cluster) {
                Completeness::Complete => FoundDatasource::Absent,
                Completeness::Partial { why } => FoundDatasource::Unknown(why.clone()),
            },
        }
    }

    fn secret<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<SecretValues, String>> {
        let secret = Single::<Secret>::new(self.clusters.clone(), &name.namespace, &name.name);
        let read = async move {
            let found = secret.read().await.map_err(|error| chain(&error))?;
            let found = found.ok_or_else(|| format!("secrets {:?} not found", name.name))?;
            let values = found.data.iter().flatten();
            Ok(values.map(|(key, value)| (key.clone(), value.0.clone())).collect())
        };
        read.boxed()
    }
}

fn state(object: &Datasource) -> DatasourceState {
    let (secret, status) = (object.spec.database_secret_ref.clone(), object.status.as_ref());
    DatasourceState {
        secret: SecretName { namespace: secret.namespace.unwrap_or_default(), name: secret.name.unwrap_or_default() },
        last_synced: status.and_then(|status| status.last_synced.as_ref()).map(|time| time.0),
        number_of_objects: status.and_then(|status| status.number_of_objects),
    }
}

/// What the hosts of all clusters list.
struct HostLists(Store<Hypervisor>);

impl ListedVms for HostLists {
    fn is_complete(&self) -> bool {
        self.0.clusters().iter().all(|cluster| self.0.require_synced(cluster).is_ok())
    }

    fn visit(&self, visit: &mut dyn FnMut(&str, &str)) {
        for entry in self.0.all() {
            let labels = entry.object.metadata.labels.as_ref();
            let zone = labels.and_then(|labels| labels.get(labels::ZONE)).map(String::as_str).unwrap_or_default();
            vms(Some(&entry.object)).for_each(|vm| visit(vm, zone));
        }
    }
}

/// The sizes of VMs in the snapshot.
pub(super) struct SnapshotVmSizes {
    vms: VmSource,
}

impl SnapshotVmSizes {
    pub(super) fn new(vms: VmSource) -> Self {
        Self { vms }
    }
}

impl VmSizes for SnapshotVmSizes {
    /// Unknown without a snapshot that may be used.
    fn size<'a>(&'a self, vm: &'a VmId) -> VmSize<'a> {
        let snapshot = self.vms.snapshot().ok();
        let size = snapshot.and_then(|snapshot| snapshot.vm(vm).map(|vm| vm.flavor.size()));
        Box::pin(std::future::ready(Ok(size)))
    }
}

/// The in-flight reservations that are reconciled with each new snapshot: their VMs may have another size. There are
/// few of them, and none lives long.
pub(super) fn request_with_snapshots(memory: &Memory, requests: Requests<ObjectKey>) {
    let reservations = memory.stores.reservations.clone();
    memory.vms.on_change(move |_| {
        let all = reservations.all().into_iter();
        let in_flight = all.filter(|entry| entry.object.spec.in_flight_reservation.is_some());
        requests.add(in_flight.map(|entry| entry.key));
    });
}

/// Reads the VMs once, for a command. If they cannot be read, the source says why.
pub(crate) async fn read_vms(memory: &Memory, keys: &Common, clusters: &Clusters) {
    match read_once(memory, keys, clusters).await {
        Ok(Some(snapshot)) => memory.vms.publish(snapshot),
        Ok(None) => memory.vms.set_configured(false),
        Err(why) => memory.vms.report_failure(why),
    }
}

/// Nothing without a database.
async fn read_once(memory: &Memory, keys: &Common, clusters: &Clusters) -> Result<Option<VmSnapshot>, String> {
    let now = SystemClock.now();
    let Some((mut table, state)) = configured_table(memory, keys, clusters).await? else { return Ok(None) };
    let contents = table.read_all(&state).await.map_err(|error| chain(&error))?;
    let as_of = state.last_synced.map_or(now, |synced| synced.min(now));
    Ok(Some(VmSnapshot::new(contents.rows, contents.flavors, as_of)))
}

/// Whether the VMs could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VmDatabase {
    /// None is configured.
    Absent,
    /// The Datasource that the configuration names does not exist.
    NoDatasource(String),
    Readable,
    Unreadable(String),
}

/// Asks for the rows of no VM: that needs the Secret, the connection and the table, and is no load.
pub(crate) async fn try_vm_database(memory: &Memory, keys: &Common, clusters: &Clusters) -> VmDatabase {
    match configured_table(memory, keys, clusters).await {
        Err(why) => VmDatabase::Unreadable(why),
        Ok(None) => keys.datasource_name.clone().map_or(VmDatabase::Absent, VmDatabase::NoDatasource),
        Ok(Some((mut table, state))) => match table.read_rows(&state, &[]).await {
            Ok(_) => VmDatabase::Readable,
            Err(error) => VmDatabase::Unreadable(chain(&error)),
        },
    }
}

async fn configured_table(
    memory: &Memory,
    keys: &Common,
    clusters: &Clusters,
) -> Result<Option<(Box<dyn VmTable>, DatasourceState)>, String> {
    if let Some(file) = &keys.vm_source_sqlite {
        return Ok(Some((Box::new(SqliteTable::new(file.clone())), DatasourceState::default())));
    }
    let found = described(memory, keys, clusters).await?;
    Ok(found.map(|(table, state)| (Box::new(table) as Box<dyn VmTable>, state)))
}

/// The database of the Datasource, if there is one.
async fn described(
    memory: &Memory,
    keys: &Common,
    clusters: &Clusters,
) -> Result<Option<(PostgresTable, DatasourceState)>, String> {
    let store = memory.stores.datasources.clone();
    match Listed::read(clusters.home()).await {
        Ok(listed) => listed.fill(&store),
        Err(error) if error.not_served => {}
        Err(error) => return Err(error.to_string()),
    }
    let (key, is_required) = (datasource_key(keys), keys.datasource_name.is_some());
    let reader = Arc::new(HomeDatasource { store, key, is_required, clusters: clusters.clone() });
    match reader.find() {
        FoundDatasource::Absent => Ok(None),
        FoundDatasource::Unknown(why) => Err(why),
        FoundDatasource::Present(state) => {
            let metrics =
                Metrics::new(&BTreeMap::new()).and_then(|all| VmSourceMetrics::register_with(&all, &memory.vms));
            let metrics = metrics.map_err(|error| chain(&error))?;
            Ok(Some((PostgresTable::new(reader, "berth-explain".to_owned(), metrics), state)))
        }
    }
}

/// Publishes an event on the Datasource for each failure of a new kind, forever.
pub(crate) fn publish_failures(
    memory: &Memory,
    keys: &Common,
    events: Events,
) -> impl Future<Output = ()> + Send + use<> {
    let (mut failures, store, key) =
        (memory.vm_failures.subscribe(), memory.stores.datasources.clone(), datasource_key(keys));
    // A new leader reports what the former one has reported, perhaps in vain.
    failures.mark_changed();
    async move {
        // The sender is in the memory, which outlives this.
        while failures.changed().await.is_ok() {
            let failure = failures.borrow_and_update().clone();
            if let Some(failure) = failure {
                events.publish_about(&store, &key, event(failure));
            }
        }
        std::future::pending::<()>().await;
    }
}

fn event(Failure { kind, text }: Failure) -> Event {
    let note = format!("{text}; the former data stay in use until they are too old");
    Event { kind: EventKind::Warning, reason: kind.reason().to_owned(), action: "ReadVms".to_owned(), note }
}

#[cfg(test)]
mod tests;
