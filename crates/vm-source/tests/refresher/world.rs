//! A refresher with a table, a Datasource and hosts of the test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_core::VmId;
use berth_core::flavor::Flavor;
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_vm_source::{
    DatasourceReader, DatasourceState, Failure, FoundDatasource, Intervals, ListedVms, Read, ReadStep, RefreshSignals,
    Refresher, RefresherParts, SecretName, SecretValues, TableContents, VmRow, VmSource, VmSourceError,
    VmSourceMetrics, VmTable,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

pub const MAX_AGE: Duration = Duration::from_secs(3600);

/// The seconds since the start and what was read then: everything, or these servers.
pub type Log = Vec<(u64, String)>;

/// Everything outside of the refresher. Clones share it.
#[derive(Clone)]
pub struct Outside {
    state: Arc<Mutex<State>>,
    started_at: Instant,
}

struct State {
    log: Log,
    contents: TableContents,
    /// Rows that only a read of single servers finds.
    others: BTreeMap<VmId, VmRow>,
    /// Makes reads fail.
    failure: Option<fn() -> VmSourceError>,
    datasource: FoundDatasource,
    is_required: bool,
    listed: BTreeSet<(String, String)>,
    are_hosts_known: bool,
}

impl VmTable for Outside {
    fn read_all<'a>(&'a mut self, _: &'a DatasourceState) -> Read<'a, TableContents> {
        let read = self.read("all".to_owned(), |state| state.contents.clone());
        std::future::ready(read).boxed()
    }

    fn read_rows<'a>(&'a mut self, _: &'a DatasourceState, ids: &'a [VmId]) -> Read<'a, Vec<VmRow>> {
        let names = if ids.len() > 5 {
            format!("{} servers", ids.len())
        } else {
            ids.iter().map(VmId::as_str).collect::<Vec<_>>().join(" ")
        };
        let rows = self.read(names, |state| ids.iter().filter_map(|id| state.others.get(id).cloned()).collect());
        std::future::ready(rows).boxed()
    }
}

impl Outside {
    fn read<T>(&self, what: String, found: impl FnOnce(&State) -> T) -> Result<T, VmSourceError> {
        let mut state = self.state.lock();
        state.log.push((self.started_at.elapsed().as_secs(), what));
        match state.failure {
            Some(failure) => Err(failure()),
            None => Ok(found(&state)),
        }
    }
}

impl DatasourceReader for Outside {
    fn name(&self) -> &'static str {
        "nova-servers"
    }

    fn is_required(&self) -> bool {
        self.state.lock().is_required
    }

    fn find(&self) -> FoundDatasource {
        self.state.lock().datasource.clone()
    }

    fn secret<'a>(&'a self, _: &'a SecretName) -> BoxFuture<'a, Result<SecretValues, String>> {
        unreachable!("the table of the test needs none")
    }
}

impl ListedVms for Outside {
    fn is_complete(&self) -> bool {
        self.state.lock().are_hosts_known
    }

    fn visit(&self, visit: &mut dyn FnMut(&str, &str)) {
        self.state.lock().listed.iter().for_each(|(vm, zone)| visit(vm, zone));
    }
}

/// A running refresher and what is around it.
pub struct World {
    pub outside: Outside,
    pub source: VmSource,
    pub failures: watch::Receiver<Option<Failure>>,
    registry: Metrics,
    signals: RefreshSignals,
    work: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl World {
    /// One server `a`, and a Datasource that was copied a second before the start.
    pub fn begin() -> Self {
        Self::with(|_| {})
    }

    pub fn with(prepare: impl FnOnce(&World)) -> Self {
        let contents = TableContents { rows: vec![row("a")], flavors: vec![flavor()] };
        let state = State {
            log: Log::new(),
            contents,
            others: BTreeMap::new(),
            failure: None,
            datasource: synced_at(-1),
            is_required: true,
            listed: BTreeSet::new(),
            are_hosts_known: true,
        };
        let outside = Outside { state: Arc::new(Mutex::new(state)), started_at: Instant::now() };
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new(Timestamp::UNIX_EPOCH));
        let (source, registry) = (VmSource::new(clock.clone(), MAX_AGE), Metrics::new(&BTreeMap::new()).unwrap());
        let signals = RefreshSignals::default();
        let (sender, failures) = watch::channel(None);
        let refresher = Refresher::new(RefresherParts {
            source: source.clone(),
            table: Box::new(outside.clone()),
            datasource: Some(Arc::new(outside.clone())),
            listed: Arc::new(outside.clone()),
            signals: signals.clone(),
            clock,
            metrics: VmSourceMetrics::register_with(&registry, &source).unwrap(),
            intervals: Intervals::default(),
            failures: sender,
        });
        let idle = tokio::spawn(async {});
        let mut world = Self { outside, source, failures, registry, signals, work: idle };
        prepare(&world);
        world.work = tokio::spawn(refresher.work(CancellationToken::new()));
        world
    }

