//! Why the VMs cannot be read.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use strum::{Display, EnumIter, IntoStaticStr};
use thiserror::Error;

use crate::access::{SecretFault, SecretName};

/// What was being done. The texts are those that clients of LIQUID know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum ReadStep {
    #[strum(to_string = "failed to connect to database")]
    Connect,
    #[strum(to_string = "failed to get servers")]
    Servers,
    #[strum(to_string = "failed to get flavors")]
    Flavors,
    /// Single servers, by their UUIDs.
    #[strum(to_string = "failed to get server")]
    Server,
}

/// What a database refuses or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum Problem {
    #[strum(to_string = "the server does not answer; check host and port of the secret, and the network")]
    Unreachable,
    #[strum(to_string = "user or password are refused; correct the secret")]
    Authentication,
    #[strum(
        to_string = "the connection cannot be encrypted as sslMode wants it; check caCert and host of the secret, and that the server has ssl=on"
    )]
    Encryption,
    #[strum(
        to_string = "a table or a column is not as expected; check that the writer of openstack_servers_v4 and openstack_flavors_v2 has a version that fits"
    )]
    Schema,
    #[strum(to_string = "the database took too long; check its load and its locks")]
    TooSlow,
    #[strum(to_string = "the query was refused; check the rights of the user")]
    Refused,
}

/// Everything that keeps the snapshot from being renewed. The former one stays.
#[derive(Debug, Error)]
pub enum VmSourceError {
    #[error("failed to connect to datasource {name}: failed to get datasource {name}: {cause}")]
    Datasource { name: String, cause: String },
    #[error(
        "failed to connect to datasource {name}: failed to get secret {secret}: {cause}; give the service account a Role in the namespace of the secret that allows get on it"
    )]
    Secret { name: String, secret: SecretName, cause: String },
    #[error("failed to connect to datasource {name}: {fault}; correct secret {secret}")]
    SecretData { name: String, secret: SecretName, fault: SecretFault },
    #[error("{step}: {problem}")]
    Postgres {
        step: ReadStep,
        problem: Problem,
        #[source]
        source: sqlx::Error,
    },
    #[error("{step}: {problem}: {}", path.display())]
    Sqlite {
        step: ReadStep,
        problem: Problem,
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("{step}: no answer within {seconds} s; check the load of the database and its locks")]
    Deadline { step: ReadStep, seconds: u64 },
    #[error(
        "failed to get servers: the table is empty, but the datasource has copied {expected} servers; check the writer of the table"
    )]
    Emptied { expected: i64 },
    #[error("failed to get flavors: the table is empty, but there are servers; check the writer of the table")]
    NoFlavors,
    #[error("{step}: the table has more than {limit}; check whether it is the right one")]
    TooLarge { step: ReadStep, limit: String },
    /// The process ends.
    #[error("{step}: the reader was stopped")]
    Stopped { step: ReadStep },
}

/// The kinds of failures, for metrics and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    Datasource,
    Secret,
    Unreachable,
    Authentication,
    Encryption,
    Schema,
    Timeout,
    Refused,
    TableEmptied,
    TableTooLarge,
}

impl FailureKind {
    /// The value of a label.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The reason of an event.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Datasource => "DatasourceUnreadable",
            Self::Secret => "DatabaseSecretUnusable",
            Self::Unreachable => "DatabaseUnreachable",
            Self::Authentication => "DatabaseAuthenticationFailed",
            Self::Encryption => "DatabaseEncryptionFailed",
            Self::Schema => "DatabaseSchemaUnexpected",
            Self::Timeout => "DatabaseTooSlow",
            Self::Refused => "DatabaseQueryRefused",
            Self::TableEmptied => "DatabaseTableEmptied",
            Self::TableTooLarge => "DatabaseTableTooLarge",
        }
    }
}

