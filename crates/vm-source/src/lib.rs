//! The VMs of the cloud: one immutable snapshot of Nova's servers and flavors per process, read from the database that
//! a Datasource names. What the numbers mean is decided elsewhere.
//!
//! A [`VmTable`] reads the tables, in PostgreSQL or SQLite. The [`Refresher`] decides when, and publishes what was read
//! to the [`VmSource`], which everything else asks. Nothing that asks waits for the database.

mod access;
mod datasource;
mod error;
mod listed;
mod metrics;
mod postgres;
mod project_vms;
mod refresher;
mod rows;
mod schedule;
mod snapshot;
mod source;
mod sqlite;
mod table;

pub use access::{SecretFault, SecretName, SecretValues};
pub use datasource::{DatasourceReader, DatasourceState, FoundDatasource};
pub use error::{FailureKind, Problem, ReadStep, VmSourceError};
pub use listed::ListedVms;
pub use metrics::VmSourceMetrics;
pub use postgres::PostgresTable;
pub use project_vms::project_vms;
pub use refresher::{Failure, RefreshSignals, Refresher, RefresherParts};
pub use rows::{FlavorColumns, ServerColumns, ServerRows, flavors_of};
pub use schedule::Intervals;
pub use snapshot::{Vm, VmRow, VmSnapshot};
pub use source::{SnapshotChange, Unavailable, VmSource};
pub use sqlite::SqliteTable;
pub use table::{Deadlines, Read, TableContents, VmTable};
