//! The credentials of a Secret.

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::OpenStackError;
use crate::catalog::Interface;
use crate::secret::SecretValues;

/// Reads credentials, so that those of a login are never outdated.
pub trait CredentialsSource: Send + Sync + 'static {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>>;
}

/// What is needed to log in.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The address of Keystone, with or without its version.
    pub(crate) url: String,
    /// The interface of endpoints that this deployment reaches.
    pub(crate) interface: Interface,
    pub(crate) method: Method,
}

/// Who logs in.
#[derive(Clone, Debug)]
pub(crate) enum Method {
    Password {
        user: String,
        user_domain: String,
        password: SecretString,
        /// Empty: the scope is the domain.
        project: String,
        /// Empty as well: there is no scope.
        project_domain: String,
    },
    /// It belongs to one user and one project.
    ApplicationCredential { id: String, secret: SecretString },
}

impl Credentials {
    /// Reads the values of a Secret. With `applicationCredentialID` it needs no user and no project.
    pub fn of_secret(values: &SecretValues) -> Result<Self, OpenStackError> {
        let url = text(values, "url")?;
        let interface: Interface = text(values, "availability")?.parse()?;
        let method = match optional(values, "applicationCredentialID")? {
            Some(id) => {
                Method::ApplicationCredential { id, secret: text(values, "applicationCredentialSecret")?.into() }
            }
            None => Method::Password {
                user: text(values, "username")?,
                password: text(values, "password")?.into(),
                project: text(values, "projectName")?,
                user_domain: text(values, "userDomainName")?,
                project_domain: text(values, "projectDomainName")?,
            },
        };
        Ok(Self { url, interface, method })
    }
}

fn text(values: &SecretValues, key: &'static str) -> Result<String, OpenStackError> {
    optional(values, key)?.ok_or(OpenStackError::MissingKey(key))
}

/// Without line ends: `kubectl create secret --from-file` keeps that of the file.
fn optional(values: &SecretValues, key: &'static str) -> Result<Option<String>, OpenStackError> {
    let Some(value) = values.get(key) else { return Ok(None) };
    let value = std::str::from_utf8(value).map_err(|_| OpenStackError::NoText(key))?;
    Ok(Some(value.trim_end_matches(['\r', '\n']).to_owned()))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn values(without: &str) -> SecretValues {
        let all = [
            ("url", "https://id.example/v3\n"),
            ("availability", "internal"),
            ("username", "berth"),
            ("password", "s3cret\r\n"),
            ("projectName", "service"),
            ("userDomainName", "Default"),
            ("projectDomainName", "Default"),
        ];
        let kept = all.into_iter().filter(|(key, _)| *key != without);
        kept.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn line_ends_are_no_part_of_a_value() {
        let read = Credentials::of_secret(&values("")).unwrap();
        let Method::Password { password, .. } = &read.method else { panic!("{read:?}") };
        assert_eq!((read.url.as_str(), password.expose_secret()), ("https://id.example/v3", "s3cret"));
        assert!(!format!("{read:?}").contains("s3cret"));
    }

    #[test]
    fn a_missing_key_is_named() {
        for key in ["url", "availability", "username", "password", "projectName", "userDomainName", "projectDomainName"]
        {
            let error = Credentials::of_secret(&values(key)).unwrap_err();
            assert_eq!(error.to_string(), format!("missing {key} in auth secret"));
        }
        let empty = Credentials::of_secret(&SecretValues::new()).unwrap_err();
        assert_eq!(empty.to_string(), "missing url in auth secret", "the first one");
    }

    #[test]
    fn an_application_credential_needs_neither_user_nor_project() {
        let mut values = values("");
        values.retain(|key, _| ["url", "availability"].contains(&key.as_str()));
        values.insert("applicationCredentialID".to_owned(), b"ac-1".to_vec());
        let error = Credentials::of_secret(&values).unwrap_err();
        assert_eq!(error.to_string(), "missing applicationCredentialSecret in auth secret");
        values.insert("applicationCredentialSecret".to_owned(), b"s3cret".to_vec());
        let read = Credentials::of_secret(&values).unwrap();
        assert!(matches!(read.method, Method::ApplicationCredential { ref id, .. } if id == "ac-1"));
    }

    #[test]
    fn another_interface_is_an_error() {
        let mut values = values("");
        values.insert("availability".to_owned(), b"private".to_vec());
        let error = Credentials::of_secret(&values).unwrap_err().to_string();
        assert_eq!(error, "availability of the auth secret is \"private\"; it must be public, internal or admin");
    }
}
