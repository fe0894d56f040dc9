//! Which of its expected VMs a slot in force keeps, confirms or gives up, and whether it follows one of them to another
//! host. A function of facts; the apply checks whether there is free capacity on another host.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_core::{HostName, VmId};

use crate::facts::{Delays, ReservationFacts, VmFact};

/// The result of verifying the VMs of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationPlan {
    /// The confirmed VMs as the status is to name them, each with its host.
    pub confirmed: BTreeMap<VmId, HostName>,
    /// Those that are confirmed for the first time: no other slot expects them any longer.
    pub fresh: Vec<VmId>,
    /// The VMs that the slot does not expect any longer.
    pub drop: Vec<VmId>,
    /// The only VM of the slot has moved.
    pub follow: Option<FollowedVm>,
    /// When to reconcile again because time alone changes something.
    pub requeue_after: Option<Duration>,
}

/// A VM that the slot follows if there is free capacity for it, and else does not expect any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedVm {
    pub vm: VmId,
    pub hosts: Vec<HostName>,
}

/// The verdict about one VM.
enum VmVerdict {
    Here,
    Kept(Option<Duration>),
    Dropped,
    Moved,
}

impl VerificationPlan {
    /// True if there is a change to write.
    pub fn differs(&self, facts: &ReservationFacts) -> bool {
        !self.drop.is_empty() || self.follow.is_some() || self.confirmed != facts.confirmed
    }

    /// The plan after the scheduler has given the slot this host for the VM that has moved, or none.
    #[must_use]
    pub fn settled(mut self, free: Option<&HostName>) -> Self {
        let Some(FollowedVm { vm, .. }) = self.follow.take() else { return self };
        match free {
            Some(host) => drop(self.confirmed.insert(vm, host.clone())),
            None => self.drop.push(vm),
        }
        self
    }
}

/// Verifies a slot that is in force on the host of its status.
pub(super) fn verify(facts: &ReservationFacts, delays: Delays) -> VerificationPlan {
    let mut verified = VerificationPlan::default();
    let Some(host) = &facts.slot.status_host else { return verified };
    for (vm, fact) in &facts.vms {
        let before = facts.confirmed.get(vm);
        match decide_vm(facts, host, fact, before.is_some(), delays) {
            VmVerdict::Here => {
                verified.confirmed.insert(vm.clone(), host.clone());
                if before.is_none() {
                    verified.fresh.push(vm.clone());
                }
            }
            VmVerdict::Kept(left) => {
                verified.confirmed.extend(before.map(|host| (vm.clone(), host.clone())));
                verified.requeue_after = verified.requeue_after.into_iter().chain(left).min();
            }
            VmVerdict::Dropped => verified.drop.push(vm.clone()),
            VmVerdict::Moved => {
                verified.follow = Some(FollowedVm { vm: vm.clone(), hosts: fact.hosts.iter().cloned().collect() });
            }
        }
    }
    verified
}

/// The host is checked first; a VM is not given up on incomplete facts.
fn decide_vm(facts: &ReservationFacts, host: &HostName, fact: &VmFact, confirmed: bool, delays: Delays) -> VmVerdict {
    let here = fact.hosts.contains(host);
    if here && !fact.taken.contains(host) {
        return VmVerdict::Here;
    }
    if !facts.hosts_are_complete {
        return VmVerdict::Kept(None);
    }
    match (here, confirmed) {
        (true, _) => VmVerdict::Dropped,
        (_, false) => keep_until(delays.allocation, fact.age.max(fact.absent), delays.grace),
        (_, true) if fact.hosts.is_empty() => keep_until(delays.grace, fact.absent, delays.grace),
        (_, true) if facts.vms.len() == 1 && fact.taken.is_empty() => VmVerdict::Moved,
        (_, true) => VmVerdict::Dropped,
    }
}

/// Kept until so much time has passed, and reconciled again at the latest when it has.
fn keep_until(limit: Duration, passed: Duration, at_the_latest: Duration) -> VmVerdict {
    match limit.saturating_sub(passed) {
        Duration::ZERO => VmVerdict::Dropped,
        left => VmVerdict::Kept(Some(left.min(at_the_latest))),
    }
}

#[cfg(test)]
mod tests;
