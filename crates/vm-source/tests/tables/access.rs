//! The access to PostgreSQL: the Secret is read again, one connection is kept, and it cannot write.

use std::fs;
use std::sync::atomic::Ordering;

use berth_postgres::{Durability, Postgres};
use berth_vm_source::{FailureKind, PostgresTable, VmTable as _};

use crate::world::{Named, TABLES, failure_of, fresh_database, metrics, postgres_table, state};

/// A cluster that asks the user `reader` for a password.
async fn with_passwords() -> Postgres {
    let postgres = Postgres::start(Durability::None).await.unwrap();
    postgres.create("nova").await.unwrap();
    postgres.ask("nova", TABLES).await.unwrap();
    let user = "CREATE ROLE reader LOGIN PASSWORD 'first'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader";
    postgres.ask("nova", user).await.unwrap();
    let rules = postgres.folder().join("data/pg_hba.conf");
    let others = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, format!("host all reader 127.0.0.1/32 scram-sha-256\n{others}")).unwrap();
    postgres.ask("nova", "SELECT pg_reload_conf()").await.unwrap();
    postgres
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_secret_takes_effect_without_a_restart() {
    let postgres = with_passwords().await;
    let named = Named::of(&postgres, "nova");
    named.set("user", "reader\n");
    named.set("password", "first\n");
    let mut table = postgres_table(&named);
    while let Err(error) = table.read_all(&state()).await {
        assert_eq!(error.kind(), FailureKind::Authentication, "until the rules are loaded: {error}");
    }
    postgres.ask("nova", "ALTER ROLE reader PASSWORD 'second'").await.unwrap();
    table.read_all(&state()).await.unwrap();
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'";
    postgres.ask("nova", end).await.unwrap();
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Authentication, "{text}");
    assert!(text.starts_with("failed to connect to database: user or password are refused; correct the secret: "));
    assert!(!text.contains("first"), "{text}");
    named.set("password", "second");
    table.read_all(&state()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_names_another_database_is_followed_and_one_that_is_away_ends_nothing() {
    let postgres = berth_postgres::shared().await.unwrap();
    let (one, other) = (fresh_database().await, fresh_database().await);
    for (database, vm) in [(&one, "a"), (&other, "b")] {
        let row = format!("{TABLES}; INSERT INTO openstack_servers_v4 (id) VALUES ('{vm}')");
        postgres.ask(database, &row).await.unwrap();
    }
    let named = Named::of(postgres, &one);
    let mut table = postgres_table(&named);
    let first = |contents: berth_vm_source::TableContents| contents.rows[0].id.to_string();
    assert_eq!(first(table.read_all(&state()).await.unwrap()), "a");
    named.set("database", &other);
    assert_eq!(first(table.read_all(&state()).await.unwrap()), "b");
    named.remove("host");
    assert_eq!(first(table.read_all(&state()).await.unwrap()), "b", "the connection works");
}

#[tokio::test]
async fn what_is_wrong_with_a_secret_is_named() {
    let named = Named::new(&[]);
    let (kind, text) = failure_of(postgres_table(&named).read_all(&state()).await);
    assert_eq!(kind, FailureKind::Secret);
    assert_eq!(
        text,
        "failed to connect to datasource nova-servers: failed to get secret cortex-system/cortex-nova-postgres: secrets \
         \"cortex-nova-postgres\" not found; give the service account a Role in the namespace of the secret that allows \
         get on it"
    );
    named.set("host", "db");
    named.set("username", "berth");
    let (kind, text) = failure_of(postgres_table(&named).read_all(&state()).await);
    assert_eq!(kind, FailureKind::Secret);
    assert_eq!(
        text,
        "failed to connect to datasource nova-servers: missing user in secret data; correct secret \
         cortex-system/cortex-nova-postgres"
    );
}

/// A table that writes when it is read.
const WRITING_VIEW: &str = "CREATE SEQUENCE written; DROP TABLE openstack_servers_v4; \
     CREATE VIEW openstack_servers_v4 AS SELECT '' AS id, '' AS name, '' AS status, '' AS tenant_id, '' AS created, \
       '' AS os_ext_az_availability_zone, '' AS os_ext_srv_attr_host, '' AS flavor_name, nextval('written') AS os_type";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_is_kept_that_is_named_and_cannot_write() {
    let (postgres, database) = (berth_postgres::shared().await.unwrap(), fresh_database().await);
    postgres.ask(&database, TABLES).await.unwrap();
    let (named, (registry, metrics)) = (Named::of(postgres, &database), metrics());
    let mut table = PostgresTable::new(named.clone(), "berth@pod-1".to_owned(), metrics);
    for _ in 0..3 {
        table.read_all(&state()).await.unwrap();
        table.read_rows(&state(), &["a".into()]).await.unwrap();
    }
    let connections = format!(
        "select application_name, count(*) from pg_stat_activity where datname = '{database}' and application_name <> 'psql' group by 1"
    );
    assert_eq!(postgres.ask("postgres", &connections).await.unwrap(), "berth@pod-1|1");
    assert_eq!(named.secret_reads.load(Ordering::Relaxed), 3, "once for each complete read");
    let text = registry.render();
    let labels = format!("{{database=\"{database}\",host=\"127.0.0.1\"}}");
    for (name, value) in [
        ("connection_attempts_total", 1),
        ("connections_max_open", 1),
        ("connections_open", 1),
        ("connections_in_use", 0),
        ("connections_idle", 1),
    ] {
        assert!(text.contains(&format!("cortex_db_{name}{labels} {value}\n")), "{name}: {text}");
    }
    postgres.ask(&database, WRITING_VIEW).await.unwrap();
    let (kind, text) = failure_of(table.read_all(&state()).await);
    assert_eq!(kind, FailureKind::Refused, "{text}");
    assert!(text.contains("read-only transaction"), "{text}");
    assert!(registry.render().contains(&format!("cortex_db_connections_open{labels} 0\n")), "it is closed");
}
