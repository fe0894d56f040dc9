//! The Placement API (document 51) on its own ledger: protocol, routes and handlers, policies, and the databases that
//! remember. What a write does and which candidates there are is decided by `berth-placement-model`.

pub mod ledger;
