//! The errors of a step: of its configuration, or of a request.

use thiserror::Error;

/// Why a pipeline is without a step that it lists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("duplicate step {0:?}")]
    Duplicate(String),
    /// Without it the pipeline would keep hosts that its author wants to remove.
    #[error("unknown filter")]
    UnknownFilter,
    #[error("this scheduler has no hosts of VMware, so it has no filters and weighers for them")]
    VmwareFilter,
    #[error("failed to initialize filter: {0}")]
    Filter(StepError),
    #[error("failed to initialize weigher: {0}")]
    Weigher(StepError),
}

/// Why a step cannot be loaded, or cannot do its work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    #[error("failed to unmarshal parameters: parameter {0} must have exactly one value set")]
    NotOneValue(String),
    #[error("failed to unmarshal parameters: duplicate parameter key: {0}")]
    RepeatedParameter(String),
    /// A parameter is unknown or of another type; in the words of the decoder.
    #[error("failed to unmarshal parameters: failed to decode parameters into struct: {0}")]
    Undecodable(String),
    /// It needs the prefixes that it matches.
    #[error("don't configure this step without domainNamePrefixes")]
    NoDomainNamePrefixes,
    #[error("at least one resource weight must be specified")]
    NoResourceWeights,
    /// It has a weight for something else than memory and CPU.
    #[error("unsupported resource {0} in ResourceWeights, supported resources are: [memory cpu]")]
    UnknownResource(String),
    #[error("resource weights must be greater than or equal to zero")]
    NegativeResourceWeight,
    #[error(
        "resource weight for {0} can't be zero, if you want to disable this resource in the weigher, remove it or the \
         weigher"
    )]
    ZeroWeightOf(String),
    #[error("resource weight for {0} can't be negative. use weigher.multiplier to invert this weighers behavior")]
    NegativeWeightOf(String),
    #[error("{0} must be non-negative")]
    Negative(&'static str),
    /// Consolidation has a penalty and nothing that it reduces.
    #[error("sameSpecPenalty must be zero when totalCountWeight is zero")]
    PenaltyWithoutWeight,
    #[error("sameSpecPenalty must be less than totalCountWeight")]
    PenaltyTooLarge,
    /// The flavor of the request has no CPUs.
    #[error("flavor has 0 vcpus")]
    NoVcpus,
    /// The flavor of the request has no memory.
    #[error("flavor has 0 memory")]
    NoMemory,
    /// The host that a VM is to leave has no Hypervisor.
    #[error("source host hypervisor not found")]
    NoSourceHost,
    /// Something that only tests do.
    #[cfg(test)]
    #[error("{0}")]
    Made(&'static str),
}
