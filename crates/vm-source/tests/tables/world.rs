//! A database with the tables of servers and flavors for one test, and a Datasource that names it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use berth_core::VmId;
use berth_postgres::Postgres;
use berth_telemetry::chain::chain;
use berth_telemetry::metrics::Metrics;
use berth_vm_source::{
    DatasourceReader, DatasourceState, Deadlines, FailureKind, FoundDatasource, PostgresTable, SecretName,
    SecretValues, SqliteTable, TableContents, VmRow, VmSourceError, VmSourceMetrics, VmTable,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;

/// As their writers make them, with columns that are not read.
pub const TABLES: &str = "\
    CREATE TABLE openstack_servers_v4 (id text PRIMARY KEY, name text, status text, tenant_id text, user_id text, \
      created text, os_ext_az_availability_zone text, os_ext_srv_attr_host text, flavor_name text, os_type text, \
      progress bigint, fault_details text); \
    CREATE TABLE openstack_flavors_v2 (id text PRIMARY KEY, name text, vcpus bigint, ram bigint, disk bigint, \
      extra_specs text, is_public boolean)";

/// Short, because tests wait for them.
pub const DEADLINES: Deadlines = Deadlines { connect: Duration::from_secs(2), statement: Duration::from_secs(1) };

/// A Datasource whose Secret tests change.
pub struct Named {
    values: Mutex<SecretValues>,
    pub secret_reads: AtomicUsize,
}

impl Named {
    pub fn new(values: &[(&str, &str)]) -> Arc<Self> {
        let named = Self { values: Mutex::default(), secret_reads: AtomicUsize::new(0) };
        for (key, value) in values {
            named.set(key, value);
        }
        Arc::new(named)
    }

    /// The access to a database of a cluster.
    pub fn of(postgres: &Postgres, database: &str) -> Arc<Self> {
        let url = postgres.url(database);
        let (_, port) = url.rsplit_once('/').unwrap().0.rsplit_once(':').unwrap();
        let values = [("host", "127.0.0.1"), ("user", "berth"), ("password", "any\n"), ("port", port)];
        Self::new(&[&values[..], &[("database", database)]].concat())
    }

    pub fn set(&self, key: &str, value: &str) {
        self.values.lock().insert(key.to_owned(), value.into());
    }

    pub fn remove(&self, key: &str) {
        self.values.lock().remove(key);
    }
}

impl DatasourceReader for Named {
    fn name(&self) -> &'static str {
        "nova-servers"
    }

    fn is_required(&self) -> bool {
        true
    }

    fn find(&self) -> FoundDatasource {
        FoundDatasource::Present(state())
    }

    fn secret<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<SecretValues, String>> {
        assert_eq!(name.to_string(), "cortex-system/cortex-nova-postgres");
        self.secret_reads.fetch_add(1, Ordering::Relaxed);
        let values = self.values.lock().clone();
        let found =
            if values.is_empty() { Err("secrets \"cortex-nova-postgres\" not found".to_owned()) } else { Ok(values) };
        std::future::ready(found).boxed()
    }
}

pub fn state() -> DatasourceState {
    let secret = SecretName { namespace: "cortex-system".to_owned(), name: "cortex-nova-postgres".to_owned() };
    DatasourceState { secret, last_synced: None, number_of_objects: None }
}

pub fn metrics() -> (Metrics, VmSourceMetrics) {
    let registry = Metrics::new(&BTreeMap::new()).unwrap();
    let metrics = VmSourceMetrics::register(&registry).unwrap();
    (registry, metrics)
}

/// A table in a database of a cluster, with short deadlines.
pub fn postgres_table(named: &Arc<Named>) -> PostgresTable {
    PostgresTable::new(named.clone(), "berth@here".to_owned(), metrics().1).with_deadlines(DEADLINES)
}

pub async fn fresh_database() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("vms_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    berth_postgres::shared().await.unwrap().create(&name).await.unwrap();
    name
}

enum Writer {
    Sqlite(rusqlite::Connection),
    Postgres(Box<PgConnection>),
}

/// A database for a test.
pub struct World {
    table: Box<dyn VmTable>,
    writer: Writer,
    _folder: Option<TempDir>,
}

impl World {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vms.db");
        let writer = rusqlite::Connection::open(&file).unwrap();
        writer.execute_batch(TABLES).unwrap();
        let table = Box::new(SqliteTable::new(file).with_deadlines(DEADLINES));
        Self { table, writer: Writer::Sqlite(writer), _folder: Some(folder) }
    }

    pub async fn postgres() -> Self {
        let (postgres, database) = (berth_postgres::shared().await.unwrap(), fresh_database().await);
        let mut writer = PgConnection::connect(&postgres.url(&database)).await.unwrap();
        writer.execute(TABLES).await.unwrap();
        let table = Box::new(postgres_table(&Named::of(postgres, &database)));
        Self { table, writer: Writer::Postgres(Box::new(writer)), _folder: None }
    }

    /// Runs statements that both databases understand.
    pub async fn run(&mut self, sql: &str) {
        match &mut self.writer {
            Writer::Sqlite(connection) => connection.execute_batch(sql).unwrap(),
            Writer::Postgres(connection) => drop(connection.execute(sql).await.unwrap()),
        }
    }

    pub async fn read(&mut self) -> Result<TableContents, VmSourceError> {
        self.table.read_all(&state()).await
    }

    pub async fn rows(&mut self) -> Vec<VmRow> {
        let mut rows = self.read().await.unwrap().rows;
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows
    }

    pub async fn rows_of(&mut self, ids: &[&str]) -> Vec<String> {
        let ids: Vec<VmId> = ids.iter().map(|id| (*id).into()).collect();
        let rows = self.table.read_rows(&state(), &ids).await.unwrap();
        let mut found: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
        found.sort();
        found
    }

    /// The kind and the text of the failure of a complete read.
    pub async fn failure(&mut self) -> (FailureKind, String) {
        failure_of(self.read().await)
    }
}

pub fn failure_of<T>(result: Result<T, VmSourceError>) -> (FailureKind, String) {
    let error = result.map(drop).unwrap_err();
    (error.kind(), chain(&error))
}

/// As SQL has it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
