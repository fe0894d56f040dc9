//! Where the server under test keeps its ledger: every start gets an empty one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_postgres::{Durability, Postgres};

use crate::Error;

/// Which database a server is given.
#[derive(Debug, Clone)]
pub enum Database {
    /// SQLite, in a file of a folder of its own.
    File,
    /// SQLite, in memory.
    Memory,
    /// One of many in a cluster of PostgreSQL.
    Postgres(Cluster),
}

/// A cluster, and how many databases were made in it.
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

    /// What `--database` is, for a new and empty one.
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
