//! The scheduler that the configuration chose.

use std::sync::Arc;

use berth_core::{CommitmentUuid, HostName, Resources, SlotKey};
use berth_scheduler::{
    BuiltIn, CommitmentRequest, DryRunPlacement, HostCapacity, HostVerdict, Pin, Placed, Placement, Request, Scheduler,
    SchedulerError, Shortage, SlotRequest,
};

use super::External;

/// The scheduler of this process, or one behind HTTP.
#[derive(Clone, Debug)]
pub enum Chosen {
    BuiltIn(Arc<BuiltIn>),
    External(Arc<External>),
}

impl Scheduler for Chosen {
    async fn place_all(&self, whole: &CommitmentRequest) -> Result<Placement, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.place_all(whole).await,
            Self::External(one) => one.place_all(whole).await,
        }
    }

    async fn dry_run(&self, change: &[CommitmentRequest]) -> Result<Vec<DryRunPlacement>, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.dry_run(change).await,
            Self::External(one) => one.dry_run(change).await,
        }
    }

    async fn place(&self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.place(slot).await,
            Self::External(one) => one.place(slot).await,
        }
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.pin(pin).await,
            Self::External(one) => one.pin(pin).await,
        }
    }

    async fn probe(&self, request: &Request, global_request_id: &str) -> Result<Vec<HostName>, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.probe(request, global_request_id).await,
            Self::External(one) => one.probe(request, global_request_id).await,
        }
    }

    async fn probe_unranked(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> Result<Vec<HostName>, SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.probe_unranked(request, global_request_id).await,
            Self::External(one) => one.probe_unranked(request, global_request_id).await,
        }
    }

    fn host_capacities(&self) -> Vec<HostCapacity> {
        match self {
            Self::BuiltIn(one) => one.host_capacities(),
            Self::External(one) => one.host_capacities(),
        }
    }

    fn free_capacity(&self, host: &HostName) -> Option<Resources> {
        match self {
            Self::BuiltIn(one) => one.free_capacity(host),
            Self::External(one) => one.free_capacity(host),
        }
    }

    fn applied(&self, keys: &[SlotKey]) {
        match self {
            Self::BuiltIn(one) => one.applied(keys),
            Self::External(one) => one.applied(keys),
        }
    }

    fn in_doubt(&self, key: &SlotKey) {
        match self {
            Self::BuiltIn(one) => one.in_doubt(key),
            Self::External(one) => one.in_doubt(key),
        }
    }

    fn settled(&self, key: &SlotKey) {
        match self {
            Self::BuiltIn(one) => one.settled(key),
            Self::External(one) => one.settled(key),
        }
    }

    fn withdraw(&self, key: &SlotKey) {
        match self {
            Self::BuiltIn(one) => one.withdraw(key),
            Self::External(one) => one.withdraw(key),
        }
    }

    fn planned(&self, commitment: &CommitmentUuid, uid: &str, generation: i64) {
        match self {
            Self::BuiltIn(one) => one.planned(commitment, uid, generation),
            Self::External(one) => one.planned(commitment, uid, generation),
        }
    }

    fn hold_for_change(&self, change: &str, slots: &[(HostName, Resources)]) {
        match self {
            Self::BuiltIn(one) => one.hold_for_change(change, slots),
            Self::External(one) => one.hold_for_change(change, slots),
        }
    }

    fn end_change(&self, change: &str) {
        match self {
            Self::BuiltIn(one) => one.end_change(change),
            Self::External(one) => one.end_change(change),
        }
    }

    fn verdict(&self, key: &SlotKey) -> HostVerdict {
        match self {
            Self::BuiltIn(one) => one.verdict(key),
            Self::External(one) => one.verdict(key),
        }
    }

    fn waiting(&self, key: &SlotKey) -> Option<Shortage> {
        match self {
            Self::BuiltIn(one) => one.waiting(key),
            Self::External(one) => one.waiting(key),
        }
    }

    fn in_the_way(&self, keys: &[SlotKey]) -> Option<SchedulerError> {
        match self {
            Self::BuiltIn(one) => one.in_the_way(keys),
            Self::External(one) => one.in_the_way(keys),
        }
    }
}
