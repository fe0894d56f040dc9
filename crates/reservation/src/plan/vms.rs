//! Which of its expected VMs a slot in force keeps, confirms or gives up, and whether it follows one of them to another
//! host. A function of facts; whether there is room on another host is asked when the plan is carried out.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_core::{HostName, VmId};

use crate::facts::{Delays, Facts, VmFact};

/// What a verification comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The confirmed VMs as the status is to name them, each with its host.
    pub confirmed: BTreeMap<VmId, HostName>,
    /// Those that are confirmed for the first time: no other slot expects them any longer (section 7.3).
    pub fresh: Vec<VmId>,
    /// The VMs that the slot does not expect any longer.
    pub drop: Vec<VmId>,
    /// The only VM of the slot has moved.
    pub follow: Option<Follow>,
    /// When somebody has to look again because time alone changes something.
    pub again: Option<Duration>,
}

/// A VM that the slot follows if there is room for it, and else does not expect any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The VM.
    pub vm: VmId,
    /// The hosts that list it now.
    pub hosts: Vec<HostName>,
}

/// What becomes of one VM.
enum Fate {
    Here,
    Kept(Option<Duration>),
    Dropped,
    Moved,
}

impl Verified {
    /// True when something has to be written.
    pub fn differs(&self, facts: &Facts) -> bool {
        !self.drop.is_empty() || self.follow.is_some() || self.confirmed != facts.confirmed
    }

    /// What remains when the slot was given this host for the VM that has moved, or none.
    #[must_use]
    pub fn settled(mut self, room: Option<&HostName>) -> Self {
        let Some(Follow { vm, .. }) = self.follow.take() else { return self };
        match room {
            Some(host) => drop(self.confirmed.insert(vm, host.clone())),
            None => self.drop.push(vm),
        }
        self
    }
}

/// Verifies a slot that is in force on the host of its status.
pub(super) fn verify(facts: &Facts, delays: Delays) -> Verified {
    let mut verified = Verified::default();
    let Some(host) = &facts.slot.status_host else { return verified };
    for (vm, fact) in &facts.vms {
        let before = facts.confirmed.get(vm);
        match fate(facts, host, fact, before.is_some(), delays) {
            Fate::Here => {
                verified.confirmed.insert(vm.clone(), host.clone());
                if before.is_none() {
                    verified.fresh.push(vm.clone());
                }
            }
            Fate::Kept(left) => {
                verified.confirmed.extend(before.map(|host| (vm.clone(), host.clone())));
                verified.again = verified.again.into_iter().chain(left).min();
            }
            Fate::Dropped => verified.drop.push(vm.clone()),
            Fate::Moved => {
                verified.follow = Some(Follow { vm: vm.clone(), hosts: fact.hosts.iter().cloned().collect() });
            }
        }
    }
    verified
}

/// The host is asked first; what is not known completely is no reason to give a VM up.
fn fate(facts: &Facts, host: &HostName, fact: &VmFact, confirmed: bool, delays: Delays) -> Fate {
    let here = fact.hosts.contains(host);
    if here && !fact.taken.contains(host) {
        return Fate::Here;
    }
    if !facts.hosts_are_complete {
        return Fate::Kept(None);
    }
    match (here, confirmed) {
        (true, _) => Fate::Dropped,
        (_, false) => kept_within(delays.allocation, fact.age.max(fact.absent), delays.grace),
        (_, true) if fact.hosts.is_empty() => kept_within(delays.grace, fact.absent, delays.grace),
        (_, true) if facts.vms.len() == 1 && fact.taken.is_empty() => Fate::Moved,
        (_, true) => Fate::Dropped,
    }
}

/// Kept until so much time has passed, and looked at again at the latest when it has.
fn kept_within(limit: Duration, passed: Duration, at_the_latest: Duration) -> Fate {
    match limit.saturating_sub(passed) {
        Duration::ZERO => Fate::Dropped,
        left => Fate::Kept(Some(left.min(at_the_latest))),
    }
}

#[cfg(test)]
mod tests;
