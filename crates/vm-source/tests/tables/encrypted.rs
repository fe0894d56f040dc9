//! TLS to PostgreSQL, as the Secret wants it.

use berth_postgres::{Certificates, Durability, Postgres};
use berth_vm_source::{FailureKind, VmSourceError, VmTable as _};

use crate::world::{Named, TABLES, failure_of, postgres_table, state};

const IS_ENCRYPTED: &str = "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) \
     where application_name = 'berth@here'";

async fn certify(postgres: &mut Postgres, certificates: &Certificates, name: &str) {
    let [certificate, key] = ["crt", "key"].map(|ending| certificates.text(name, ending).unwrap());
    postgres.certify(&certificate, &key).await.unwrap();
    postgres.restart().await.unwrap();
}

/// Reads with these values of the Secret; whether the connection is encrypted.
async fn read(postgres: &Postgres, values: &[(&str, &str)]) -> Result<bool, VmSourceError> {
    let named = Named::of(postgres, "nova");
    for (key, value) in values {
        named.set(key, value);
    }
    let mut table = postgres_table(&named);
    table.read_all(&state()).await?;
    Ok(postgres.ask("postgres", IS_ENCRYPTED).await.unwrap() == "t")
}

async fn refused(postgres: &Postgres, values: &[(&str, &str)]) -> String {
    let (kind, text) = failure_of(read(postgres, values).await);
    assert_eq!(kind, FailureKind::Encryption, "{text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_encrypted_as_the_secret_wants_it() {
    let certificates = Certificates::new().unwrap();
    for authority in ["authority", "other"] {
        certificates.make_authority(authority).await.unwrap();
    }
    certificates.make_server("right", "authority", "IP:127.0.0.1").await.unwrap();
    certificates.make_server("elsewhere", "authority", "DNS:db.example").await.unwrap();
    let [right, other] = ["authority", "other"].map(|name| certificates.text(name, "crt").unwrap());
    let full = |authority| [("sslMode", "verify-full"), ("caCert", authority)];
    let mut postgres = Postgres::start(Durability::Disk).await.unwrap();
    postgres.create("nova").await.unwrap();
    postgres.ask("nova", TABLES).await.unwrap();
    assert!(!read(&postgres, &[]).await.unwrap());
    let text = refused(&postgres, &[("sslMode", "require")]).await;
    assert!(text.contains("server does not support TLS"), "{text}");

    certify(&mut postgres, &certificates, "right").await;
    assert!(!read(&postgres, &[("sslMode", "disable")]).await.unwrap());
    assert!(read(&postgres, &[("sslMode", "require")]).await.unwrap());
    assert!(read(&postgres, &full(&right)).await.unwrap());
    for values in [full(&other), [("sslMode", "require"), ("caCert", &other)], full("no certificate")] {
        let text = refused(&postgres, &values).await;
        assert!(text.contains("certificate"), "{text}");
    }

    certify(&mut postgres, &certificates, "elsewhere").await;
    for mode in ["verify-full", "require"] {
        let text = refused(&postgres, &[("sslMode", mode), ("caCert", &right)]).await;
        assert!(text.contains("db.example"), "{text}");
    }
    assert!(read(&postgres, &[("sslMode", "require")]).await.unwrap(), "nothing is checked without an authority");
}
