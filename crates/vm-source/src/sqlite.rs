//! The tables in a SQLite file, for local runs and tests. The file is opened for each read, on a thread that may block.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_core::VmId;
use berth_core::flavor::Flavor;
use futures::FutureExt as _;
use rusqlite::{Connection, OpenFlags, Row};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::datasource::DatasourceState;
use crate::error::{ReadStep, VmSourceError};
use crate::rows::{FlavorColumns, ServerColumns, ServerRows, flavors_of};
use crate::snapshot::VmRow;
use crate::table::{Deadlines, Read, TableContents, VmTable};

/// How long a writer may hold the file.
const BUSY: Duration = Duration::from_secs(5);

macro_rules! servers {
    ($($condition:literal)?) => {
        concat!(
            "SELECT CAST(COALESCE(id, '') AS TEXT), CAST(COALESCE(name, '') AS TEXT), ",
            "CAST(COALESCE(status, '') AS TEXT), CAST(COALESCE(tenant_id, '') AS TEXT), ",
            "CAST(COALESCE(created, '') AS TEXT), CAST(COALESCE(os_ext_az_availability_zone, '') AS TEXT), ",
            "CAST(COALESCE(os_ext_srv_attr_host, '') AS TEXT), CAST(COALESCE(flavor_name, '') AS TEXT), ",
            "CAST(COALESCE(os_type, '') AS TEXT) FROM openstack_servers_v4",
            $($condition)?
        )
    };
}

const ALL_SERVERS: &str = servers!();
const SOME_SERVERS: &str = servers!(" WHERE id IN (SELECT value FROM json_each(?1))");
const FLAVORS: &str = "SELECT CAST(COALESCE(id, '') AS TEXT), CAST(COALESCE(name, '') AS TEXT), \
     CAST(COALESCE(vcpus, 0) AS INTEGER), CAST(COALESCE(ram, 0) AS INTEGER), CAST(COALESCE(disk, 0) AS INTEGER), \
     CAST(COALESCE(extra_specs, '') AS TEXT) FROM openstack_flavors_v2";

/// Reads the tables in a SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteTable {
    path: PathBuf,
    deadlines: Deadlines,
}

impl SqliteTable {
    pub fn new(path: PathBuf) -> Self {
        Self { path, deadlines: Deadlines::default() }
    }

    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    async fn run(&self, ids: Option<Vec<VmId>>) -> Result<TableContents, VmSourceError> {
        let step = if ids.is_none() { ReadStep::Servers } else { ReadStep::Server };
        let (reader, (send, interrupt)) = (FileReader { path: self.path.clone() }, oneshot::channel());
        let statement = self.deadlines.statement;
        let reading = spawn_blocking(move || {
            let connection = reader.open(statement.min(BUSY))?;
            // Without a receiver the deadline has passed, and the result is not awaited.
            let _ = send.send(connection.get_interrupt_handle());
            reader.contents(&connection, ids.as_deref())
        });
        if let Ok(contents) = timeout(statement, reading).await {
            return contents.unwrap_or(Err(VmSourceError::Stopped { step }));
        }
        if let Some(Ok(handle)) = interrupt.now_or_never() {
            handle.interrupt();
        }
        Err(VmSourceError::Deadline { step, seconds: statement.as_secs() })
    }
}

impl VmTable for SqliteTable {
    fn read_all<'a>(&'a mut self, _: &'a DatasourceState) -> Read<'a, TableContents> {
        self.run(None).boxed()
    }

    fn read_rows<'a>(&'a mut self, _: &'a DatasourceState, ids: &'a [VmId]) -> Read<'a, Vec<VmRow>> {
        self.run(Some(ids.to_vec())).map(|contents| contents.map(|contents| contents.rows)).boxed()
    }
}

struct FileReader {
    path: PathBuf,
}

impl FileReader {
    fn open(&self, busy: Duration) -> Result<Connection, VmSourceError> {
        let open = |path: &Path| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(busy)?;
            Ok(connection)
        };
        open(&self.path).map_err(|source| self.failed(ReadStep::Connect, source))
    }

    fn contents(&self, connection: &Connection, ids: Option<&[VmId]>) -> Result<TableContents, VmSourceError> {
        let rows = self.servers(connection, ids)?;
        let flavors = match ids {
            None => flavors(connection).map_err(|source| self.failed(ReadStep::Flavors, source))?,
            Some(_) => Vec::new(),
        };
        Ok(TableContents { rows, flavors })
    }

    fn servers(&self, connection: &Connection, ids: Option<&[VmId]>) -> Result<Vec<VmRow>, VmSourceError> {
        let step = if ids.is_none() { ReadStep::Servers } else { ReadStep::Server };
        let failed = |source| self.failed(step, source);
        let wanted =
            ids.map(|ids| serde_json::Value::from(ids.iter().map(VmId::as_str).collect::<Vec<_>>()).to_string());
        let mut statement =
            connection.prepare(if ids.is_none() { ALL_SERVERS } else { SOME_SERVERS }).map_err(failed)?;
        let mut found = statement.query(rusqlite::params_from_iter(wanted)).map_err(failed)?;
        let mut rows = ServerRows::default();
        while let Some(row) = found.next().map_err(failed)? {
            add_server(row, &mut rows).map_err(failed)??;
        }
        Ok(rows.finish())
    }

    fn failed(&self, step: ReadStep, source: rusqlite::Error) -> VmSourceError {
        VmSourceError::sqlite(step, self.path.clone(), source)
    }
}

/// A file may have bytes in place of texts.
fn add_server(row: &Row<'_>, rows: &mut ServerRows) -> rusqlite::Result<Result<(), VmSourceError>> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?));
    let (id, name, status) = (text(0)?, text(1)?, text(2)?);
    let (project, created, zone) = (text(3)?, text(4)?, text(5)?);
    let (host, flavor, os_type) = (text(6)?, text(7)?, text(8)?);
    Ok(rows.add(&ServerColumns {
        id: &id,
        name: &name,
        status: &status,
        project: &project,
        created: &created,
        zone: &zone,
        host: &host,
        flavor: &flavor,
        os_type: &os_type,
    }))
}

fn flavors(connection: &Connection) -> rusqlite::Result<Vec<Flavor>> {
    let mut statement = connection.prepare(FLAVORS)?;
    let text = |row: &Row<'_>, column: usize| {
        Ok::<_, rusqlite::Error>(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
    };
    let columns = statement.query_map([], |row| {
        Ok(FlavorColumns {
            id: text(row, 0)?,
            name: text(row, 1)?,
            vcpus: row.get(2)?,
            ram: row.get(3)?,
            disk: row.get(4)?,
            extra_specs: text(row, 5)?,
        })
    })?;
    Ok(flavors_of(columns.collect::<Result<_, _>>()?))
}
