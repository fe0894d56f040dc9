//! Keeps the snapshot new: reads the tables when the schedule says so, and publishes what was read. A read that fails
//! leaves the former snapshot in place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_core::VmId;
use berth_telemetry::chain::chain;
use berth_telemetry::clock::Clock;
use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::datasource::{DatasourceReader, DatasourceState, FoundDatasource};
use crate::error::{FailureKind, VmSourceError};
use crate::listed::{self, Differences, ListedVms};
use crate::metrics::VmSourceMetrics;
use crate::schedule::{Intervals, Known, Next, Schedule};
use crate::snapshot::VmSnapshot;
use crate::source::VmSource;
use crate::table::{TableContents, VmTable};

/// Single servers that one query reads.
const BATCH: usize = 1000;
/// How long the first list of Datasources may take before its absence is a failure.
const FIRST_LIST: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_secs(1);
/// How often a Datasource that need not exist is searched, besides when the process hears of one.
const SEARCH: Duration = Duration::from_secs(60);

/// Tells a refresher what has changed. Clones tell the same one.
#[derive(Clone, Debug, Default)]
pub struct RefreshSignals {
    shared: Arc<Signals>,
}

#[derive(Debug, Default)]
struct Signals {
    changed: Notify,
    hosts_changed: AtomicBool,
}

impl RefreshSignals {
    /// The Datasource is another one than before.
    pub fn report_datasource(&self) {
        self.shared.changed.notify_one();
    }

    /// Hosts list other VMs than before.
    pub fn report_hosts(&self) {
        self.shared.hosts_changed.store(true, Ordering::Release);
        self.shared.changed.notify_one();
    }

    /// Resolves when something has changed since the last call.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Waits for a change, at the latest until then.
    async fn wait_until(&self, until: Instant) {
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.changed() => {}
        }
    }

    fn have_hosts_changed(&self) -> bool {
        self.shared.hosts_changed.load(Ordering::Acquire)
    }

    fn take_hosts_changed(&self) -> bool {
        self.shared.hosts_changed.swap(false, Ordering::AcqRel)
    }
}

/// A failure of a kind that has not occurred since the last good read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    pub text: String,
}

/// The dependencies of a refresher.
pub struct RefresherParts {
    pub source: VmSource,
    pub table: Box<dyn VmTable>,
    /// `None` for a file, which no object describes.
    pub datasource: Option<Arc<dyn DatasourceReader>>,
    pub listed: Arc<dyn ListedVms>,
    pub signals: RefreshSignals,
    pub clock: Arc<dyn Clock>,
    pub metrics: VmSourceMetrics,
    pub intervals: Intervals,
    /// Gets each failure of a new kind, and `None` after a good read.
    pub failures: watch::Sender<Option<Failure>>,
}

/// Renews the snapshot of a source.
pub struct Refresher {
    parts: RefresherParts,
    schedule: Schedule,
    started_at: Instant,
    /// VMs that hosts list and the snapshot lacks.
    lacking: BTreeSet<VmId>,
    /// The last one that was read by itself.
    last_read_vm: Option<VmId>,
    is_found: bool,
    has_failed: BTreeSet<FailureKind>,
}

/// Where to read.
enum Database {
    Described(DatasourceState),
    /// Not known yet.
    Awaited,
    /// There is none, and there need not be one.
    NotConfigured,
    Unreadable(VmSourceError),
}

impl Refresher {
    pub fn new(parts: RefresherParts) -> Self {
        Self {
            schedule: Schedule::new(parts.intervals),
            parts,
            started_at: Instant::now(),
            lacking: BTreeSet::new(),
            last_read_vm: None,
            is_found: false,
            has_failed: BTreeSet::new(),
        }
    }

    /// Renews the snapshot until `stop`.
    pub async fn work(mut self, stop: CancellationToken) {
        let work = async {
            loop {
                self.step().await;
            }
        };
        let _: Option<()> = stop.run_until_cancelled(work).await;
    }

    async fn step(&mut self) {
        match self.find_database() {
            Database::Described(state) => {
                if !self.is_found {
                    self.is_found = true;
                    self.parts.source.set_configured(true);
                    self.schedule.retry_soon();
                }
                self.refresh(&state).await;
            }
            Database::Awaited => self.parts.signals.wait_until(Instant::now() + POLL).await,
            Database::NotConfigured => self.report_none().await,
            Database::Unreadable(error) => self.report_unreadable(error).await,
        }
    }

    fn find_database(&self) -> Database {
        let Some(datasource) = &self.parts.datasource else { return Database::Described(DatasourceState::default()) };
        let unreadable = |cause| VmSourceError::Datasource { name: datasource.name().to_owned(), cause };
        match datasource.find() {
            FoundDatasource::Present(state) => Database::Described(state),
            FoundDatasource::Unknown(_) if self.started_at.elapsed() < FIRST_LIST => Database::Awaited,
            FoundDatasource::Unknown(why) => Database::Unreadable(unreadable(why)),
            // What was read stays, and grows old: usage must not seem unknown on purpose.
            FoundDatasource::Absent if !datasource.is_required() && self.parts.source.last_snapshot().is_none() => {
                Database::NotConfigured
            }
            FoundDatasource::Absent => {
                Database::Unreadable(unreadable(format!("datasources.cortex.cloud {:?} not found", datasource.name())))
            }
        }
    }

