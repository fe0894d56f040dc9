//! The Placement API on its own ledger: protocol, routes, handlers, policies and databases. `berth-placement-model`
//! decides writes and candidates.

mod answer;
pub mod api;
mod bodies;
mod handlers;
mod json;
pub mod ledger;
mod long_json;
mod pipeline;
pub mod policy;
pub mod protocol;
mod route;
mod schema;
pub mod serve;
mod shapes;
mod unread;

pub use api::{Api, Bounds};
pub use berth_placement_model::question::GenerationOptions;
pub use ledger::Ledger;
