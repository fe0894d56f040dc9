//! What is specific to SQLite files.

use std::time::{Duration, Instant};

use berth_vm_source::{FailureKind, SqliteTable, VmTable as _};

use crate::world::{DEADLINES, TABLES, failure_of, state};

#[tokio::test]
async fn a_missing_file_is_reported_with_its_path_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vms.db");
    let (kind, text) = failure_of(SqliteTable::new(file.clone()).read_all(&state()).await);
    assert_eq!(kind, FailureKind::Unreachable, "{text}");
    assert!(text.starts_with("failed to connect to database: ") && text.contains("vms.db"), "{text}");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_file_that_a_writer_holds_is_given_up_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vms.db");
    let writer = rusqlite::Connection::open(&file).unwrap();
    writer.execute_batch(TABLES).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let started_at = Instant::now();
    let mut table = SqliteTable::new(file).with_deadlines(DEADLINES);
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Timeout, "{text}");
    assert!(started_at.elapsed() < Duration::from_secs(4), "{:?}", started_at.elapsed());
    writer.execute_batch("COMMIT").unwrap();
    assert!(table.read_all(&state()).await.is_ok());
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vms.db");
    let writer = rusqlite::Connection::open(&file).unwrap();
    writer.execute_batch(TABLES).unwrap();
    writer
        .execute_batch(
            "INSERT INTO openstack_servers_v4 (id, name, progress) VALUES (7, x'61ff62', 1); \
             INSERT INTO openstack_flavors_v2 (id, name, vcpus, ram, disk) VALUES ('1', 'm1', 'many', '16', 1.5)",
        )
        .unwrap();
    let contents = SqliteTable::new(file).read_all(&state()).await.unwrap();
    assert_eq!((contents.rows[0].id.as_str(), &*contents.rows[0].name), ("7", "a\u{fffd}b"));
    let flavor = &contents.flavors[0];
    assert_eq!((flavor.vcpus, flavor.memory_mib, flavor.disk_gib), (0, 16, 1));
}
