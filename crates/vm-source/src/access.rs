//! How to reach the database: the values of the Secret that a Datasource names.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

/// The values of a Secret.
pub type SecretValues = BTreeMap<String, Vec<u8>>;

/// The Secret with the access to the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretName {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What is wrong with the values of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SecretFault {
    #[error("missing {0} in secret data")]
    Missing(&'static str),
    #[error("{0} in secret data is no text in UTF-8")]
    NoText(&'static str),
    #[error("port in secret data is no number from 1 to 65535")]
    Port,
    #[error("sslMode in secret data is none of disable, require and verify-full")]
    SslMode,
}

/// How the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    Disable,
    Require,
    VerifyFull,
}

/// The access to a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseAccess {
    pub host: String,
    pub user: String,
    pub password: SecretString,
    pub database: String,
    pub port: u16,
    pub ssl_mode: SslMode,
    /// The authority that signed the certificate of the server, in PEM; without it those of the machine.
    pub authority: Option<String>,
}

impl PartialEq for DatabaseAccess {
    fn eq(&self, other: &Self) -> bool {
        let shown = |one: &Self| {
            let Self { host, user, database, port, ssl_mode, authority, .. } = one.clone();
            (host, user, database, port, ssl_mode, authority)
        };
        shown(self) == shown(other) && self.password.expose_secret() == other.password.expose_secret()
    }
}

impl DatabaseAccess {
    /// Line ends are removed from the values, because files that end with one are often made into Secrets.
    pub fn of_secret(values: &SecretValues) -> Result<Self, SecretFault> {
        let optional = |key| text(values, key).transpose();
        let required = |key| optional(key)?.ok_or(SecretFault::Missing(key));
        let (host, user, password) = (required("host")?, required("user")?, required("password")?.into());
        let (database, port) = (required("database")?, required("port")?);
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(SecretFault::Port)?;
        let ssl_mode = match optional("sslMode")?.as_deref() {
            None | Some("" | "disable") => SslMode::Disable,
            Some("require") => SslMode::Require,
            Some("verify-full") => SslMode::VerifyFull,
            Some(_) => return Err(SecretFault::SslMode),
        };
        // A certificate has lines.
        let authority = values.get("caCert").map(|bytes| utf8("caCert", bytes)).transpose()?;
        let authority = authority.filter(|authority| !authority.trim().is_empty());
        Ok(Self { host, user, password, database, port, ssl_mode, authority })
    }
}

fn text(values: &SecretValues, key: &'static str) -> Option<Result<String, SecretFault>> {
    values.get(key).map(|bytes| utf8(key, bytes).map(|text| text.replace('\n', "")))
}

fn utf8(key: &'static str, bytes: &[u8]) -> Result<String, SecretFault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| SecretFault::NoText(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> SecretValues {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    const ALL: [(&str, &str); 5] =
        [("host", "db\n"), ("user", "berth\n"), ("password", " s3cret \n"), ("database", "cortex"), ("port", "5432\n")];

    fn with(more: &[(&str, &str)]) -> Result<DatabaseAccess, SecretFault> {
        DatabaseAccess::of_secret(&values(&[&ALL, more].concat()))
    }

    #[test]
    fn line_ends_are_removed_and_nothing_else() {
        let access = with(&[]).unwrap();
        assert_eq!((access.host.as_str(), access.user.as_str(), access.database.as_str()), ("db", "berth", "cortex"));
        assert_eq!((access.password.expose_secret(), access.port), (" s3cret ", 5432));
        assert_eq!((access.ssl_mode, access.authority.as_deref()), (SslMode::Disable, None));
    }

    #[test]
    fn the_first_missing_key_is_named() {
        for (index, key) in ["host", "user", "password", "database", "port"].into_iter().enumerate() {
            let error = DatabaseAccess::of_secret(&values(&ALL[..index])).unwrap_err();
            assert_eq!(error.to_string(), format!("missing {key} in secret data"));
        }
    }

    #[test]
    fn encryption_is_chosen_by_the_secret() {
        let of = |mode| with(&[("sslMode", mode)]).map(|access| access.ssl_mode);
        assert_eq!((of("disable"), of("")), (Ok(SslMode::Disable), Ok(SslMode::Disable)));
        assert_eq!((of("require\n"), of("verify-full")), (Ok(SslMode::Require), Ok(SslMode::VerifyFull)));
        assert_eq!(of("prefer"), Err(SecretFault::SslMode));
        let authority = |text| with(&[("caCert", text)]).unwrap().authority;
        assert_eq!((authority("a\nb\n").as_deref(), authority("\n")), (Some("a\nb\n"), None));
    }

    #[test]
    fn unusable_values_are_faults_that_show_no_value() {
        for (port, fault) in [("0", SecretFault::Port), ("65536", SecretFault::Port), ("x", SecretFault::Port)] {
            let mut all = values(&ALL);
            all.insert("port".to_owned(), port.into());
            assert_eq!(DatabaseAccess::of_secret(&all).unwrap_err(), fault);
        }
        let mut all = values(&ALL);
        all.insert("password".to_owned(), vec![0xff, 0xfe]);
        assert_eq!(DatabaseAccess::of_secret(&all).unwrap_err(), SecretFault::NoText("password"));
        assert!(!format!("{:?}", with(&[])).contains("s3cret"));
    }

    #[test]
    fn another_password_is_another_access() {
        let changed = with(&[("password", "other")]).unwrap();
        assert!(with(&[]).unwrap() == with(&[]).unwrap() && with(&[]).unwrap() != changed);
    }
}
