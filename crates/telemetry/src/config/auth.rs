//! `auth`: who may call the HTTP APIs (decisions D9, U25).

use std::{path::PathBuf, time::Duration};

use super::section::{Section, Zero};

/// How callers prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    /// Tokens are validated by Keystone.
    Keystone,
    /// The caller's word is taken, as tests of Placement do.
    NoAuth2,
    /// Everybody may do everything.
    Off,
}

/// Settings of authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// `auth.mode`, with its default worked out: Keystone if there are credentials, else off.
    pub mode: AuthMode,
    /// `auth.policyFile`: who may do what; absent: the policy that is compiled in.
    pub policy_file: Option<PathBuf>,
    /// `auth.tokenCacheTTL`: how long a validated token is believed.
    pub token_cache_ttl: Duration,
}

impl Auth {
    pub(super) fn read(s: &mut Section<'_>, has_keystone: bool) -> Self {
        const MODE: &str =
            "How callers prove who they are: by a Keystone token, by their word alone (tests only), or not at all.";
        const ABSENT: &str = "`keystone` with `keystoneSecretRef`, else `off`";
        const POLICY: &str = "File with the rules who may do what.";
        let choices = [("keystone", AuthMode::Keystone), ("noauth2", AuthMode::NoAuth2), ("off", AuthMode::Off)];
        let chosen = s.choice("mode", &choices, ABSENT, MODE);
        if chosen == Some(AuthMode::Keystone) && !has_keystone {
            s.error(
                "mode",
                "is \"keystone\", but keystoneSecretRef is missing; name the secret with the credentials".to_owned(),
            );
        }
        let mode = chosen.unwrap_or(if has_keystone { AuthMode::Keystone } else { AuthMode::Off });
        s.settle("mode", choices.iter().find(|(_, one)| *one == mode).map(|(name, _)| *name));
        Self {
            mode,
            policy_file: s.optional("policyFile", "compiled in", POLICY).map(PathBuf::from),
            token_cache_ttl: s.duration(
                "tokenCacheTTL",
                Duration::from_secs(300),
                Zero::Invalid,
                "How long a validated token is believed without asking again.",
            ),
        }
    }
}
