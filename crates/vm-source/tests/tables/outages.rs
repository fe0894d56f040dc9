//! A PostgreSQL that is away, hangs or comes back: every read ends in time, and the next one works without a restart.

use std::time::{Duration, Instant};

use berth_postgres::{Durability, Postgres};
use berth_vm_source::{FailureKind, VmTable as _};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::world::{Named, TABLES, failure_of, fresh_database, postgres_table, state};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_is_read_again_when_it_is_back() {
    let mut postgres = Postgres::start(Durability::Disk).await.unwrap();
    postgres.create("nova").await.unwrap();
    postgres.ask("nova", TABLES).await.unwrap();
    let mut table = postgres_table(&Named::of(&postgres, "nova"));
    table.read_all(&state()).await.unwrap();
    postgres.kill();
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Unreachable, "{text}");
    assert!(text.starts_with("failed to connect to database: the server does not answer;"), "{text}");
    postgres.restart().await.unwrap();
    table.read_all(&state()).await.unwrap();

    postgres.pause().unwrap();
    let started_at = Instant::now();
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Timeout, "an open connection hangs: {text}");
    assert_eq!(text, "failed to get servers: no answer within 3 s; check the load of the database and its locks");
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Timeout, "a new connection hangs: {text}");
    assert!(text.starts_with("failed to connect to database: no answer within 2 s"), "{text}");
    assert!(started_at.elapsed() < Duration::from_secs(8), "{:?}", started_at.elapsed());
    postgres.resume().unwrap();
    table.read_all(&state()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_broke_while_it_was_idle_is_replaced_at_once() {
    let (postgres, database) = (berth_postgres::shared().await.unwrap(), fresh_database().await);
    postgres.ask(&database, TABLES).await.unwrap();
    let mut table = postgres_table(&Named::of(postgres, &database));
    table.read_all(&state()).await.unwrap();
    let end = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}' and application_name = 'berth@here'"
    );
    assert_eq!(postgres.ask("postgres", &end).await.unwrap(), "t");
    table.read_all(&state()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_hangs_is_given_up_by_the_server_and_repeated_later() {
    let (postgres, database) = (berth_postgres::shared().await.unwrap(), fresh_database().await);
    postgres.ask(&database, TABLES).await.unwrap();
    let mut table = postgres_table(&Named::of(postgres, &database));
    let mut writer = PgConnection::connect(&postgres.url(&database)).await.unwrap();
    writer.execute("BEGIN; LOCK TABLE openstack_flavors_v2 IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let started_at = Instant::now();
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Timeout, "{text}");
    assert!(text.starts_with("failed to get flavors: the database took too long;"), "{text}");
    assert!(text.contains("statement timeout") && started_at.elapsed() < Duration::from_secs(3), "{text}");
    writer.execute("COMMIT").await.unwrap();
    table.read_all(&state()).await.unwrap();
}
