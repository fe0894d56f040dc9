//! Failures that only a SQLite file can have.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::Duration;

use berth_placement::ledger::sqlite::{LedgerLocation, SqliteLedger, backup};
use berth_placement::ledger::{Ledger as _, LedgerError, LedgerProblem, Operated as _, RequestError};
use berth_placement_model::{Command, Key};
use rusqlite::Connection;
use tokio::time::{sleep, timeout};

use crate::world::{OLD_ROWS, Still, World, claim, listed, metrics, providers, soon};

/// A program that another test forks shares the lock until it calls exec.
fn open(place: &LedgerLocation) -> Result<SqliteLedger, LedgerError> {
    let mut opened = SqliteLedger::open(place, Arc::new(Still), metrics());
    for _ in 0..20 {
        if !matches!(opened, Err(LedgerError::Taken { .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        opened = SqliteLedger::open(place, Arc::new(Still), metrics());
    }
    opened
}

#[tokio::test]
async fn a_second_server_is_refused_and_reported_who_has_the_file() {
    let world = World::sqlite().await;
    let refused = open(&LedgerLocation::File(world.file())).map(drop).unwrap_err().to_string();
    assert!(refused.contains("is in use by another process"), "{refused}");
    assert!(refused.contains(&std::process::id().to_string()), "{refused}");
}

#[tokio::test]
async fn only_our_user_may_read_the_files_of_a_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ledger = open(&LedgerLocation::File(path.clone())).unwrap();
    ledger
        .write(Command::CreateProvider { uuid: Key::new("p1"), name: "p1".to_owned(), parent: None }, soon())
        .await
        .unwrap();
    backup(&path, &folder.path().join("copy.db")).unwrap();
    let modes = fs::read_dir(folder.path()).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name(), entry.metadata().unwrap().permissions().mode() & 0o777)
    });
    let modes: Vec<_> = modes.collect();
    assert!(modes.len() >= 4 && modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
    ledger.close().await;
}

#[tokio::test]
async fn a_link_is_not_followed_and_a_name_like_a_uri_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let [link, target] = ["ledger.db", "target"].map(|name| folder.path().join(name));
    symlink(&target, &link).unwrap();
    let refused = open(&LedgerLocation::File(link)).map(drop).unwrap_err();
    let why = refused.source().unwrap().to_string();
    assert!(why.starts_with("it is a symbolic link, which is not followed"), "{why}");
    assert!(!target.exists());
    symlink(&target, folder.path().join("other.db.lock")).unwrap();
    assert!(open(&LedgerLocation::File(folder.path().join("other.db"))).is_err());
    assert!(!target.exists(), "the lock file is not followed either");
    let uri = folder.path().join("file:x?mode=memory");
    open(&LedgerLocation::File(uri.clone())).unwrap().close().await;
    assert!(uri.exists());
}

#[tokio::test]
async fn what_was_answered_is_there_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let place = LedgerLocation::File(folder.path().join("ledger.db"));
    let ledger = open(&place).unwrap();
    let create = Command::CreateProvider { uuid: Key::new("p1"), name: "p1".to_owned(), parent: None };
    ledger.write(create, soon()).await.unwrap();
    ledger.close().await;
    let ledger = open(&place).unwrap();
    while ledger.impediment().is_some() {
        tokio::task::yield_now().await;
    }
    assert!(ledger.model(soon()).await.unwrap().provider(&Key::new("p1")).is_some());
    ledger.close().await;
}

#[tokio::test]
async fn a_schema_for_newer_binaries_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = LedgerLocation::File(folder.path().join("ledger.db"));
    open(&place).unwrap().close().await;
    let upgrade = |sql| Connection::open(folder.path().join("ledger.db")).unwrap().execute(sql, []).unwrap();
    upgrade("UPDATE schema SET version = 9");
    let ledger = open(&place).unwrap();
    let create = Command::CreateProvider { uuid: Key::new("p1"), name: "p1".to_owned(), parent: None };
    ledger.write(create, soon()).await.unwrap();
    ledger.close().await;
    upgrade("UPDATE schema SET oldest_binary = 9");
    let refused = open(&place).map(drop).unwrap_err();
    assert!(matches!(refused, LedgerError::TooNew { version: 9, oldest_binary: 9, .. }), "{refused}");
}

#[tokio::test]
async fn a_file_of_the_first_schema_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../src/ledger/sqlite/schema-1.sql")).unwrap();
    old.execute_batch(OLD_ROWS).unwrap();
    drop(old);
    let ledger = open(&LedgerLocation::File(path)).unwrap();
    assert_eq!(listed(&ledger).await, ["p1", "p2"].map(Key::new), "by creation, because the order is not known");
    let (one, amounts): (_, &[(&str, u64)]) = ("a", &[("VCPU", 2)]);
    ledger.write(Command::SetAllocations(claim(one, &[("p2", amounts), ("p1", amounts)])), soon()).await.unwrap();
    assert_eq!(listed(&ledger).await, ["p2", "p1"].map(Key::new));
    ledger.close().await;
}

