//! Gathers what `berth explain slot` shows: a dry run of the slot, its blocks on hosts, and its commitment.

use std::collections::BTreeSet;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_core::{HostName, Resources, SlotKey};
use berth_crds::Condition;
use berth_crds::conditions::ready;
use jiff::Timestamp;

use crate::commands::cluster_snapshot::ClusterSnapshot;
use crate::commands::dry_run::OperatorDryRun;
use crate::commands::slot_facts::SlotFacts;

/// Everything about one slot.
#[derive(Clone, Debug)]
pub(super) struct ExplainedSlot {
    pub(super) now: Timestamp,
    pub(super) slot: SlotFacts,
    /// The capacity that it blocks besides its VMs, on each host that it names.
    pub(super) blocks: Vec<Block>,
    /// The objects with the UUID of its commitment, with their condition and generation.
    pub(super) commitments: Vec<(ObjectKey, Option<Condition>, i64)>,
}

/// The capacity that the slot blocks on a host.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) host: HostName,
    pub(super) blocks: Option<Resources>,
    pub(super) overbooked: bool,
}

impl ExplainedSlot {
    pub(super) fn gather(snapshot: &ClusterSnapshot, dry_run: &OperatorDryRun, key: &ObjectKey) -> Option<Self> {
        let slot = dry_run.slot(key)?;
        let named = [&slot.dry_run.facts.slot.target_host, &slot.dry_run.facts.slot.status_host];
        let hosts: BTreeSet<HostName> = named.into_iter().flatten().cloned().collect();
        Some(Self {
            now: dry_run.now,
            blocks: hosts.into_iter().map(|host| block(snapshot, key, host)).collect(),
            commitments: commitments(snapshot, &slot),
            slot,
        })
    }
}

fn block(snapshot: &ClusterSnapshot, key: &ObjectKey, host: HostName) -> Block {
    let Some(report) = snapshot.memory.scheduler.host_report(&host) else {
        return Block { host, blocks: None, overbooked: false };
    };
    let held = report.reservations.iter().find(|held| held.reservation.key == SlotKey::from(key));
    Block { host, blocks: held.map(|held| held.block.block), overbooked: report.free.overbooked() }
}

fn commitments(snapshot: &ClusterSnapshot, slot: &SlotFacts) -> Vec<(ObjectKey, Option<Condition>, i64)> {
    let uuid = slot.dry_run.facts.slot.commitment.as_str();
    let found = snapshot.memory.stores.commitments.select(&COMMITMENT_BY_UUID, uuid).into_iter();
    let reported = found.map(|entry| {
        let condition = entry.object.status.as_ref().and_then(|status| ready(&status.conditions)).cloned();
        (entry.key, condition, entry.object.metadata.generation.unwrap_or_default())
    });
    reported.collect()
}
