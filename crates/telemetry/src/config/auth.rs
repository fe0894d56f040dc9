//! `auth`: who may call the HTTP APIs.

use std::path::PathBuf;
use std::time::Duration;

use super::section::{Section, Zero, seconds};
use super::settings::settings;

/// How callers prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    /// Tokens are validated by Keystone.
    Keystone,
    /// The caller's word is taken, as tests of Placement do.
    NoAuth2,
    /// All callers have all rights.
    Off,
}

impl AuthMode {
    /// All of them, by their names in the configuration.
    pub(super) const CHOICES: [(&str, Self); 3] =
        [("keystone", Self::Keystone), ("noauth2", Self::NoAuth2), ("off", Self::Off)];
}

settings! {
    /// Settings of authentication.
    pub struct Auth = read(s, has_keystone: bool) {
        /// `auth.mode`, with its default worked out: Keystone if there are credentials, else off.
        mode: AuthMode = (mode(s, has_keystone)),
        /// File with rules of oslo.policy who may do what, which replace those that are compiled in.
        policy_file: Option<PathBuf> = file("policyFile", "compiled in"),
        /// How long a validated token counts before Keystone is asked again.
        token_cache_ttl: Duration = duration("tokenCacheTTL", seconds(300), Zero::Invalid),
    }
}

fn mode(s: &mut Section<'_>, has_keystone: bool) -> AuthMode {
    const MODE: &str =
        "How callers prove who they are: by a Keystone token, by their word alone (tests only), or not at all.";
    const ABSENT: &str = "`keystone` with `keystoneSecretRef` or `keystoneURL`, else `off`";
    const MISSING: &str = "is \"keystone\", but keystoneSecretRef is missing; name the secret with the credentials";
    let chosen = s.choice("mode", &AuthMode::CHOICES, ABSENT, MODE);
    if chosen == Some(AuthMode::Keystone) && !has_keystone {
        s.error("mode", MISSING.to_owned());
    }
    if chosen.is_none() && has_keystone {
        s.info(
            "mode",
            "is not set: the credentials of Keystone turn authentication on; set it to \"off\" to turn it off"
                .to_owned(),
        );
    }
    let mode = chosen.unwrap_or(if has_keystone { AuthMode::Keystone } else { AuthMode::Off });
    s.settle("mode", AuthMode::CHOICES.iter().find(|(_, one)| *one == mode).map(|(name, _)| *name));
    mode
}