    fn state(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.outside.state.lock());
    }

    /// The tables have these servers from now on.
    pub fn servers(&self, ids: &[&str]) {
        self.state(|state| state.contents.rows = ids.iter().map(|id| row(id)).collect());
    }

    pub fn flavors(&self, flavors: Vec<Flavor>) {
        self.state(|state| state.contents.flavors = flavors);
    }

    /// A server that no complete read has.
    pub fn add_other(&self, id: &str) {
        self.state(|state| _ = state.others.insert(id.into(), row(id)));
    }

    pub fn fail(&self, failure: Option<fn() -> VmSourceError>) {
        self.state(|state| state.failure = failure);
    }

    pub fn require(&self, is_required: bool) {
        self.state(|state| state.is_required = is_required);
    }

    pub fn forget_hosts(&self) {
        self.state(|state| state.are_hosts_known = false);
    }

    /// The Datasource is in another state.
    pub fn describe(&self, datasource: FoundDatasource) {
        self.state(|state| state.datasource = datasource);
        self.signals.report_datasource();
    }

    /// Hosts of a zone list these VMs besides others.
    pub fn list(&self, zone: &str, vms: impl IntoIterator<Item = String>) {
        self.state(|state| state.listed.extend(vms.into_iter().map(|vm| (vm, zone.to_owned()))));
        self.signals.report_hosts();
    }

    pub async fn pass(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    /// What was read since the last call, until so many seconds have passed.
    pub async fn reads(&self, seconds: u64) -> Log {
        self.pass(seconds).await;
        std::mem::take(&mut self.outside.state.lock().log)
    }

    pub fn vms(&self) -> Vec<String> {
        self.source.last_snapshot().map_or(vec![], |all| all.vms().iter().map(|vm| vm.id.to_string()).collect())
    }

    pub fn unavailable(&self) -> String {
        self.source.snapshot().unwrap_err().to_string()
    }

    pub fn has_metric(&self, line: &str) -> bool {
        self.registry.render().lines().any(|found| found == line)
    }
}

pub fn row(id: &str) -> VmRow {
    let (host, zone, flavor) = ("h".into(), "az-1".into(), "m1".into());
    VmRow { id: id.into(), project: "p".into(), host, zone, flavor, ..VmRow::default() }
}

pub fn flavor() -> Flavor {
    Flavor { name: "m1".into(), vcpus: 1, memory_mib: 1024, disk_gib: 0, extra_specs: BTreeMap::new() }
}

pub fn seconds(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

/// A Datasource that was copied so many seconds after the start.
pub fn synced_at(at: i64) -> FoundDatasource {
    copied(at, 1)
}

pub fn copied(at: i64, number_of_objects: i64) -> FoundDatasource {
    let (last_synced, number_of_objects) = (Some(seconds(at)), Some(number_of_objects));
    FoundDatasource::Present(DatasourceState { secret: SecretName::default(), last_synced, number_of_objects })
}

pub fn hanging() -> VmSourceError {
    VmSourceError::Deadline { step: ReadStep::Servers, seconds: 30 }
}

pub fn silent() -> VmSourceError {
    VmSourceError::Deadline { step: ReadStep::Connect, seconds: 5 }
}

pub fn at(log: &[(u64, String)]) -> Vec<(u64, &str)> {
    log.iter().map(|(at, what)| (*at, what.as_str())).collect()
}
