//! The tables of servers and flavors, in a SQLite file that an operator reads, or in a database.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::objects::ZONE;

/// Two flavors, of half a slot and of a slot, and no server.
pub const TABLES: &str = "\
    CREATE TABLE openstack_servers_v4 (id text PRIMARY KEY, name text, status text, tenant_id text, created text, \
      os_ext_az_availability_zone text, os_ext_srv_attr_host text, flavor_name text, os_type text); \
    CREATE TABLE openstack_flavors_v2 (id text PRIMARY KEY, name text, vcpus bigint, ram bigint, disk bigint, \
      extra_specs text); \
    INSERT INTO openstack_flavors_v2 VALUES ('1', 'small', 15, 245760, 0, ''), \
      ('2', 'mem_v4_c30_m480', 30, 491520, 64, '');";

/// The statement that adds a server on `node1`.
pub fn server(id: &str, project: &str, flavor: &str, created: &str) -> String {
    format!(
        "INSERT INTO openstack_servers_v4 VALUES ('{id}', '{id}', 'ACTIVE', '{project}', '{created}', '{ZONE}', 'node1', \
         '{flavor}', NULL);"
    )
}

/// A file with these tables.
pub struct VmFile {
    connection: Connection,
    path: PathBuf,
    _folder: TempDir,
}

impl VmFile {
    pub fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vms.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        Self { connection, path, _folder: folder }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self, statements: &str) {
        self.connection.execute_batch(statements).unwrap();
    }
}
