//! The built-in scheduler (document 60 section 12): two keys of the top level that it shares with the reference, and
//! the object `scheduler`.

use std::time::Duration;

use super::{
    section::{Section, Zero},
    token::Token,
};

const MIB_32: i64 = 32 * 1024 * 1024;

/// How hosts of equal weight are ordered (document 60 section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of VM and host: different VMs spread, one VM always gets the same order.
    Hash,
    /// By name.
    Name,
}

/// Which pipelines exist (document 60 section 12.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelines {
    /// Only Pipeline objects.
    Crd,
    /// Only those compiled in.
    BuiltIn,
    /// Those compiled in; a Pipeline object of the same name replaces one.
    BuiltInAndCrd,
}

/// Settings of the scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    /// `novaLimitHostsToRequest`: whether answers hold only hosts of the request.
    pub nova_limit_hosts_to_request: bool,
    /// `evacuationShuffleK`: how many hosts at the head of an evacuation's answer are shuffled.
    pub evacuation_shuffle_k: usize,
    /// `scheduler.tieBreak`.
    pub tie_break: TieBreak,
    /// `scheduler.pipelines`.
    pub pipelines: Pipelines,
    /// `scheduler.assumeTTLReservation`: how long the answer about a slot, given over HTTP, counts as taken.
    pub assume_ttl_reservation: Duration,
    /// `scheduler.assumeTTLInstance`: the same for a VM.
    pub assume_ttl_instance: Duration,
    /// `scheduler.maxBodyBytes`: largest body of a request.
    pub max_body_bytes: usize,
    /// `scheduler.staleAfter`: hosts of a cluster that was not heard of for so long are not offered; zero is never
    /// (document 60 B3).
    pub stale_after: Duration,
    /// `scheduler.token`: who asks over HTTP has to show it (document 22 section 12 no. 12).
    pub token: Option<Token>,
}

impl Scheduler {
    pub(super) fn read(root: &mut Section<'_>) -> Self {
        const LIMIT: &str =
            "Leave hosts out of an answer that Nova did not ask about. Should be true wherever Nova is the caller.";
        const STALE: &str =
            "Hosts of a cluster that could not be followed for so long are not offered; 0 = they always are.";
        const TOKEN: &str =
            "Bearer token that callers of the scheduler API have to show. Belongs into the secrets file.";
        const SHUFFLE: &str = "Shuffle this many hosts at the head of the answer to an evacuation; 0 = none.";
        let nova_limit_hosts_to_request = root.flag("novaLimitHostsToRequest", false, LIMIT);
        let shuffle = root.integer("evacuationShuffleK", 0, 0..=i64::from(u32::MAX), SHUFFLE);
        let object = |s: &mut Section<'_>| Self {
            nova_limit_hosts_to_request,
            evacuation_shuffle_k: usize::try_from(shuffle).unwrap_or(usize::MAX),
            tie_break: tie_break(s),
            pipelines: pipelines(s),
            assume_ttl_reservation: s.duration(
                "assumeTTLReservation",
                Duration::from_secs(30),
                Zero::Invalid,
                "How long a host named for a slot over HTTP counts as taken before the slot shows it.",
            ),
            assume_ttl_instance: s.duration(
                "assumeTTLInstance",
                Duration::from_secs(600),
                Zero::Invalid,
                "How long a host named for a VM over HTTP counts as taken before the VM shows up.",
            ),
            max_body_bytes: max_body_bytes(s),
            stale_after: s.duration("staleAfter", Duration::from_secs(300), Zero::Off, STALE),
            token: s.token("token", "everybody may ask", TOKEN),
        };
        root.section("scheduler", object)
    }
}

fn tie_break(s: &mut Section<'_>) -> TieBreak {
    const MEANING: &str = "Order of hosts of equal weight: by a hash of VM and host, so that VMs spread, or by name.";
    let choices = [("hash", TieBreak::Hash), ("name", TieBreak::Name)];
    s.choice("tieBreak", &choices, "hash", MEANING).unwrap_or(TieBreak::Hash)
}

fn pipelines(s: &mut Section<'_>) -> Pipelines {
    const MEANING: &str = "Pipelines that exist: Pipeline objects, those compiled in, or both, where an object \
                           replaces one compiled in under the same name.";
    let choices = [("builtin+crd", Pipelines::BuiltInAndCrd), ("crd", Pipelines::Crd), ("builtin", Pipelines::BuiltIn)];
    s.choice("pipelines", &choices, "builtin+crd", MEANING).unwrap_or(Pipelines::BuiltInAndCrd)
}

fn max_body_bytes(s: &mut Section<'_>) -> usize {
    const MEANING: &str = "Largest body of a request in bytes; a larger one is answered with 413.";
    usize::try_from(s.integer("maxBodyBytes", MIB_32, 1..=i64::from(u32::MAX), MEANING)).unwrap_or(usize::MAX)
}
