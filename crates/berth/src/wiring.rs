//! One operator in memory, without a process around it: stores, scheduler, queues and controllers, and the connections
//! between them. The binary runs it against API servers, a simulation against doubles of them; both have the same
//! manager.
//!
//! [`Memory`] exists before any cluster can be reached, so that the start can be observed; [`Controllers`] exist from
//! then on. `operator` decides when they run. [`rights`] lists the rights that they need.

mod background_tasks;
mod budgets;
mod controllers;
mod events;
mod explainer;
mod keystone;
mod liquid;
mod memory;
mod metrics;
mod network;
mod nova;
mod openstack;
mod oversubscription;
mod rights;
mod sources;
mod syncer;
mod units;
mod vms;

pub(crate) use budgets::is_sold;
pub use controllers::{Controllers, Environment};
pub use events::Queues;
pub use explainer::MemoryExplainer;
pub(crate) use keystone::{LazySession, PlannedSession, authentication, process_secret_rights};
pub(crate) use liquid::{LiquidPermissions, liquid_api};
pub use memory::{Memory, MemorySettings};
pub use metrics::OperatorMetrics;
pub(crate) use network::{NetworkUse, OperatorStart, PlacementStart, PortSource, of_operator, of_placement};
pub(crate) use nova::claim_keeper;
pub use nova::{ClaimRestorer, DecidingState, Nova};
pub(crate) use openstack::{domain_names, limes_client, planned_sessions};
pub(crate) use rights::counted_pipelines;
pub use rights::{Duties, all_rights, rights};
pub(crate) use vms::{VmDatabase, VmReader, publish_failures, read_vms, try_vm_database};
