//! The tables in PostgreSQL: one connection, kept between reads, with the access of the Secret that the Datasource
//! names.

use std::sync::Arc;
use std::time::Duration;

use berth_core::VmId;
use berth_core::flavor::Flavor;
use futures::{FutureExt as _, TryStreamExt as _};
use secrecy::ExposeSecret as _;
use sqlx::postgres::{PgConnectOptions, PgRow, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::time::timeout;
use tracing::warn;

use crate::access::{DatabaseAccess, SslMode};
use crate::datasource::{DatasourceReader, DatasourceState};
use crate::error::{ReadStep, VmSourceError};
use crate::metrics::{ConnectionMetrics, ConnectionState, VmSourceMetrics};
use crate::rows::{FlavorColumns, ServerColumns, ServerRows, flavors_of};
use crate::snapshot::VmRow;
use crate::table::{Deadlines, Read, TableContents, VmTable};

/// The server reports an expired statement itself; this is for one that does not answer at all.
const NO_ANSWER: Duration = Duration::from_secs(2);

macro_rules! servers {
    ($($condition:literal)?) => {
        concat!(
            "SELECT COALESCE(id::text, ''), COALESCE(name::text, ''), COALESCE(status::text, ''), ",
            "COALESCE(tenant_id::text, ''), COALESCE(created::text, ''), ",
            "COALESCE(os_ext_az_availability_zone::text, ''), COALESCE(os_ext_srv_attr_host::text, ''), ",
            "COALESCE(flavor_name::text, ''), COALESCE(os_type::text, '') FROM openstack_servers_v4",
            $($condition)?
        )
    };
}

const ALL_SERVERS: &str = servers!();
const SOME_SERVERS: &str = servers!(" WHERE id = ANY($1)");
const FLAVORS: &str = "SELECT COALESCE(id::text, ''), COALESCE(name::text, ''), COALESCE(vcpus::bigint, 0), \
     COALESCE(ram::bigint, 0), COALESCE(disk::bigint, 0), COALESCE(extra_specs::text, '') FROM openstack_flavors_v2";

/// Reads the tables in PostgreSQL.
pub struct PostgresTable {
    datasource: Arc<dyn DatasourceReader>,
    /// How the connection is called in the database.
    application: String,
    deadlines: Deadlines,
    opened: Option<Opened>,
    metrics: ConnectionMetrics,
    /// The host of the last connection without encryption.
    warned_about: Option<String>,
}

struct Opened {
    access: DatabaseAccess,
    connection: PgConnection,
}

impl PostgresTable {
    pub fn new(datasource: Arc<dyn DatasourceReader>, application: String, metrics: VmSourceMetrics) -> Self {
        let (deadlines, metrics) = (Deadlines::default(), ConnectionMetrics::new(metrics));
        Self { datasource, application, deadlines, opened: None, metrics, warned_about: None }
    }

    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    /// The tables, or only these servers. A connection that broke while it was idle is replaced.
    async fn read(&mut self, state: &DatasourceState, ids: Option<&[VmId]>) -> Result<TableContents, VmSourceError> {
        let was_idle = self.opened.is_some();
        match self.read_once(state, ids).await {
            Err(error) if was_idle && error.is_broken_connection() => self.read_once(state, ids).await,
            result => result,
        }
    }

    /// After a failure the connection is closed: a statement may still run on it.
    async fn read_once(
        &mut self,
        state: &DatasourceState,
        ids: Option<&[VmId]>,
    ) -> Result<TableContents, VmSourceError> {
        let mut opened = match self.opened.take() {
            Some(opened) => opened,
            None => self.open(state).await?,
        };
        self.metrics.show(ConnectionState::InUse);
        let contents = contents(&mut opened.connection, ids, self.deadlines.statement).await;
        if contents.is_ok() {
            self.opened = Some(opened);
        }
        self.metrics.show(if contents.is_ok() { ConnectionState::Idle } else { ConnectionState::Closed });
        contents
    }

    async fn open(&mut self, state: &DatasourceState) -> Result<Opened, VmSourceError> {
        let access = access(&*self.datasource, state).await?;
        self.warn_about_plain_text(&access);
        self.metrics.attempt(&access.host, &access.database);
        let connecting = timeout(self.deadlines.connect, connect(&access, &self.application, self.deadlines.statement));
        let silent = || VmSourceError::Deadline { step: ReadStep::Connect, seconds: self.deadlines.connect.as_secs() };
        let connection = connecting.await.unwrap_or_else(|_| Err(silent()))?;
        Ok(Opened { access, connection })
    }

    /// The Secret or the Datasource may have changed while the connection was open. A Secret that cannot be read does
    /// not end a connection that works.
    async fn close_if_access_changed(&mut self, state: &DatasourceState) {
        if self.opened.is_none() {
            return;
        }
        let newest = access(&*self.datasource, state).await.ok();
        if newest.is_some_and(|newest| self.opened.as_ref().is_some_and(|opened| opened.access != newest)) {
            self.opened = None;
            self.metrics.show(ConnectionState::Closed);
        }
    }

    fn warn_about_plain_text(&mut self, access: &DatabaseAccess) {
        if access.ssl_mode == SslMode::Disable && self.warned_about.as_ref() != Some(&access.host) {
            warn!(
                host = access.host,
                "connection to the database of VMs not encrypted; set sslMode to verify-full in its secret"
            );
            self.warned_about = Some(access.host.clone());
        }
    }
}

impl VmTable for PostgresTable {
    fn read_all<'a>(&'a mut self, datasource: &'a DatasourceState) -> Read<'a, TableContents> {
        let read = async move {
            self.close_if_access_changed(datasource).await;
            self.read(datasource, None).await
        };
        read.boxed()
    }

    fn read_rows<'a>(&'a mut self, datasource: &'a DatasourceState, ids: &'a [VmId]) -> Read<'a, Vec<VmRow>> {
        async move { self.read(datasource, Some(ids)).await.map(|contents| contents.rows) }.boxed()
    }
}