    async fn report_none(&mut self) {
        if self.parts.source.is_configured() {
            self.parts.source.set_configured(false);
            info!("no database of VMs is configured; usage is not computed (datasourceName)");
        }
        self.is_found = false;
        self.parts.signals.wait_until(Instant::now() + SEARCH).await;
    }

    async fn report_unreadable(&mut self, error: VmSourceError) {
        self.is_found = false;
        self.parts.source.set_configured(true);
        match self.schedule.next(Instant::now(), Known::default()) {
            Next::WaitUntil(until) => self.parts.signals.wait_until(until).await,
            Next::ReadAll | Next::ReadRows => self.fail(&error),
        }
    }

    async fn refresh(&mut self, state: &DatasourceState) {
        let lacks_vms = !self.lacking.is_empty() || self.parts.signals.have_hosts_changed();
        let known = Known { last_synced: state.last_synced, lacks_vms };
        let done = match self.schedule.next(Instant::now(), known) {
            Next::WaitUntil(until) => return self.parts.signals.wait_until(until).await,
            Next::ReadAll => self.read_all(state).await,
            Next::ReadRows => self.read_rows(state).await,
        };
        match done {
            Ok(()) => self.succeed(),
            Err(error) => self.fail(&error),
        }
    }

    async fn read_all(&mut self, state: &DatasourceState) -> Result<(), VmSourceError> {
        self.schedule.begin_read(Instant::now(), state.last_synced);
        let began = self.parts.clock.now();
        let contents = self.parts.table.read_all(state).await?;
        check_emptied(&contents, state)?;
        let as_of = state.last_synced.map_or(began, |synced| synced.min(began));
        let Some(snapshot) = built(contents, as_of).await else { return Ok(()) };
        let vms = snapshot.vms().len();
        let is_first = self.parts.source.last_snapshot().is_none();
        self.parts.source.publish(snapshot);
        if is_first || !self.has_failed.is_empty() {
            info!(vms, "VMs read from the database");
        }
        // What was lacking may be there now, and hosts may list other VMs.
        self.parts.signals.report_hosts();
        Ok(())
    }

    async fn read_rows(&mut self, state: &DatasourceState) -> Result<(), VmSourceError> {
        self.schedule.begin_rows(Instant::now());
        if self.parts.signals.take_hosts_changed() {
            self.compare().await;
        }
        let batch = listed::next_batch(&self.lacking, self.last_read_vm.as_ref(), BATCH);
        if batch.is_empty() {
            return Ok(());
        }
        let rows = self.parts.table.read_rows(state, &batch).await?;
        self.last_read_vm = batch.last().cloned();
        let Some(former) = self.parts.source.last_snapshot().filter(|_| !rows.is_empty()) else { return Ok(()) };
        let Ok(Some(snapshot)) = spawn_blocking(move || former.with_rows(rows)).await else { return Ok(()) };
        self.lacking.retain(|vm| snapshot.vm(vm).is_none());
        self.parts.metrics.lacks(self.lacking.len());
        self.parts.source.publish(snapshot);
        Ok(())
    }

    /// Compares the lists of the hosts with the snapshot.
    async fn compare(&mut self) {
        let Some(snapshot) = self.parts.source.last_snapshot() else { return };
        let listed = self.parts.listed.clone();
        let compared = spawn_blocking(move || listed::differences(&*listed, &snapshot)).await;
        // It fails when the process ends.
        let Ok(differences) = compared else { return };
        self.parts.metrics.compared(&differences);
        let Differences { lacking, .. } = differences;
        self.lacking = lacking;
    }

    fn succeed(&mut self) {
        self.schedule.succeed();
        self.has_failed.clear();
        self.parts.failures.send_if_modified(|failure| failure.take().is_some());
    }

    fn fail(&mut self, error: &VmSourceError) {
        let (kind, text) = (error.kind(), chain(error));
        self.parts.metrics.failed(error);
        self.parts.source.report_failure(text.clone());
        self.schedule.fail(Instant::now(), error.has_queried());
        if self.has_failed.insert(kind) {
            warn!(error = text, reason = kind.as_str(), "VMs cannot be read; the former snapshot stays");
            self.parts.failures.send_replace(Some(Failure { kind, text }));
        }
    }
}

/// A writer that failed may have left a table empty, which looks like a cloud without VMs.
fn check_emptied(contents: &TableContents, state: &DatasourceState) -> Result<(), VmSourceError> {
    match (contents.rows.is_empty(), state.number_of_objects) {
        (true, Some(expected)) if expected > 0 => Err(VmSourceError::Emptied { expected }),
        (false, _) if contents.flavors.is_empty() => Err(VmSourceError::NoFlavors),
        _ => Ok(()),
    }
}

/// Sorts on a thread that may take its time; nothing when the process ends.
async fn built(TableContents { rows, flavors }: TableContents, as_of: Timestamp) -> Option<VmSnapshot> {
    spawn_blocking(move || VmSnapshot::new(rows, flavors, as_of)).await.ok()
}
