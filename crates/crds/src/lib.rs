//! The custom resources of Berth: types, reasons and texts, and the CRDs.
//!
//! There is one file per kind. Types are what is on the wire: quantities and durations are texts, names are strings.
//! Unknown fields are ignored on reading, so no type here may be used to write a whole object back.

#![deny(missing_docs)]
#![expect(clippy::duplicated_attributes, reason = "clippy takes the keys of two `printcolumn`s for the same attribute")]

mod bounds;
mod change_slots;
mod checks;
pub mod commitment_change;
pub mod committed_resource;
pub mod conditions;
pub mod datasource;
mod duration;
pub mod facts;
pub mod flavor_group;
pub mod flavor_group_capacity;
pub mod generate;
pub mod history;
pub mod hypervisor;
mod hypervisor_details;
pub mod knowledge;
pub mod labels;
mod lacks;
pub mod names;
mod normalise;
pub mod pipeline;
pub mod project_quota;
mod quantity;
mod reference;
pub mod reservation;
pub mod resources;
mod rules;
mod schema;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod wire;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time};

pub use commitment_change::{CommitmentChange, CommitmentChangeSpec, CommitmentChangeStatus};
pub use committed_resource::{
    CommitmentState, CommittedResource, CommittedResourceSpec, CommittedResourceStatus, ResourceType,
};
pub use datasource::{Datasource, DatasourceSpec, DatasourceStatus};
pub use duration::Duration;
pub use flavor_group_capacity::{
    FlavorCapacity, FlavorGroupCapacity, FlavorGroupCapacitySpec, FlavorGroupCapacityStatus,
};
pub use history::{History, HistorySpec, HistoryStatus};
pub use hypervisor::{Hypervisor, HypervisorSpec, HypervisorStatus};
pub use knowledge::{Knowledge, KnowledgeSpec, KnowledgeStatus};
pub use lacks::lacks;
pub use pipeline::{Pipeline, PipelineSpec, PipelineStatus};
pub use project_quota::{ProjectQuota, ProjectQuotaSpec, ProjectQuotaStatus};
pub use quantity::Quantity;
pub use reference::{ObjectReference, SecretReference};
pub use reservation::{Allocation, Reservation, ReservationSpec, ReservationStatus, ReservationType};
pub use rules::WHOLE_QUANTITY_PATTERN;
pub use schema::QUANTITY_PATTERN;
