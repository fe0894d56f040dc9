//! Which pipelines are in use, from Pipeline objects and those compiled in, and what is said about it in the conditions
//! of the objects. What a pipeline does is decided in `berth_scheduler`.
//!
//! Pipelines have no zone: only objects of the home cluster count. An object replaces the compiled-in pipeline of its
//! name as long as it is a filter-weigher pipeline of Nova, also when it cannot be used: then requests that name it
//! fail, and nothing falls back to the compiled-in one unnoticed. With another domain or type it is somebody else's
//! object, and the compiled-in one serves again.

mod conditions;
mod convert;
mod in_use;
mod judge;
mod loader;
mod reconcile;
#[cfg(test)]
mod tests;

pub use conditions::status;
pub use convert::convert;
pub use in_use::{InUse, in_use};
pub use judge::{Object, Report, judge};
pub use loader::PipelineLoader;
pub use reconcile::{Context, PipelineController};
