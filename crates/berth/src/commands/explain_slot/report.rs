//! The account of a slot: a value made of facts alone. Its members are those of the JSON form and do not change their names
//! (docs/commands.md).

use berth_core::HostName;
use berth_crds::conditions::ready;
use jiff::Timestamp;
use serde::Serialize;

use super::facts::{Block, Facts};
use crate::commands::amounts::Amounts;
use crate::commands::looking::Missing;
use crate::commands::next::Next;
use crate::commands::reasons::Told;
use crate::commands::slot_facts::Waiting;
use crate::commands::vms::VmRow;

/// Everything that is told of a slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    /// Clusters that could not be read.
    pub(super) missing: Vec<Missing>,
    pub(super) now: Timestamp,
    pub(super) slot: String,
    pub(super) cluster: String,
    pub(super) zone: String,
    pub(super) commitment: Owner,
    pub(super) project: String,
    pub(super) group: String,
    pub(super) flavor: String,
    pub(super) size: Amounts,
    pub(super) end: Option<Timestamp>,
    /// Where it should be.
    pub(super) target_host: Option<String>,
    /// Where it is in force.
    pub(super) status_host: Option<String>,
    pub(super) blocks: Vec<BlockOn>,
    pub(super) ready: Option<Told>,
    /// The conditions Frozen and Braked, while they hold.
    pub(super) marks: Vec<Told>,
    /// Where it stands, in a few words.
    pub(super) state: String,
    /// Why nothing fits, in numbers.
    pub(super) waiting: Option<Waiting>,
    pub(super) vms: Vec<VmRow>,
    pub(super) next: Vec<Next>,
}

/// The commitment that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Owner {
    pub(super) uuid: String,
    /// The objects with this UUID; one, unless something is wrong.
    pub(super) objects: Vec<String>,
    /// The reason of the first one's condition.
    pub(super) reason: Option<String>,
}

/// What it takes on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BlockOn {
    pub(super) host: String,
    /// `null` when the host is not known.
    pub(super) blocks: Option<Amounts>,
    /// The host holds more than fits.
    pub(super) overbooked: bool,
}

pub(super) fn report(facts: &Facts, missing: &[Missing]) -> Account {
    let (slot, object) = (&facts.slot.outlook.facts.slot, &*facts.slot.outlook.object);
    let condition = object.status.as_ref().and_then(|status| ready(&status.conditions));
    let name = |host: &Option<HostName>| host.as_ref().map(ToString::to_string);
    Account {
        missing: missing.to_vec(),
        now: facts.now,
        slot: facts.slot.key.name.to_string(),
        cluster: facts.slot.key.cluster.to_string(),
        zone: slot.zone.to_string(),
        commitment: owner(facts),
        project: slot.project.to_string(),
        group: slot.group.to_string(),
        flavor: slot.flavor.to_string(),
        size: slot.size.into(),
        end: slot.end,
        target_host: name(&slot.target_host),
        status_host: name(&slot.status_host),
        blocks: facts.blocks.iter().map(block_on).collect(),
        ready: condition.map(Told::of_slot),
        marks: object.status.as_ref().map(|status| Told::marks(&status.conditions)).unwrap_or_default(),
        state: facts.slot.state(),
        waiting: facts.slot.waiting(),
        vms: facts.slot.vms.clone(),
        next: next(facts),
    }
}

fn owner(facts: &Facts) -> Owner {
    let first = facts.commitments.first().and_then(|(_, condition, _)| condition.as_ref());
    Owner {
        uuid: facts.slot.outlook.facts.slot.commitment.to_string(),
        objects: facts.commitments.iter().map(|(key, ..)| key.to_string()).collect(),
        reason: first.map(|condition| condition.reason.clone()),
    }
}

fn block_on(one: &Block) -> BlockOn {
    BlockOn { host: one.host.to_string(), blocks: one.blocks.map(Into::into), overbooked: one.overbooked }
}

fn next(facts: &Facts) -> Vec<Next> {
    let mut all = facts.slot.next();
    if facts.commitments.is_empty() {
        let uuid = &facts.slot.outlook.facts.slot.commitment;
        let what = "nothing is decided about its size; delete it if it is not needed";
        all.push(Next::once(
            format!("a commitment has the UUID {uuid}"),
            format!("that one looks after it; until then {what}"),
        ));
    }
    all.extend(facts.slot.end(facts.now).map(|end| Next::at(end, "its commitment ends, and it is given up")));
    all
}
