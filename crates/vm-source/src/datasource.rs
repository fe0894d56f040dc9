//! The object that names the database and says how fresh its tables are. The process that runs the refresher knows how
//! to read it.

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::access::{SecretName, SecretValues};

/// A Datasource as it is known at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasourceState {
    pub secret: SecretName,
    /// When the tables were last copied from Nova.
    pub last_synced: Option<Timestamp>,
    /// How many servers were copied then.
    pub number_of_objects: Option<i64>,
}

/// What is known of a Datasource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundDatasource {
    /// There is none of this name.
    Absent,
    /// It cannot be read, for this reason.
    Unknown(String),
    Present(DatasourceState),
}

/// Reads the Datasource and the Secret that it names.
pub trait DatasourceReader: Send + Sync + 'static {
    fn name(&self) -> &str;

    /// Whether the configuration names it. Otherwise there need not be one.
    fn is_required(&self) -> bool;

    /// The object as far as it is known; must not wait.
    fn find(&self) -> FoundDatasource;

    /// Reads the Secret now. The error is a sentence for users.
    fn secret<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<SecretValues, String>>;
}
