//! The interface of the server to the rest of the process.

use std::future::Future;
use std::sync::Arc;

use berth_cluster::FlavorGroupsError;
use berth_scheduler::{Answer, BuiltIn, Guest, Request, SchedulerError};

use crate::Role;

/// One decided request, for observers that write something about it. They get it after the decision and before the
/// response is sent, and must not block.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub request: Arc<Request>,
    pub request_id: String,
    /// `context.global_request_id`; empty when there is none.
    pub global_request_id: String,
    pub result: Result<Arc<Answer>, SchedulerError>,
}

/// The VM as a guest of commitments; an error while the flavor groups cannot be read.
pub type GuestLookup = Result<Option<Guest>, FlavorGroupsError>;

/// The rest of the process as the server sees it.
pub trait Backend: Send + Sync + 'static {
    fn scheduler(&self) -> &Arc<BuiltIn>;

    fn role(&self) -> Role;

    /// A request found no leader that decides: finds out soon which replica leads.
    fn find_leader(&self);

    /// Why this process cannot answer at all yet, for example because its stores are not filled.
    fn not_ready(&self) -> Option<String>;

    /// The VM of the request as a guest of its project's commitments, when VMs are tracked and its flavor is in a group.
    fn guest(&self, request: &Request) -> GuestLookup;

    /// Whether the decision about this request is recorded for users.
    fn remembers(&self, request: &Request) -> bool;

    /// Handles the decision: enqueues slots, books the VM, writes the history.
    fn decided(&self, outcome: Outcome);

    /// The decision has made a claim: resolves when the claim survives this process, or when the response must not wait
    /// any longer.
    fn keep_claim(&self) -> impl Future<Output = ()> + Send;
}