impl From<Problem> for FailureKind {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Unreachable => Self::Unreachable,
            Problem::Authentication => Self::Authentication,
            Problem::Encryption => Self::Encryption,
            Problem::Schema => Self::Schema,
            Problem::TooSlow => Self::Timeout,
            Problem::Refused => Self::Refused,
        }
    }
}

impl VmSourceError {
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Datasource { .. } => FailureKind::Datasource,
            Self::Secret { .. } | Self::SecretData { .. } => FailureKind::Secret,
            Self::Postgres { problem, .. } | Self::Sqlite { problem, .. } => (*problem).into(),
            Self::Deadline { .. } => FailureKind::Timeout,
            Self::Emptied { .. } | Self::NoFlavors => FailureKind::TableEmptied,
            Self::TooLarge { .. } => FailureKind::TableTooLarge,
            Self::Stopped { .. } => FailureKind::Unreachable,
        }
    }

    pub(crate) fn postgres(step: ReadStep, source: sqlx::Error) -> Self {
        Self::Postgres { step, problem: postgres_problem(&source), source }
    }

    pub(crate) fn sqlite(step: ReadStep, path: PathBuf, source: rusqlite::Error) -> Self {
        Self::Sqlite { step, problem: sqlite_problem(&source), path, source }
    }

    /// Whether the connection has ended, which says nothing about the next one.
    pub(crate) fn is_broken_connection(&self) -> bool {
        matches!(self, Self::Postgres { problem: Problem::Unreachable, step, .. } if *step != ReadStep::Connect)
    }

    /// Whether the tables were asked: that is repeated less often than an attempt to connect.
    pub(crate) fn has_queried(&self) -> bool {
        match self {
            Self::Datasource { .. } | Self::Secret { .. } | Self::SecretData { .. } => false,
            Self::Emptied { .. } | Self::NoFlavors => true,
            Self::Postgres { step, .. }
            | Self::Sqlite { step, .. }
            | Self::Deadline { step, .. }
            | Self::TooLarge { step, .. }
            | Self::Stopped { step } => *step != ReadStep::Connect,
        }
    }
}

fn postgres_problem(error: &sqlx::Error) -> Problem {
    use sqlx::Error::{ColumnDecode, ColumnIndexOutOfBounds, ColumnNotFound, Database, Decode, Io, Tls};
    match error {
        Database(error) => state_problem(error.code().as_deref().unwrap_or_default()),
        Tls(_) => Problem::Encryption,
        Io(error) if error.kind() == ErrorKind::InvalidData => Problem::Encryption,
        Io(error) if is_about_certificates(error) => Problem::Encryption,
        ColumnDecode { .. } | ColumnIndexOutOfBounds { .. } | ColumnNotFound(_) | Decode(_) => Problem::Schema,
        _ => Problem::Unreachable,
    }
}

/// The file or the text of a certificate cannot be used.
fn is_about_certificates(error: &io::Error) -> bool {
    error.to_string().contains("certificate")
}

/// What an SQLSTATE means.
fn state_problem(state: &str) -> Problem {
    match state {
        // Names of tables and columns, and types.
        "42P01" | "42703" | "42804" | "42883" | "22P02" => Problem::Schema,
        "57014" | "55P03" => Problem::TooSlow,
        "3D000" => Problem::Refused,
        _ => match state.get(..2).unwrap_or_default() {
            "28" => Problem::Authentication,
            // The connection is lost, too many of them, the server ends or begins.
            "08" | "53" | "57" => Problem::Unreachable,
            _ => Problem::Refused,
        },
    }
}

fn sqlite_problem(error: &rusqlite::Error) -> Problem {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, OperationInterrupted, PermissionDenied, Unknown};
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked | OperationInterrupted) => Problem::TooSlow,
        Some(PermissionDenied) => Problem::Refused,
        // SQLite has one code for all faults of a statement.
        Some(Unknown) | None => Problem::Schema,
        Some(_) => Problem::Unreachable,
    }
}
