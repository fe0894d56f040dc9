//! The scheduler in this process.

use berth_core::{HostName, Resources, SlotKey, host::Host, reservation::Reservation};

use crate::{Pin, Placed, Placement, Request, Scheduler, SchedulerError, Shortage, SlotRequest, Verdict, WholeRequest};

/// How hosts of equal weight are ordered (document 60 section 3.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of instance and host, so that different VMs spread over equal hosts.
    #[default]
    Hash,
    /// By host name.
    Name,
}

/// Settings of the built-in scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How hosts of equal weight are ordered.
    pub tie_break: TieBreak,
}

/// The scheduler in this process: capacity view, pipelines and waiting list behind one lock.
#[derive(Debug, Default)]
pub struct BuiltIn {}

impl BuiltIn {
    /// An empty scheduler with the compiled-in pipelines.
    pub fn new(_: Settings) -> Self {
        Self {}
    }

    /// A Hypervisor appeared, changed or (`None`) was deleted. Returns the slots to wake.
    #[must_use = "the slots must be woken"]
    pub fn host_changed(&self, _: &HostName, _: Option<Host>) -> Vec<SlotKey> {
        Vec::new()
    }

    /// A Reservation appeared, changed or (`None`) was deleted. Returns the slots to wake.
    #[must_use = "the slots must be woken"]
    pub fn reservation_changed(&self, _: &SlotKey, _: Option<Reservation>) -> Vec<SlotKey> {
        Vec::new()
    }

    /// The waiting list in its order, each slot with why nothing fitted at its last try.
    pub fn waiting_slots(&self) -> Vec<(SlotRequest, Shortage)> {
        Vec::new()
    }

    /// How many assume entries there are, those in doubt included.
    pub fn assumed(&self) -> usize {
        0
    }
}

impl Scheduler for BuiltIn {
    async fn place_all(&self, _: &WholeRequest) -> Result<Placement, SchedulerError> {
        Ok(Placement::Later)
    }
    async fn place(&self, _: &SlotRequest) -> Result<Placed, SchedulerError> {
        Ok(Placed::Nowhere(Shortage::default()))
    }
    async fn pin(&self, _: &Pin) -> Result<bool, SchedulerError> {
        Ok(false)
    }
    async fn probe(&self, _: &Request) -> Result<Vec<HostName>, SchedulerError> {
        Ok(Vec::new())
    }
    fn room(&self, _: &HostName) -> Option<Resources> {
        None
    }
    fn applied(&self, _: &[SlotKey]) -> Vec<SlotKey> {
        Vec::new()
    }
    fn in_doubt(&self, _: &SlotKey) {}
    fn settled(&self, _: &SlotKey) -> Vec<SlotKey> {
        Vec::new()
    }
    fn verdict(&self, _: &SlotKey) -> Verdict {
        Verdict::Ok
    }
    fn waiting(&self, _: &SlotKey) -> Option<Shortage> {
        None
    }
}
