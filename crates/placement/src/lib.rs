//! The Placement API on its own ledger: protocol, routes and handlers, policies, and the databases that remember. What
//! a write does and which candidates there are is decided by `berth-placement-model`.

mod answer;
pub mod api;
mod bodies;
mod handlers;
mod json;
pub mod ledger;
mod pipeline;
pub mod policy;
pub mod protocol;
mod route;
mod schema;
pub mod serve;
mod shapes;

pub use api::{Api, Bounds};
pub use berth_placement_model::question::GenerationOptions;
pub use ledger::Ledger;
pub use policy::Policies;
