//! What is known of a slot: the look that the operator would have at it, what it takes on its hosts, and which commitment it
//! belongs to.

use std::collections::BTreeSet;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_core::{HostName, Resources, SlotKey};
use berth_crds::Condition;
use berth_crds::conditions::ready;
use jiff::Timestamp;

use crate::commands::foreseeing::Foresight;
use crate::commands::looking::Look;
use crate::commands::slot_facts::SlotFacts;

/// Everything about one slot.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) now: Timestamp,
    pub(super) slot: SlotFacts,
    /// What it takes besides the VMs that are there, on each host that it names.
    pub(super) blocks: Vec<Block>,
    /// The objects with the UUID of its commitment, with their condition and generation.
    pub(super) commitments: Vec<(ObjectKey, Option<Condition>, i64)>,
}

/// What the slot takes on a host.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) host: HostName,
    /// None when the host is not known.
    pub(super) blocks: Option<Resources>,
    /// The host holds more than fits.
    pub(super) overbooked: bool,
}

impl Facts {
    pub(super) fn gather(look: &Look, foresight: &Foresight, key: &ObjectKey) -> Option<Self> {
        let slot = foresight.slot(key)?;
        let named = [&slot.outlook.facts.slot.target_host, &slot.outlook.facts.slot.status_host];
        let hosts: BTreeSet<HostName> = named.into_iter().flatten().cloned().collect();
        Some(Self {
            now: foresight.now,
            blocks: hosts.into_iter().map(|host| block(look, key, host)).collect(),
            commitments: commitments(look, &slot),
            slot,
        })
    }
}

fn block(look: &Look, key: &ObjectKey, host: HostName) -> Block {
    let Some(report) = look.memory.scheduler.host_report(&host) else {
        return Block { host, blocks: None, overbooked: false };
    };
    let held = report.reservations.iter().find(|held| held.reservation.key == SlotKey::from(key));
    Block { host, blocks: held.map(|held| held.block.block), overbooked: report.free.overbooked() }
}

fn commitments(look: &Look, slot: &SlotFacts) -> Vec<(ObjectKey, Option<Condition>, i64)> {
    let uuid = slot.outlook.facts.slot.commitment.as_str();
    let found = look.memory.stores.commitments.select(&COMMITMENT_BY_UUID, uuid).into_iter();
    let told = found.map(|entry| {
        let condition = entry.object.status.as_ref().and_then(|status| ready(&status.conditions)).cloned();
        (entry.key, condition, entry.object.metadata.generation.unwrap_or_default())
    });
    told.collect()
}
