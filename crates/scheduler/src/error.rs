//! The errors of the scheduler. A lack of free capacity is a result, not an error: all errors are either retried or
//! require a user to correct an object.

use berth_capacity_view::Claim;
use berth_core::{DomainId, HostName, Resources, SlotKey, Zone};
use thiserror::Error;

use crate::StepError;

/// Characters of a name that a caller has chosen.
const QUOTED: usize = 60;

/// Every error of this crate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchedulerError {
    #[error("{0}")]
    Options(&'static str),
    /// The named pipeline does not exist or could not be loaded.
    #[error("pipeline not found or not ready: {0:?}")]
    Pipeline(String),
    /// No pipeline was named and none can be inferred.
    #[error("failed to determine {0} type from request data")]
    Inference(&'static str),
    /// All hosts are requested, but the flavor does not have a type of hypervisor. Holds the extra specs.
    #[error("missing hypervisor_type in flavor extra specs: {0}")]
    NoHypervisorType(String),
    /// All hosts are wanted for a kind of host that this scheduler does not know.
    #[error("cannot gather all placement candidates for hypervisor type {0:?}")]
    UnknownHypervisorType(String),
    /// A filter could not do its work, so no host passed it.
    #[error("{step} failed: {reason}")]
    Step { step: &'static str, reason: StepError },
    /// A step of a pipeline is configured wrongly, or listed twice.
    #[error("{0}")]
    Parameters(String),
    #[error("{0}")]
    Hint(String),
    /// The outcome of the last write for the slot is unknown: its object must be read again first.
    #[error("slot {key} may already be on host {host}: read it from the API server before placing it again")]
    InDoubt {
        key: SlotKey,
        /// The host that the write of unknown outcome named.
        host: HostName,
    },
    /// Only claims, or claims and entries in doubt, are in the way: VMs may still arrive or not.
    #[error("{}", promised(.last, *.more))]
    Promised {
        /// The claim that ends last.
        last: Box<Claim>,
        /// How many others are in the way.
        more: usize,
    },
    /// A configured resolver could not name a domain.
    #[error("keystone: failed to resolve domain {domain:?}: {cause}")]
    DomainName { domain: DomainId, cause: String },
    /// An external scheduler did not give a usable response; the call will be retried.
    #[error("{0}")]
    External(String),
    /// The host that was chosen for a slot is not one that it can have, so the answer does not count.
    #[error("{by} chose host {host}, {problem}")]
    Unfit { by: Chooser, host: HostName, problem: HostProblem },
}

/// What chooses hosts for slots.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Chooser {
    #[error("pipeline {0:?}")]
    Pipeline(String),
    #[error("the external scheduler")]
    External,
}

/// Why a slot cannot have a host, whatever chose it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostProblem {
    #[error("which is in zone {found:?} and not in zone {wanted:?}")]
    Zone { found: Zone, wanted: Zone },
    #[error("which has {free} free, and the slot needs {needed}")]
    Capacity { free: Resources, needed: Resources },
    #[error("whose capacity is not known")]
    UnknownCapacity,
}

impl SchedulerError {
    /// The error with what can be done about it, for conditions. The texts of the API stay as clients know them.
    pub fn with_advice(&self) -> String {
        let advice = match self {
            Self::Pipeline(_) => "create the Pipeline, correct it (its conditions say how), or name another one",
            Self::Inference(_) | Self::NoHypervisorType(_) | Self::UnknownHypervisorType(_) => {
                "correct the extra specs of the flavor, or name a pipeline"
            }
            Self::Unfit { by: Chooser::Pipeline(_), .. } => {
                "let it run filter_correct_az and filter_has_enough_capacity, and ignore nothing that takes capacity"
            }
            Self::Unfit { by: Chooser::External, .. } => "check that it sees the same hosts and reservations",
            _ => return self.to_string(),
        };
        format!("{self}; {advice}")
    }
}

fn promised(last: &Claim, more: usize) -> String {
    let quoted = |text: &str| format!("{:?}", text.chars().take(QUOTED).collect::<String>());
    let Claim { instance, project, host, size, until, .. } = last;
    let (vm, project) = (quoted(instance.as_str()), quoted(project.as_str()));
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    format!(
        "waiting until {until} at most: the capacity is claimed for VMs that have not appeared yet: VM {vm} of project \
         {project} on {host} ({size}){more}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_continues_the_text_of_the_api() {
        let error = SchedulerError::Pipeline("kvm-foo".to_owned());
        let expected = "pipeline not found or not ready: \"kvm-foo\"; create the Pipeline, correct it (its conditions say how), \
                        or name another one";
        assert_eq!(error.with_advice(), expected);
        let other = SchedulerError::External("boom".to_owned());
        assert_eq!(other.with_advice(), "boom");
    }
}
