//! Claims: promises to external clients that no object shows yet, one claim per instance.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_core::host::Host;
use berth_core::quota::Amounts;
use berth_core::reservation::Reservation;
use berth_core::{GroupName, HostName, ProjectId, Resources, SlotKey, VmId};
use jiff::Timestamp;

/// Free capacity that an answer has given to an instance.
/// A claim ends when the view shows its effect: a Reservation of its name is put on a host, or the VM is listed by a
/// host whose row is set after the claim was made. A host that listed the VM already when the claim was made is where
/// the VM comes from, or another stale sight of it, and its heartbeats end nothing, unless it is the claim's own host.
/// Otherwise a migration would lose its capacity at the first heartbeat of its source. For the same reason a
/// Reservation that keeps a host which it had before, and which is not the claim's, ends nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub instance: VmId,
    /// For users, as `until`.
    pub project: ProjectId,
    pub host: HostName,
    /// The size of all instances of the request together.
    pub size: Resources,
    /// When it ends at the latest: monotonic time since the process began.
    pub expires: Duration,
    /// The same by the wall clock, for users and for the next process.
    pub until: Timestamp,
    /// The slot of the VM. While the slot is on the host, only the part of the VM counts that does not fit into it, as
    /// if the slot already expected the VM.
    pub slot: Option<SlotKey>,
    /// What the instance will use of the quota of its project; `None` if it uses nothing that it does not use already.
    pub quota: Option<ClaimedQuota>,
}

/// What an instance will use of a quota: all instances of its request together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedQuota {
    pub group: GroupName,
    pub amounts: Amounts,
}

/// A claim and the hosts that listed the VM when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    pub claim: Claim,
    pub listed: BTreeSet<HostName>,
}

/// What became of a claim of an earlier process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It counts.
    Kept,
    /// The objects show its effect already.
    Shown,
    /// The instance has a claim of this process.
    Superseded,
}

impl HeldClaim {
    /// Whether this host shows that the VM has arrived, if it lists the VM.
    pub(crate) fn arrived_on(&self, host: &HostName) -> bool {
        self.claim.host == *host || !self.listed.contains(host)
    }
}

/// All claims.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    held: BTreeMap<VmId, HeldClaim>,
    on_host: BTreeMap<HostName, BTreeSet<VmId>>,
    of_project: BTreeMap<ProjectId, BTreeSet<VmId>>,
    by_expiry: BTreeSet<(Duration, VmId)>,
}

impl Claims {
    /// Makes a claim; the former one of the instance must have been removed.
    pub(crate) fn insert(&mut self, claim: Claim, listed: BTreeSet<HostName>) {
        self.on_host.entry(claim.host.clone()).or_default().insert(claim.instance.clone());
        self.of_project.entry(claim.project.clone()).or_default().insert(claim.instance.clone());
        self.by_expiry.insert((claim.expires, claim.instance.clone()));
        self.held.insert(claim.instance.clone(), HeldClaim { claim, listed });
    }

    /// Ends a claim; returns the host that it was on.
    pub(crate) fn remove(&mut self, instance: &VmId) -> Option<HostName> {
        self.take(instance).map(|claim| claim.host)
    }

    /// Ends a claim and returns it.
    pub(crate) fn take(&mut self, instance: &VmId) -> Option<Claim> {
        let claim = self.held.remove(instance)?.claim;
        take_out(&mut self.on_host, &claim.host, instance);
        take_out(&mut self.of_project, &claim.project, instance);
        self.by_expiry.remove(&(claim.expires, claim.instance.clone()));
        Some(claim)
    }

    /// The claim counts besides any slot from now on; returns its host.
    pub(crate) fn unbook(&mut self, instance: &VmId) -> Option<HostName> {
        let claim = &mut self.held.get_mut(instance)?.claim;
        claim.slot = None;
        Some(claim.host.clone())
    }

    pub(crate) fn get(&self, instance: &str) -> Option<&Claim> {
        self.held.get(instance).map(|held| &held.claim)
    }

    pub(crate) fn on_host(&self, host: &HostName) -> impl Iterator<Item = &Claim> {
        self.on_host.get(host).into_iter().flatten().filter_map(|instance| self.get(instance.as_str()))
    }

    pub(crate) fn of_project(&self, project: &ProjectId) -> impl Iterator<Item = &Claim> {
        self.of_project.get(project).into_iter().flatten().filter_map(|instance| self.get(instance.as_str()))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Claim> {
        self.held().map(|held| &held.claim)
    }

    pub(crate) fn held(&self) -> impl ExactSizeIterator<Item = &HeldClaim> {
        self.held.values()
    }

    /// The claims that the new row of a host shows.
    pub(crate) fn landed_on(&self, host: &Host) -> Vec<VmId> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let arrived = |held: &HeldClaim| held.arrived_on(&host.name);
        host.instances.keys().filter(|vm| self.held.get(*vm).is_some_and(arrived)).cloned().collect()
    }

    /// The claim that a Reservation shows, given the host that it had before.
    pub(crate) fn shown_by(&self, reservation: &Reservation, before: Option<&HostName>) -> Option<&Claim> {
        let target = reservation.target_host.as_ref()?;
        let claim = &self.held.get(reservation.key.name.as_str())?.claim;
        (claim.host == *target || before != Some(target)).then_some(claim)
    }

    pub(crate) fn expired(&self, now: Duration) -> Vec<VmId> {
        let over = self.by_expiry.iter().take_while(|(expires, _)| *expires <= now);
        over.map(|(_, instance)| instance.clone()).collect()
    }
}

fn take_out<K: Ord>(index: &mut BTreeMap<K, BTreeSet<VmId>>, key: &K, instance: &VmId) {
    if let Some(instances) = index.get_mut(key) {
        instances.remove(instance);
        if instances.is_empty() {
            index.remove(key);
        }
    }
}
