//! What VMs use: which VM counts in which commitment, and their memory in declared units.

mod assignment;
mod declared;
mod first_fit;

pub use assignment::{Assignment, CommitmentUsage, PaygReason, ProjectVm, UsableCommitment, assign};
pub use declared::{declared_units, declared_units_beyond_vms, declared_units_of_equal};
