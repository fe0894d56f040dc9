//! Failures that only several processes on one PostgreSQL can have.

use std::sync::Arc;
use std::time::Duration;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::{Inspected, Ledger as _, LedgerError};
use berth_placement_model::{Command, Key};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::world::{OLD_ROWS, Still, World, claim, fresh_database, listed, metrics, soon};

async fn used(world: &World, replica: usize) -> u64 {
    let model = world.ledgers[replica].model(soon()).await.unwrap();
    let provider = model.provider(&Key::new("p1")).unwrap();
    provider.inventories().iter().map(|(_, held)| held.used).sum()
}

#[tokio::test]
async fn a_database_is_inspected_without_being_changed() {
    let url = fresh_database().await;
    for _ in 0..2 {
        assert_eq!(PostgresLedger::inspect(&url).await.unwrap(), Inspected::Empty);
    }
    drop(PostgresLedger::open(&url, Arc::new(Still), metrics()).await.unwrap());
    assert_eq!(PostgresLedger::inspect(&url).await.unwrap(), Inspected::UpToDate);
    let mut foreign = PgConnection::connect(&url).await.unwrap();
    foreign.execute("UPDATE schema SET version = 1").await.unwrap();
    assert_eq!(PostgresLedger::inspect(&url).await.unwrap(), Inspected::Outdated { migrations: 1 });
    foreign.execute("UPDATE schema SET oldest_binary = 99").await.unwrap();
    assert!(matches!(PostgresLedger::inspect(&url).await, Err(LedgerError::TooNew { .. })));
}

/// A foreign transaction with a lower ID than those that commit before it.
#[tokio::test]
async fn a_lower_number_that_commits_later_is_not_lost() {
    let world = World::postgres().await;
    world.provider("p1", &[("VCPU", 100)]).await;
    let mut slow = PgConnection::connect(&world.url).await.unwrap();
    slow.execute("BEGIN").await.unwrap();
    slow.execute("INSERT INTO changes (provider) SELECT id FROM providers WHERE uuid = 'p1'").await.unwrap();
    slow.execute("UPDATE inventories SET updated_at = 77").await.unwrap();
    // A higher ID commits, and both replicas read it.
    world.ok(Command::CreateProvider { uuid: Key::new("p2"), name: "p2".to_owned(), parent: None }).await;
    for ledger in &world.ledgers {
        let model = ledger.model(soon()).await.unwrap();
        assert!(model.provider(&Key::new("p2")).is_some());
    }
    slow.execute("COMMIT").await.unwrap();
    for ledger in &world.ledgers {
        let model = ledger.model(soon()).await.unwrap();
        let provider = model.provider(&Key::new("p1")).unwrap();
        assert_eq!(provider.inventories()[0].1.updated_at.unwrap().as_microsecond(), 77);
    }
}

/// During a rolling update an old server still writes after the migration.
#[tokio::test]
async fn servers_of_the_first_schema_work_on_after_the_migration() {
    let url = crate::world::fresh_database().await;
    let mut old = PgConnection::connect(&url).await.unwrap();
    old.execute(include_str!("../../src/ledger/postgres/schema-1.sql")).await.unwrap();
    old.execute(OLD_ROWS).await.unwrap();
    let ledger = PostgresLedger::open(&url, Arc::new(Still), metrics()).await.unwrap();
    let amounts: &[(&str, u64)] = &[("VCPU", 2)];
    ledger.write(Command::SetAllocations(claim("a", &[("p2", amounts), ("p1", amounts)])), soon()).await.unwrap();
    assert_eq!(listed(&ledger).await, ["p2", "p1"].map(Key::new));
    old.execute("DELETE FROM allocations").await.unwrap();
    old.execute(
        "INSERT INTO allocations (consumer, provider, class, used, created_at) \
         VALUES ('a', 2, 'VCPU', 2, 7), ('a', 1, 'VCPU', 2, 7)",
    )
    .await
    .unwrap();
    assert_eq!(listed(&ledger).await, ["p1", "p2"].map(Key::new), "by creation, because the order is not known");
}

