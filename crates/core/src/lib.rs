//! The domain of Berth, pure: no I/O, no clock, no randomness, no hash-map order. Time is an argument.

pub mod ids;

pub use ids::{
    ClusterName, CommitmentUuid, DomainId, FlavorName, GroupName, HostName, ProjectId, SlotKey, SlotName, VmId, Zone,
};
