//! Credentials of Keystone that are in the configuration itself, for processes that read no Secret.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::mask::MASK;
use super::section::Section;
use super::settings::settings;

settings! {
    /// Keys of the top level.
    pub struct KeystoneKeys = read(s, has_secret: bool) {
        /// Keystone, with or without `/v3`, if its credentials are in the configuration: with `osUsername` and `osPassword`, instead of
        /// `keystoneSecretRef`.
        url: Option<String> = url("keystoneURL", "none"),
        /// User that logs in.
        user: Option<String> = optional("osUsername", "none"),
        /// Password of that user. Belongs into the secrets file.
        password: Option<Password> = password("osPassword", "none"),
        /// Project of its login.
        project: String = text("osProjectName", ""),
        /// Domain of the user.
        user_domain: String = text("osUserDomainName", ""),
        /// Domain of the project.
        project_domain: String = text("osProjectDomainName", ""),
        /// Whether there are credentials, here or in a Secret.
        has_credentials: bool = (check(s, has_secret)),
    }
}

/// Secret with or without its name, or these keys: not both, because one of them would have no effect.
fn check(s: &mut Section<'_>, has_secret: bool) -> bool {
    const KEYS: [&str; 3] = ["keystoneURL", "osUsername", "osPassword"];
    let missing: Vec<&str> = KEYS.into_iter().filter(|key| !s.has_text(key)).collect();
    if missing.len() == KEYS.len() {
        return has_secret;
    }
    if has_secret {
        s.error(
            "keystoneURL",
            "is set besides keystoneSecretRef; remove one of the two sources of credentials".to_owned(),
        );
    }
    if !missing.is_empty() {
        s.warning("keystoneURL", format!("has no effect without {}", missing.join(" and ")));
    }
    missing.is_empty()
}

/// A password. It is never shown.
#[derive(Clone, Debug)]
pub struct Password(SecretString);

impl Password {
    /// The password itself, to log in.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        self.reveal() == other.reveal()
    }
}

impl Eq for Password {}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Section<'_> {
    /// A password that may be missing. Errors do not show the value.
    fn password(&mut self, key: &'static str, absent: &str, meaning: &'static str) -> Option<Password> {
        let found = self.value(key, "text", absent.to_owned(), meaning, |found| Ok(found.clone()))?;
        if found.as_str() == Some("") {
            return None;
        }
        self.settle(key, MASK);
        let Some(text) = found.as_str() else {
            self.error(key, "is not a text; write one in quotes".to_owned());
            return None;
        };
        Some(Password(text.into()))
    }
}
