//! Selects the pipelines in use, from Pipeline objects and the compiled-in ones, and reports on them in the conditions
//! of the objects.
//!
//! Pipelines have no zone: only objects of the home cluster count. An object replaces the compiled-in pipeline of its
//! name as long as it is a filter-weigher pipeline of Nova, even if it is invalid: then its previous version stays in
//! use. If there is none, requests that name it fail, because a silent fallback to the compiled-in pipeline would hide
//! the mistake. An object with another domain or type belongs to another scheduler, and the compiled-in pipeline is used.

mod check;
mod conditions;
mod convert;
mod in_use;
mod loader;
mod reconcile;
#[cfg(test)]
mod tests;

pub use check::{PipelineObject, PipelineReport, check_pipeline};
pub use conditions::{status, status_of_foreign};
pub use convert::convert;
pub use in_use::{InUse, in_use};
pub use loader::PipelineLoader;
pub use reconcile::{Context, PipelineController};
