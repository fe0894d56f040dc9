//! TLS to PostgreSQL: it is used when it is configured, and a server without a valid certificate ends the start.

use std::error::Error as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::ledger::{LedgerError, Operated as _};
use berth_postgres::{Durability, Postgres};

use crate::world::{Still, metrics};

/// Certificates in a directory, by name, each with its key.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, ending: &str) -> String {
        self.0.path().join(format!("{name}.{ending}")).display().to_string()
    }

    fn text(&self, name: &str, ending: &str) -> String {
        std::fs::read_to_string(Path::new(&self.file(name, ending))).unwrap()
    }

    /// A new key and its certificate, self-signed unless an issuer is given.
    fn make(&self, name: &str, more: &[&str]) {
        let (key, certificate, subject) = (self.file(name, "key"), self.file(name, "crt"), format!("/CN={name}"));
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        let output = command.args(["-subj", &subject, "-keyout", &key, "-out", &certificate]).args(more).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The certificate of a server with this name, signed by an authority.
    fn make_server(&self, name: &str, authority: &str, called: &str) {
        let (signer, key) = (self.file(authority, "crt"), self.file(authority, "key"));
        let called = format!("subjectAltName={called}");
        let own = ["-addext", &called, "-addext", "basicConstraints=critical,CA:FALSE"];
        self.make(name, &[&own[..], &["-CA", &signer, "-CAkey", &key]].concat());
    }
}

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
    postgres.certify(&certificates.text(name, "crt"), &certificates.text(name, "key")).await.unwrap();
    postgres.restart().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_encrypted_and_only_the_right_server_gets_it() {
    let certificates = Certificates::new();
    certificates.make("authority", &[]);
    certificates.make("other", &[]);
    certificates.make_server("right", "authority", "IP:127.0.0.1");
    certificates.make_server("elsewhere", "authority", "DNS:db.example");
    let mut postgres = Postgres::start(Durability::None).await.unwrap();
    let url = postgres.create("encrypted").await.unwrap();
    let full =
        |authority: &str| format!("{url}?sslmode=verify-full&sslrootcert={}", certificates.file(authority, "crt"));

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
