//! What only the leader knows about a commitment, a slot or a host: the question and the answer of `/v1/explain`, and the
//! client that asks. The server is in [`crate::server`].

mod answer;
mod client;
#[cfg(test)]
mod tests;

use std::fmt;

use berth_cluster::ObjectKey;
use berth_core::HostName;

use crate::Role;

pub use answer::{
    AssumedAnswer, ClaimAnswer, LeaderAnswer, LimesAnswer, MissingVm, Reconciliation, ReconciliationFailure,
    ReconciliationState, Size, SlotAnswer,
};
pub use client::{ExplainError, ask};

/// The object that a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Commitment(ObjectKey),
    Slot(ObjectKey),
    /// Hosts are known by name alone.
    Host(HostName),
}

impl Subject {
    /// The path of the question, part by part.
    fn path(&self) -> Vec<&str> {
        let (kind, key) = match self {
            Self::Commitment(key) => ("commitments", key),
            Self::Slot(key) => ("slots", key),
            Self::Host(name) => return vec!["v1", "explain", "hosts", name.as_str()],
        };
        vec!["v1", "explain", kind, key.cluster.as_str(), &key.name]
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commitment(key) => write!(f, "commitment {key}"),
            Self::Slot(key) => write!(f, "slot {key}"),
            Self::Host(name) => write!(f, "host {name}"),
        }
    }
}

/// The rest of the process as the server of these questions sees it.
pub trait Explainer: Send + Sync + 'static {
    fn role(&self) -> Role;

    /// What this process, which leads, knows about the object; `None` if there is no such object. Takes a bounded time and
    /// changes nothing.
    fn explain(&self, subject: &Subject) -> Option<LeaderAnswer>;
}