async fn access(datasource: &dyn DatasourceReader, state: &DatasourceState) -> Result<DatabaseAccess, VmSourceError> {
    let (name, secret) = (|| datasource.name().to_owned(), || state.secret.clone());
    let values = datasource.secret(&state.secret).await;
    let values = values.map_err(|cause| VmSourceError::Secret { name: name(), secret: secret(), cause })?;
    DatabaseAccess::of_secret(&values).map_err(|fault| VmSourceError::SecretData {
        name: name(),
        secret: secret(),
        fault,
    })
}

/// Every setting is given, so that the environment of the process does not matter.
fn options(access: &DatabaseAccess, application: &str) -> PgConnectOptions {
    let DatabaseAccess { host, user, password, database, port, ssl_mode, authority } = access;
    let mode = match (ssl_mode, authority) {
        (SslMode::Disable, _) => PgSslMode::Disable,
        (SslMode::Require, None) => PgSslMode::Require,
        // An authority that is given is meant to be checked.
        (SslMode::Require, Some(_)) | (SslMode::VerifyFull, _) => PgSslMode::VerifyFull,
    };
    let options = PgConnectOptions::new_without_pgpass().host(host).port(*port).username(user);
    let options = options.password(password.expose_secret()).database(database).ssl_mode(mode);
    let options = options.application_name(application).disable_statement_logging();
    match authority {
        Some(authority) => options.ssl_root_cert_from_pem(authority.clone().into_bytes()),
        None => options,
    }
}

async fn connect(
    access: &DatabaseAccess,
    application: &str,
    statement: Duration,
) -> Result<PgConnection, VmSourceError> {
    let failed = |source| VmSourceError::postgres(ReadStep::Connect, source);
    let mut connection = PgConnection::connect_with(&options(access, application)).await.map_err(failed)?;
    let settings = format!(
        "SET statement_timeout = {}; SET default_transaction_read_only = on; SET timezone = 'UTC'",
        statement.as_millis()
    );
    connection.execute(settings.as_str()).await.map_err(failed)?;
    Ok(connection)
}

async fn contents(
    connection: &mut PgConnection,
    ids: Option<&[VmId]>,
    statement: Duration,
) -> Result<TableContents, VmSourceError> {
    let step = if ids.is_none() { ReadStep::Servers } else { ReadStep::Server };
    let rows = within(statement, step, servers(&mut *connection, ids)).await?;
    let flavors = match ids {
        None => within(statement, ReadStep::Flavors, flavors(connection)).await?,
        Some(_) => Vec::new(),
    };
    Ok(TableContents { rows, flavors })
}

/// The server ends the statement after the time; a server that does not answer gets a little longer.
async fn within<T>(
    statement: Duration,
    step: ReadStep,
    work: impl Future<Output = Result<T, VmSourceError>>,
) -> Result<T, VmSourceError> {
    let silent = || VmSourceError::Deadline { step, seconds: (statement + NO_ANSWER).as_secs() };
    timeout(statement + NO_ANSWER, work).await.unwrap_or_else(|_| Err(silent()))
}

async fn servers(connection: &mut PgConnection, ids: Option<&[VmId]>) -> Result<Vec<VmRow>, VmSourceError> {
    let step = if ids.is_none() { ReadStep::Servers } else { ReadStep::Server };
    let failed = |source| VmSourceError::postgres(step, source);
    let query = match ids {
        None => sqlx::query(ALL_SERVERS),
        Some(ids) => sqlx::query(SOME_SERVERS).bind(ids.iter().map(VmId::as_str).collect::<Vec<_>>()),
    };
    let (mut found, mut rows) = (query.persistent(false).fetch(connection), ServerRows::default());
    while let Some(row) = found.try_next().await.map_err(failed)? {
        rows.add(&server(&row).map_err(failed)?)?;
    }
    Ok(rows.finish())
}

fn server(row: &PgRow) -> Result<ServerColumns<'_>, sqlx::Error> {
    Ok(ServerColumns {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        status: row.try_get(2)?,
        project: row.try_get(3)?,
        created: row.try_get(4)?,
        zone: row.try_get(5)?,
        host: row.try_get(6)?,
        flavor: row.try_get(7)?,
        os_type: row.try_get(8)?,
    })
}

async fn flavors(connection: &mut PgConnection) -> Result<Vec<Flavor>, VmSourceError> {
    let failed = |source| VmSourceError::postgres(ReadStep::Flavors, source);
    let mut found = sqlx::query(FLAVORS).persistent(false).fetch(connection);
    let mut columns = Vec::new();
    while let Some(row) = found.try_next().await.map_err(failed)? {
        columns.push(flavor(&row).map_err(failed)?);
    }
    Ok(flavors_of(columns))
}

fn flavor(row: &PgRow) -> Result<FlavorColumns, sqlx::Error> {
    Ok(FlavorColumns {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        vcpus: row.try_get(2)?,
        ram: row.try_get(3)?,
        disk: row.try_get(4)?,
        extra_specs: row.try_get(5)?,
    })
}
