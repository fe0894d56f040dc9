//! What reading the VMs costs beside a bare client that reads the same columns, and the memory of a snapshot.

use std::hint::black_box;
use std::sync::Arc;

use berth_postgres::{Durability, Postgres};
use berth_telemetry::metrics::Metrics;
use berth_vm_source::{
    DatasourceReader, DatasourceState, FoundDatasource, PostgresTable, SecretName, SecretValues, VmSnapshot,
    VmSourceMetrics, VmTable as _,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use sqlx::{Connection as _, PgConnection, Row as _};
use tokio::time::Instant;

use crate::error::Error;
use crate::pairs::{self, Side, alternate, ratio};
use crate::proc;
use crate::size::Size;
use crate::table::{Goal, Row};

/// The allowed ratio between a read with its snapshot and a bare read.
const TIMES: f64 = 1.5;
/// The allowed memory of a VM in a snapshot.
const BYTES: f64 = 300.0;
/// Snapshots that are held at once, so that what is freed in between does not count.
const HELD: usize = 4;
const DATABASE: &str = "vms";

/// Names and UUIDs as long as those of Nova; a VM has a host among a thousand and a project among five hundred.
const FILL: &str = "\
    CREATE TABLE openstack_servers_v4 (id text PRIMARY KEY, name text, status text, tenant_id text, created text, \
      os_ext_az_availability_zone text, os_ext_srv_attr_host text, flavor_name text, os_type text); \
    CREATE TABLE openstack_flavors_v2 (id text PRIMARY KEY, name text, vcpus bigint, ram bigint, disk bigint, \
      extra_specs text); \
    INSERT INTO openstack_flavors_v2 SELECT n::text, 'g_k_c' || n || '_m' || 16 * n, n, 16384 * n, 64, \
      '{\"quota:hw_version\":\"2101\"}' FROM generate_series(1, 50) n; \
    INSERT INTO openstack_servers_v4 SELECT gen_random_uuid()::text, 'instance-of-a-team-' || n, 'ACTIVE', \
      md5((n % 500)::text), '2026-02-01T08:00:00Z', 'eu-test-1' || chr(97 + n % 3), 'node' || n % 1000 || '-bb' || n % 40, \
      'g_k_c' || 1 + n % 50 || '_m' || 16 * (1 + n % 50), 'unknown' FROM generate_series(1, ";

const BARE: &str = "SELECT id, name, status, tenant_id, created, os_ext_az_availability_zone, os_ext_srv_attr_host, \
     flavor_name, os_type FROM openstack_servers_v4";

pub async fn measure(size: Size) -> Result<Row, Error> {
    let servers = size.pick(100_000, 10_000);
    let postgres = Postgres::start(Durability::None).await.map_err(failed)?;
    postgres.create(DATABASE).await.map_err(failed)?;
    postgres.ask(DATABASE, &format!("{FILL}{servers}) n; ANALYZE")).await.map_err(failed)?;
    let mut bare = PgConnection::connect(&postgres.url(DATABASE)).await.map_err(failed)?;
    let mut table = table(&postgres)?;
    let pairs = alternate(size.rounds(15, 3), async |_, side| match side {
        Side::Operator => read(&mut table).await.map(|(_, seconds)| seconds),
        Side::Floor => read_bare(&mut bare).await,
    });
    let pairs = pairs.await?;
    let times = ratio(&pairs, |seconds| *seconds);
    let [ours, theirs] = [Side::Operator, Side::Floor].map(|side| {
        let of = |pair: &pairs::Pair<f64>| if side == Side::Operator { pair.operator } else { pair.floor };
        1e3 * pairs::median(pairs.iter().map(of))
    });
    let bytes = bytes_of_vm(&mut table).await?;
    let what = format!("reading {servers} servers from PostgreSQL");
    let goals = vec![
        Goal::wanted(
            format!("at most {TIMES} times a bare client that reads the same columns"),
            format!("{times:.2} times ({ours:.0} ms to {theirs:.0} ms)"),
            times <= TIMES,
        ),
        Goal::wanted(format!("at most {BYTES} bytes of memory per VM"), format!("{bytes:.0} bytes"), bytes <= BYTES),
    ];
    Ok(Row { letter: 'v', what, goals })
}

/// The seconds until the snapshot is there.
async fn read(table: &mut PostgresTable) -> Result<(VmSnapshot, f64), Error> {
    let began = Instant::now();
    let contents = table.read_all(&DatasourceState::default()).await.map_err(failed)?;
    let snapshot = VmSnapshot::new(contents.rows, contents.flavors, Timestamp::UNIX_EPOCH);
    Ok((snapshot, began.elapsed().as_secs_f64()))
}

/// The seconds until every text is a `String`.
async fn read_bare(connection: &mut PgConnection) -> Result<f64, Error> {
    let began = Instant::now();
    let rows = sqlx::query(BARE).fetch_all(connection).await.map_err(failed)?;
    let texts = rows.iter().map(|row| (0..9).map(|column| row.try_get(column)).collect());
    let texts: Vec<Vec<String>> = texts.collect::<Result<_, sqlx::Error>>().map_err(failed)?;
    black_box(texts);
    Ok(began.elapsed().as_secs_f64())
}

/// The growth of this process by further snapshots.
async fn bytes_of_vm(table: &mut PostgresTable) -> Result<f64, Error> {
    let mut held = vec![read(table).await?.0];
    let before = proc::usage(std::process::id())?.resident_kib;
    for _ in 0..HELD {
        held.push(read(table).await?.0);
    }
    let grown = proc::usage(std::process::id())?.resident_kib.saturating_sub(before);
    let vms: usize = held[1..].iter().map(|snapshot| snapshot.vms().len()).sum();
    Ok(pairs::per(grown * 1024, vms))
}

fn table(postgres: &Postgres) -> Result<PostgresTable, Error> {
    let metrics = VmSourceMetrics::register(&Metrics::new(&std::collections::BTreeMap::new())?)?;
    let url = postgres.url(DATABASE);
    let address = url.rsplit_once('/').and_then(|(server, _)| server.rsplit_once(':'));
    let (_, port) = address.ok_or_else(|| Error::Scene(url.clone()))?;
    let values =
        [("host", "127.0.0.1"), ("user", "berth"), ("password", "any"), ("port", port), ("database", DATABASE)];
    let values = values.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    Ok(PostgresTable::new(Arc::new(Fixed(values.into())), "berth-bench".to_owned(), metrics))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Scene(format!("{error}"))
}

/// A Datasource whose Secret has these values.
struct Fixed(SecretValues);

impl DatasourceReader for Fixed {
    fn name(&self) -> &'static str {
        "bench"
    }

    fn is_required(&self) -> bool {
        true
    }

    fn find(&self) -> FoundDatasource {
        FoundDatasource::Present(DatasourceState::default())
    }

    fn secret<'a>(&'a self, _: &'a SecretName) -> BoxFuture<'a, Result<SecretValues, String>> {
        std::future::ready(Ok(self.0.clone())).boxed()
    }
}