#[tokio::test]
async fn a_file_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    Connection::open(&path).unwrap().execute("CREATE TABLE songs (name TEXT)", []).unwrap();
    assert!(matches!(open(&LedgerLocation::File(path.clone())).map(drop).unwrap_err(), LedgerError::NotOurs { .. }));
    std::fs::write(&path, "this is no database, and it is long enough to be sure about that").unwrap();
    assert!(matches!(open(&LedgerLocation::File(path)).map(drop).unwrap_err(), LedgerError::Sqlite { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&LedgerLocation::File(path)).unwrap();
    ledger.limit_pages(60).await.unwrap();
    let mut made = Vec::new();
    let refused = loop {
        let name = format!("p{}-{}", made.len(), "x".repeat(150));
        let create = Command::CreateProvider { uuid: Key::new(&name), name: name.clone(), parent: None };
        match ledger.write(create, soon()).await {
            Ok(_) => made.push(Key::new(&name)),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, RequestError::Unavailable("the disk of the database is full".to_owned()));
    assert_eq!(problems(&ledger), [LedgerProblem::DiskFull]);
    assert_eq!((ledger.impediment(), ledger.impairment()), (None, Some(LedgerProblem::DiskFull.text())));
    assert!(made.len() > 5);
    let model = ledger.model(soon()).await.unwrap();
    assert_eq!(providers(&model).len(), made.len());
    ledger.limit_pages(100_000).await.unwrap();
    ledger.write(creation("after"), soon()).await.unwrap();
    assert_eq!((problems(&ledger), ledger.impairment()), (Vec::new(), None));
    ledger.close().await;
}

fn creation(name: &str) -> Command {
    Command::CreateProvider { uuid: Key::new(name), name: name.to_owned(), parent: None }
}

fn problems(ledger: &SqliteLedger) -> Vec<LedgerProblem> {
    ledger.problems().into_iter().filter_map(|(problem, holds)| holds.then_some(problem)).collect()
}

/// Waits until the ledger cannot work because of this, or can.
async fn reported(ledger: &SqliteLedger, expected: Option<LedgerProblem>) {
    let why = expected.map(LedgerProblem::text);
    let waited = timeout(Duration::from_secs(10), async {
        while ledger.impediment() != why {
            sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{:?} instead of {why:?}", ledger.impediment()));
    assert_eq!(problems(ledger), expected.into_iter().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_missing_or_replaced_gets_no_writes_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let [path, aside, other] = ["ledger.db", "aside.db", "other.db"].map(|name| folder.path().join(name));
    let ledger = open(&LedgerLocation::File(path.clone())).unwrap();
    ledger.write(creation("before"), soon()).await.unwrap();
    backup(&path, &other).unwrap();
    for problem in [LedgerProblem::FileMissing, LedgerProblem::FileReplaced] {
        fs::rename(&path, &aside).unwrap();
        if problem == LedgerProblem::FileReplaced {
            fs::copy(&other, &path).unwrap();
        }
        reported(&ledger, Some(problem)).await;
        let refused = Err(RequestError::Unavailable(problem.text().to_owned()));
        assert_eq!(ledger.write(creation("lost"), soon()).await, refused);
        assert_eq!(ledger.consumer(&Key::new("c"), soon()).await.map(drop), refused.map(|_| ()));
        assert!(ledger.model(soon()).await.unwrap().provider(&Key::new("before")).is_some());
        fs::rename(&aside, &path).unwrap();
        reported(&ledger, None).await;
        ledger.write(creation(problem.label()), soon()).await.unwrap();
        assert_eq!(ledger.check(soon()).await.unwrap(), Vec::<String>::new());
    }
    ledger.close().await;
}

#[tokio::test]
async fn a_backup_that_is_locked_out_fails_and_leaves_no_copy() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::sqlite().await;
    let copy = folder.path().join("copy.db");
    let other = Connection::open(folder.path().join("copy.db.partial")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let failed = backup(&world.file(), &copy).unwrap_err();
    assert!(failed.to_string().contains("another process has locked the database or the copy"), "{failed}");
    assert!(!copy.exists());
}

#[tokio::test]
async fn a_backup_is_a_ledger_with_everything_that_was_answered() {
    let world = World::sqlite().await;
    world.provider("p1", &[("VCPU", 10)]).await;
    world.ok(Command::SetAllocations(claim("c", &[("p1", &[("VCPU", 4)])]))).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    backup(&world.file(), &copy).unwrap();
    assert!(matches!(backup(&world.file(), &copy), Err(LedgerError::Exists { .. })));
    let ledger = open(&LedgerLocation::File(copy)).unwrap();
    let consumer = ledger.consumer(&Key::new("c"), soon()).await.unwrap().unwrap();
    assert_eq!(consumer.allocations.len(), 1);
    assert!(backup(&folder.path().join("none.db"), &folder.path().join("other.db")).is_err());
    assert!(!folder.path().join("other.db").exists());
}
