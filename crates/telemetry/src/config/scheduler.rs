//! The built-in scheduler: two keys of the top level that it shares with the reference, and the object `scheduler`.

use std::path::PathBuf;
use std::time::Duration;

use super::section::{Section, Zero, seconds};
use super::settings::settings;
use super::token::{Token, Tokens};
use crate::error::TelemetryError;

const MIB_32: u32 = 32 * 1024 * 1024;

/// How hosts of equal weight are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of VM and host: different VMs spread, one VM always gets the same order.
    Hash,
    /// By name.
    Name,
}

/// Which pipelines exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelines {
    /// Only Pipeline objects.
    Crd,
    /// Only those compiled in.
    BuiltIn,
    /// Those compiled in; a Pipeline object of the same name replaces one.
    BuiltInAndCrd,
}

const TIE_BREAKS: [(&str, TieBreak); 2] = [("hash", TieBreak::Hash), ("name", TieBreak::Name)];
const PIPELINES: [(&str, Pipelines); 3] =
    [("builtin+crd", Pipelines::BuiltInAndCrd), ("crd", Pipelines::Crd), ("builtin", Pipelines::BuiltIn)];

settings! {
    /// Settings of the scheduler.
    pub struct Scheduler = read_object(s, nova_limit: bool, shuffle: usize) check {
        /// `novaLimitHostsToRequest`: whether answers hold only hosts of the request.
        nova_limit_hosts_to_request: bool = (nova_limit),
        /// `evacuationShuffleK`: how many hosts at the head of an evacuation's answer are shuffled.
        evacuation_shuffle_k: usize = (shuffle),
        /// Order of hosts of equal weight: by a hash of VM and host, so that VMs spread, or by name.
        tie_break: TieBreak = choice_or("tieBreak", &TIE_BREAKS, 0),
        /// Pipelines that exist: Pipeline objects, those compiled in, or both, where an object replaces one compiled in under
        /// the same name.
        pipelines: Pipelines = choice_or("pipelines", &PIPELINES, 0),
        /// How long a host named for a slot over HTTP counts as taken before the slot shows it.
        assume_ttl_reservation: Duration = duration("assumeTTLReservation", seconds(30), Zero::Invalid),
        /// How long a host named for a VM over HTTP counts as taken before the VM shows up.
        assume_ttl_instance: Duration = duration("assumeTTLInstance", seconds(600), Zero::Invalid),
        /// Claims that a project may have; a request beyond that gets no hosts. Together they also take at most half of a zone beside slots.
        claims_per_project: usize = count("claimsPerProject", 1000, 1),
        /// Largest body of a request in bytes; a larger one is answered with 413.
        max_body_bytes: usize = count("maxBodyBytes", MIB_32, 1),
        /// Hosts of a cluster that could not be followed for so long are not offered; 0 = they always are.
        stale_after: Duration = duration("staleAfter", seconds(300), Zero::Off),
        /// Bearer token that callers of the scheduler API have to show. Belongs into the secrets file.
        token: Option<Token> = token("token", "all clients may ask"),
        /// File with the bearer tokens that callers may show, one or two, each on a line; read again when it changes. Instead of `token`.
        token_file: Option<PathBuf> = file("tokenFile", "none"),
    }
}

impl Scheduler {
    /// Whether callers of the scheduler API must show a token.
    pub fn wants_token(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    /// The tokens that callers must show, from the configuration or from the file; `None` if they need none.
    pub fn read_tokens(&self) -> Result<Option<Tokens>, TelemetryError> {
        match &self.token_file {
            Some(path) => Tokens::read_file(path).map(Some),
            None => Ok(self.token.clone().map(Tokens::from)),
        }
    }

    fn check(&self, s: &mut Section<'_>) {
        if self.token.is_some() && self.token_file.is_some() {
            s.error("tokenFile", "is set as well as token; remove token and write it into the file".to_owned());
        }
    }

    pub(super) fn read(root: &mut Section<'_>) -> Self {
        const LIMIT: &str = "Leave hosts out of an answer that Nova did not ask about: Nova fails on a host that was not in its request.";
        const SHUFFLE: &str = "Shuffle this many hosts at the head of the answer to an evacuation; 0 = none.";
        let nova_limit = root.flag("novaLimitHostsToRequest", true, LIMIT);
        let shuffle = root.count("evacuationShuffleK", 0, 0, SHUFFLE);
        root.section("scheduler", |s| Self::read_object(s, nova_limit, shuffle))
    }
}
