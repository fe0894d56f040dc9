//! The answer of the leader, as it travels. docs/scheduler.md lists its members.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_core::{Bytes, Cores, HostName, Resources, SlotKey};
use berth_scheduler::{Assumed, Claim, HeldClaim, Promises};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What only the leader knows about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaderAnswer {
    /// The identity of the process in the election.
    pub leader: String,
    pub now: Timestamp,
    /// Of the object itself; `None` for a host.
    pub reconciliation: Option<Reconciliation>,
    /// The slot, or of a commitment those that wait or miss something.
    pub slots: Vec<SlotAnswer>,
    pub slots_left_out: usize,
    pub claims: Vec<ClaimAnswer>,
    pub claims_left_out: usize,
    /// Placements that are decided and not observed yet.
    pub assumed: Vec<AssumedAnswer>,
    pub assumed_left_out: usize,
    /// Of a commitment, if the syncer runs and has read Limes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limes: Option<LimesAnswer>,
}

/// What Limes lists about a commitment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimesAnswer {
    /// In words; `None` if it is not listed.
    pub listed: Option<String>,
    /// Since when it has been listed like this, as far as the leader knows.
    pub since: Option<Timestamp>,
    /// When the last run began.
    pub read_at: Timestamp,
    /// Why nothing is concluded from what is not listed.
    pub incomplete: Option<String>,
}

/// The reconciliations of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciliation {
    pub state: ReconciliationState,
    /// When it is reconciled without a change, while it is idle.
    pub next: Option<Timestamp>,
    pub failure: Option<ReconciliationFailure>,
}

/// Whether an object is being reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReconciliationState {
    Running,
    Queued,
    Idle,
}

/// The last reconciliation has failed, and so many in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconciliationFailure {
    pub class: String,
    pub attempts: u32,
    pub error: String,
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotAnswer {
    pub cluster: String,
    pub name: String,
    pub reconciliation: Reconciliation,
    /// When a timer lets it be tried again, while it has no host.
    pub next_try: Option<Timestamp>,
    pub host_missing_since: Option<Timestamp>,
    pub missing_vms: Vec<MissingVm>,
}

/// A VM that the slot expects and that is not where it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingVm {
    pub vm: String,
    pub since: Timestamp,
}

/// Memory in bytes and vCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub memory: i64,
    pub cpu: i64,
}

/// A claim, with the members that `berth explain` prints, and the hosts that listed the VM when it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimAnswer {
    pub vm: String,
    pub project: String,
    pub host: String,
    pub size: Size,
    pub until: Timestamp,
    /// The slot that the VM goes into, as `cluster/name`.
    pub slot: Option<String>,
    pub listed: BTreeSet<HostName>,
}

/// A placement that is decided and not observed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssumedAnswer {
    /// As `cluster/name`.
    pub slot: String,
    pub host: String,
    pub size: Size,
    /// The VMs that its write makes the slot expect.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vms: BTreeMap<String, Size>,
    /// The outcome of its write is unknown.
    pub in_doubt: bool,
}

impl LeaderAnswer {
    /// The same with these promises.
    #[must_use]
    pub fn with_promises(self, promises: &Promises) -> Self {
        Self {
            claims: promises.claims.iter().map(ClaimAnswer::from).collect(),
            claims_left_out: promises.claims_left_out,
            assumed: promises.assumed.iter().map(AssumedAnswer::from).collect(),
            assumed_left_out: promises.assumed_left_out,
            ..self
        }
    }

    /// The promises for the scheduler of another process, at this time of its monotonic clock and of the wall clock.
    pub fn promises(&self, now: Duration, time: Timestamp) -> Promises {
        Promises {
            claims: self.claims.iter().filter_map(|claim| claim.held(now, time)).collect(),
            assumed: self.assumed.iter().filter_map(AssumedAnswer::entry).collect(),
            claims_left_out: self.claims_left_out,
            assumed_left_out: self.assumed_left_out,
        }
    }

    pub fn slot(&self, key: &SlotKey) -> Option<&SlotAnswer> {
        self.slots.iter().find(|slot| slot.cluster == key.cluster.as_str() && slot.name == key.name.as_str())
    }
}

impl ClaimAnswer {
    /// `None` once it is over.
    fn held(&self, now: Duration, time: Timestamp) -> Option<HeldClaim> {
        let left = Duration::try_from(self.until.duration_since(time)).ok().filter(|left| !left.is_zero())?;
        let claim = Claim {
            instance: self.vm.as_str().into(),
            project: self.project.as_str().into(),
            host: self.host.as_str().into(),
            size: self.size.into(),
            expires: now.saturating_add(left),
            until: self.until,
            slot: self.slot.as_deref().and_then(slot_key),
            // Only what explains slots is asked for, and no quota concerns them.
            quota: None,
        };
        Some(HeldClaim { claim, listed: self.listed.clone() })
    }
}

impl AssumedAnswer {
    fn entry(&self) -> Option<Assumed> {
        let (key, host) = (slot_key(&self.slot)?, self.host.as_str().into());
        let vms = self.vms.iter().map(|(vm, size)| (vm.as_str().into(), (*size).into())).collect();
        Some(Assumed { key, host, size: self.size.into(), vms, doubt: self.in_doubt })
    }
}

fn slot_key(text: &str) -> Option<SlotKey> {
    let (cluster, name) = text.split_once('/')?;
    Some(SlotKey::new(cluster.into(), name))
}

impl From<&HeldClaim> for ClaimAnswer {
    fn from(held: &HeldClaim) -> Self {
        let claim = &held.claim;
        Self {
            vm: claim.instance.to_string(),
            project: claim.project.to_string(),
            host: claim.host.to_string(),
            size: claim.size.into(),
            until: claim.until,
            slot: claim.slot.as_ref().map(ToString::to_string),
            listed: held.listed.clone(),
        }
    }
}

impl From<&Assumed> for AssumedAnswer {
    fn from(entry: &Assumed) -> Self {
        let (slot, host) = (entry.key.to_string(), entry.host.to_string());
        let vms = entry.vms.iter().map(|(vm, size)| (vm.to_string(), (*size).into())).collect();
        Self { slot, host, size: entry.size.into(), vms, in_doubt: entry.doubt }
    }
}

impl From<Resources> for Size {
    fn from(size: Resources) -> Self {
        Self { memory: size.memory.get(), cpu: size.cpu.get() }
    }
}

impl From<Size> for Resources {
    fn from(size: Size) -> Self {
        Self::new(Bytes::new(size.memory), Cores::new(size.cpu)).at_least_zero()
    }
}
