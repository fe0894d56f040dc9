//! TLS to PostgreSQL: it is used when it is configured, and a server without a valid certificate ends the start.

use std::error::Error as _;
use std::sync::Arc;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::{LedgerError, Operated as _};
use berth_postgres::{Certificates, Durability, Postgres};

use crate::world::{Still, metrics};

async fn open(url: &str) -> Result<PostgresLedger, LedgerError> {
    PostgresLedger::open(url, Arc::new(Still), metrics()).await
}

async fn refused(url: &str) -> String {
    let error = open(url).await.map(drop).unwrap_err();
    assert!(matches!(error, LedgerError::Encryption { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("sslrootcert must be a file"), "{text}");
    error.source().unwrap().to_string()
}

async fn certify(postgres: &mut Postgres, certificates: &Certificates, name: &str) {
    let [certificate, key] = ["crt", "key"].map(|ending| certificates.text(name, ending).unwrap());
    postgres.certify(&certificate, &key).await.unwrap();
    postgres.restart().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_encrypted_and_only_the_right_server_gets_it() {
    let certificates = Certificates::new().unwrap();
    for authority in ["authority", "other"] {
        certificates.make_authority(authority).await.unwrap();
    }
    certificates.make_server("right", "authority", "IP:127.0.0.1").await.unwrap();
    certificates.make_server("elsewhere", "authority", "DNS:db.example").await.unwrap();
    let mut postgres = Postgres::start(Durability::None).await.unwrap();
    let url = postgres.create("encrypted").await.unwrap();
    let full = |authority: &str| {
        format!("{url}?sslmode=verify-full&sslrootcert={}", certificates.file(authority, "crt").display())
    };

    let text = refused(&full("authority")).await;
    assert!(text.contains("server does not support TLS"), "{text}");

    certify(&mut postgres, &certificates, "right").await;
    let ledger = open(&full("authority")).await.unwrap();
    while ledger.impediment().is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let encrypted = "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) \
         where application_name = 'berth-placement'";
    assert_eq!(postgres.ask("encrypted", encrypted).await.unwrap(), "t");
    drop(ledger);
    let text = refused(&full("other")).await;
    assert!(text.contains("invalid peer certificate: UnknownIssuer"), "{text}");

    certify(&mut postgres, &certificates, "elsewhere").await;
    let text = refused(&full("authority")).await;
    assert!(text.contains("invalid peer certificate") && text.contains("db.example"), "{text}");
}