/// A transaction of another database that stays open delays nothing.
#[tokio::test]
async fn a_transaction_elsewhere_holds_up_nothing() {
    let world = World::postgres().await;
    let other = crate::world::fresh_database().await;
    let mut open = PgConnection::connect(&other).await.unwrap();
    open.execute("BEGIN").await.unwrap();
    open.execute("CREATE TABLE anything ()").await.unwrap();
    world.provider("p1", &[("VCPU", 100)]).await;
    for amount in 1..30 {
        world.ok(Command::SetAllocations(claim("c", &[("p1", &[("VCPU", amount)])]))).await;
        assert_eq!(used(&world, 1).await, amount);
    }
    open.execute("ROLLBACK").await.unwrap();
    world.ok(Command::SetAllocations(claim("c", &[("p1", &[("VCPU", 50)])]))).await;
    assert_eq!(used(&world, 1).await, 50);
}

/// A replica that missed a pruned record rebuilds its model.
#[tokio::test]
async fn a_replica_behind_the_pruned_records_is_built_anew() {
    let world = World::postgres().await;
    world.provider("p1", &[("VCPU", 100)]).await;
    assert_eq!(used(&world, 1).await, 0);
    let mut hand = PgConnection::connect(&world.url).await.unwrap();
    hand.execute("BEGIN").await.unwrap();
    hand.execute("UPDATE inventories SET used = 9").await.unwrap();
    hand.execute("UPDATE pruned SET below = (pg_current_xact_id()::text::bigint + 1)::text::xid8").await.unwrap();
    hand.execute("COMMIT").await.unwrap();
    // 503 while the model is being rebuilt.
    let mut seen = Err(());
    for _ in 0..500 {
        seen = world.ledgers[1].model(soon()).await.map_err(drop).map(drop);
        if seen.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    seen.unwrap();
    assert_eq!(used(&world, 1).await, 9);
}

/// A replica whose connection broke recovers by itself.
#[tokio::test]
async fn broken_connections_are_made_anew() {
    let world = World::postgres().await;
    world.provider("p1", &[("VCPU", 100)]).await;
    let mut hand = PgConnection::connect(&world.url).await.unwrap();
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    hand.execute(kill).await.unwrap();
    // The write is retried on a new connection.
    world.ok(Command::SetAllocations(claim("c", &[("p1", &[("VCPU", 7)])]))).await;
    for replica in 0..2 {
        let mut seen = None;
        for _ in 0..500 {
            seen = world.ledgers[replica].model(soon()).await.ok();
            if seen.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(seen.is_some());
        assert_eq!(used(&world, replica).await, 7);
    }
}

#[tokio::test]
async fn a_schema_for_newer_binaries_is_refused() {
    let world = World::postgres().await;
    let mut hand = PgConnection::connect(&world.url).await.unwrap();
    hand.execute("UPDATE schema SET version = 9").await.unwrap();
    let again = PostgresLedger::open(&world.url, Arc::new(Still), metrics()).await.unwrap();
    let create = Command::CreateProvider { uuid: Key::new("p1"), name: "p1".to_owned(), parent: None };
    again.write(create, soon()).await.unwrap();
    assert!(world.model().await.provider(&Key::new("p1")).is_some(), "an existing client continues");
    hand.execute("UPDATE schema SET oldest_binary = 9").await.unwrap();
    let refused = PostgresLedger::open(&world.url, Arc::new(Still), metrics()).await.map(drop).unwrap_err();
    assert!(matches!(refused, LedgerError::TooNew { version: 9, .. }), "{refused}");
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let url = crate::world::fresh_database().await;
    let mut hand = PgConnection::connect(&url).await.unwrap();
    hand.execute("CREATE TABLE providers (name text)").await.unwrap();
    let refused = PostgresLedger::open(&url, Arc::new(Still), metrics()).await.map(drop).unwrap_err();
    assert!(matches!(refused, LedgerError::NotOurs { .. }), "{refused}");
}
