//! What the controllers share whose keys are projects. They compute from the VMs and the commitments of a project: where these are read,
//! when a project waits for them, and which changes concern all of them.

mod error;
mod sources;
mod times;
mod waiting;
mod watches;

pub use error::Error;
pub use sources::ProjectSources;
pub use times::Times;
pub use waiting::{RETRY, WaitingProjects};
