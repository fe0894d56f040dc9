//! What the server needs from the rest of the process. Nothing is decided here.

use std::sync::Arc;

use berth_cluster::FlavorGroupsError;
use berth_scheduler::{Answer, BuiltIn, Guest, Request, SchedulerError};

use crate::Role;

/// One decided request, for whoever writes something about it. It is told after the answer was decided and before it is
/// sent; telling it must not wait.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked.
    pub request: Arc<Request>,
    /// `context.request_id`.
    pub request_id: String,
    /// `context.global_request_id`; empty when there is none.
    pub global_request_id: String,
    /// What came of it.
    pub result: Result<Arc<Answer>, SchedulerError>,
}

/// What is known of a VM as a guest of commitments; an error while the flavor groups cannot be read.
pub type GuestLookup = Result<Option<Guest>, FlavorGroupsError>;

/// The rest of the process as the server sees it.
pub trait Backend: Send + Sync + 'static {
    /// The scheduler of this process.
    fn scheduler(&self) -> &Arc<BuiltIn>;

    /// Whether this process may decide.
    fn role(&self) -> Role;

    /// Why this process cannot answer at all yet, for example because its stores are not filled.
    fn not_ready(&self) -> Option<String>;

    /// The VM of the request as a guest of its project's commitments, when VMs are tracked and its flavor is in a group.
    fn guest(&self, request: &Request) -> GuestLookup;

    /// Whether people will read why this request was decided as it was.
    fn remembers(&self, request: &Request) -> bool;

    /// Takes note of what was decided: wakes slots, books the VM, writes the history.
    fn decided(&self, outcome: Outcome);
}
