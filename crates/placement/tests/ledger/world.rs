//! A ledger of either kind for one test, with a fixed clock, and reads of its whole content.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::sqlite::{LedgerLocation, SqliteLedger};
use berth_placement::ledger::{ConsumerRecord, Ledger, LedgerMetrics, RequestError, Written};
use berth_placement_model::command::{ConsumerGuard, ConsumerWrite, ReservedRule};
use berth_placement_model::{ClassName, Command, Inventory, Key, Model, ProviderId, ProviderState};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::time::Instant;

/// One clock for all: every write happens at the same time.
#[derive(Clone, Copy)]
pub struct Still;

pub fn now() -> Timestamp {
    Timestamp::from_microsecond(1_770_000_000_123_456).unwrap()
}

impl Clock for Still {
    fn now(&self) -> Timestamp {
        now()
    }
}

pub fn metrics() -> LedgerMetrics {
    LedgerMetrics::register(&Metrics::new(&BTreeMap::new()).unwrap()).unwrap()
}

/// A database for this test, and the ledgers on it: one for SQLite, two replicas for PostgreSQL.
pub struct World {
    pub ledgers: Vec<Arc<dyn Ledger>>,
    pub url: String,
    folder: Option<TempDir>,
}

impl World {
    pub async fn memory() -> Self {
        let ledger = SqliteLedger::open(&LedgerLocation::Memory, Arc::new(Still), metrics()).unwrap();
        Self::of(vec![Arc::new(ledger)], String::new(), None).await
    }

    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = LedgerLocation::File(folder.path().join("ledger.db"));
        let ledger = SqliteLedger::open(&place, Arc::new(Still), metrics()).unwrap();
        Self::of(vec![Arc::new(ledger)], String::new(), Some(folder)).await
    }

    pub async fn postgres() -> Self {
        let url = fresh_database().await;
        let mut ledgers: Vec<Arc<dyn Ledger>> = Vec::new();
        for _ in 0..2 {
            ledgers.push(Arc::new(PostgresLedger::open(&url, Arc::new(Still), metrics()).await.unwrap()));
        }
        Self::of(ledgers, url, None).await
    }

    async fn of(ledgers: Vec<Arc<dyn Ledger>>, url: String, folder: Option<TempDir>) -> Self {
        let world = Self { ledgers, url, folder };
        for ledger in &world.ledgers {
            while ledger.model(soon()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        world
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.folder.as_ref().unwrap().path().join("ledger.db")
    }

    pub async fn write(&self, command: Command) -> Result<Written, RequestError> {
        self.ledgers[0].write(command, soon()).await
    }

    pub async fn ok(&self, command: Command) -> Written {
        let shown = format!("{command:?}");
        self.write(command).await.unwrap_or_else(|error| panic!("{shown}: {error}"))
    }

    /// The current model of the last ledger.
    pub async fn model(&self) -> Arc<Model> {
        self.ledgers[self.ledgers.len() - 1].model(soon()).await.unwrap()
    }

    pub async fn consumer(&self, name: &str) -> Option<ConsumerRecord> {
        self.ledgers[self.ledgers.len() - 1].consumer(&Key::new(name), soon()).await.unwrap()
    }

    /// A root with inventories that have free capacity for `total`.
    pub async fn provider(&self, name: &str, classes: &[(&str, u64)]) {
        let uuid = Key::new(name);
        self.ok(Command::CreateProvider { uuid: uuid.clone(), name: name.to_owned(), parent: None }).await;
        for (class, total) in classes {
            let (class, inventory) = (ClassName::new(class), capacity(*total));
            let reserved = ReservedRule::UpToTotal;
            self.ok(Command::AddInventory { provider: uuid.clone(), class, inventory, reserved }).await;
        }
    }
}

/// What a server of the first schema leaves behind: a consumer at `p1` and `p2`.
pub const OLD_ROWS: &str = "\
    INSERT INTO providers (uuid, name, root, created_at) VALUES ('p1', 'p1', 1, 7), ('p2', 'p2', 2, 7);
    INSERT INTO inventories (provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used, \
      created_at) VALUES (1, 'VCPU', 9, 0, 1, 9, 1, 1.0, 1, 7), (2, 'VCPU', 9, 0, 1, 9, 1, 1.0, 1, 7);
    INSERT INTO consumers VALUES ('a', 1, 'project', 'user', NULL);
    INSERT INTO allocations (consumer, provider, class, used, created_at) \
      VALUES ('a', 2, 'VCPU', 1, 7), ('a', 1, 'VCPU', 1, 7);";

/// The providers of consumer `a`, in the order of the answer.
pub async fn listed(ledger: &dyn Ledger) -> Vec<Key> {
    let consumer = ledger.consumer(&Key::new("a"), soon()).await.unwrap().unwrap();
    consumer.allocations.into_iter().map(|(provider, ..)| provider).collect()
}

/// A time that tests never reach.
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

pub fn capacity(total: u64) -> Inventory {
    Inventory { total, reserved: 0, min_unit: 1, max_unit: Inventory::LARGEST, step_size: 1, allocation_ratio: 1.0 }
}

/// The new allocations of a consumer, for any generation.
pub fn claim(consumer: &str, allocations: &[(&str, &[(&str, u64)])]) -> ConsumerWrite {
    let amounts = |amounts: &[(&str, u64)]| amounts.iter().map(|(class, n)| (ClassName::new(class), *n)).collect();
    ConsumerWrite {
        consumer: Key::new(consumer),
        project: "project".to_owned(),
        user: "user".to_owned(),
        kind: None,
        generation: ConsumerGuard::Unchecked,
        allocations: allocations.iter().map(|(provider, of)| (Key::new(provider), amounts(of))).collect(),
    }
}

pub fn providers(model: &Model) -> BTreeMap<Key, ProviderState> {
    model.providers().map(|provider| (provider.uuid().clone(), provider.state())).collect()
}

/// Renumbers the IDs, because a database may have skipped some.
pub fn numbered(all: impl IntoIterator<Item = ProviderState>) -> Vec<ProviderState> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|state| state.id);
    let places: BTreeMap<ProviderId, ProviderId> =
        (1..).zip(&all).map(|(at, state)| (state.id, ProviderId(at))).collect();
    for state in &mut all {
        state.id = places[&state.id];
        state.root = places[&state.root];
        state.parent = state.parent.map(|parent| places[&parent]);
    }
    all
}

pub async fn fresh_database() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("ledger_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    berth_postgres::shared().await.unwrap().create(&name).await.unwrap()
}
