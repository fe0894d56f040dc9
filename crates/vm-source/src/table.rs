//! The tables of servers and flavors, in whatever database.

use std::time::Duration;

use berth_core::VmId;
use berth_core::flavor::Flavor;
use futures::future::BoxFuture;

use crate::datasource::DatasourceState;
use crate::error::VmSourceError;
use crate::snapshot::VmRow;

/// Everything in both tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableContents {
    /// All servers, also those without a host.
    pub rows: Vec<VmRow>,
    /// One for each name.
    pub flavors: Vec<Flavor>,
}

/// A read under way.
pub type Read<'a, T> = BoxFuture<'a, Result<T, VmSourceError>>;

/// Reads the tables. Every read ends within its deadline.
pub trait VmTable: Send + 'static {
    /// All servers and flavors of the database that the Datasource names.
    fn read_all<'a>(&'a mut self, datasource: &'a DatasourceState) -> Read<'a, TableContents>;

    /// The rows of these servers, in one query. Those that have none are left out.
    fn read_rows<'a>(&'a mut self, datasource: &'a DatasourceState, ids: &'a [VmId]) -> Read<'a, Vec<VmRow>>;
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub connect: Duration,
    pub statement: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), statement: Duration::from_secs(30) }
    }
}
