//! The database of the server under test: every start gets an empty one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_postgres::{Durability, Postgres};

use crate::Error;

#[derive(Debug, Clone)]
pub enum Database {
    /// SQLite, in a file in its own directory.
    File,
    Memory,
    /// One of many databases in a PostgreSQL cluster.
    Postgres(Cluster),
}

/// A cluster, and the number of databases that were created in it.
#[derive(Debug, Clone)]
pub struct Cluster {
    postgres: Arc<Postgres>,
    databases: Arc<AtomicUsize>,
}

impl Database {
    /// PostgreSQL, in a cluster that lives as long as this value.
    pub async fn postgres() -> Result<Self, Error> {
        let postgres = Arc::new(Postgres::start(Durability::None).await?);
        Ok(Self::Postgres(Cluster { postgres, databases: Arc::default() }))
    }

    /// The value of `--database` for a new, empty database.
    pub(crate) async fn fresh(&self, folder: &Path) -> Result<String, Error> {
        match self {
            Self::File => Ok(folder.join("placement.db").display().to_string()),
            Self::Memory => Ok(":memory:".to_owned()),
            Self::Postgres(cluster) => {
                let number = cluster.databases.fetch_add(1, Ordering::Relaxed);
                Ok(cluster.postgres.create(&format!("placement_{number}")).await?)
            }
        }
    }
}
