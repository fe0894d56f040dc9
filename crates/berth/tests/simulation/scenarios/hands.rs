//! Objects that other clients have written: slots that users edit or break, and the objects of an older system.

use berth_crds::{Reservation, labels, testing};
use berth_testkit::{path_of, seeds};
use serde_json::{Value, json};

use super::acts::{commit, hosts, people, resize};
use super::ends::{accepted, slots_of};
use super::scenario::{Deed, Scenario};
use crate::world::World;

pub fn edited() -> Vec<Scenario> {
    vec![slot_edited_by_hand(), slot_undecodable()]
}

pub fn inherited() -> Vec<Scenario> {
    vec![upgrade_from_old_objects()]
}

/// A host is removed from a slot, another slot gets a host that does not exist, and a label of another client is
/// removed.
fn slot_edited_by_hand() -> Scenario {
    Scenario::new("slot-edited-by-hand")
        .with(hosts(&[("h1", 3), ("h2", 3)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(60.0, edit("uuid-1", 0, json!({ "spec": { "targetHost": null } })))
        .at(90.0, edit("uuid-1", 1, json!({ "spec": { "targetHost": "nowhere" } })))
        .at(120.0, edit("uuid-1", 2, json!({ "metadata": { "labels": { labels::TYPE: null } } })))
        .ends(accepted("uuid-1", 3))
}

/// While one of its slots cannot be decoded, a commitment gets no other.
fn slot_undecodable() -> Scenario {
    Scenario::new("slot-undecodable")
        .with(hosts(&[("h1", 3), ("h2", 3)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(60.0, breaks("uuid-1"))
        .at(70.0, resize("uuid-1", 4))
        .at(150.0, repaired())
        .ends(accepted("uuid-1", 4))
}

/// Slots without our label, and a commitment without a finalizer.
fn upgrade_from_old_objects() -> Scenario {
    Scenario::new("upgrade-from-old-objects")
        .excusing(&["slot_unmarked: "])
        .with(hosts(&[("h1", 2), ("h2", 2)]))
        .with(commit(seeds::waiting_commitment("uuid-1", 2)))
        .with(old_slots("uuid-1", "h1", 2))
        .at(60.0, resize("uuid-1", 3))
        .ends(accepted("uuid-1", 3))
}

/// A user edits a slot of a commitment, counted from 0.
fn edit(uuid: &'static str, which: usize, patch: Value) -> Deed {
    people(move |world| {
        name_of(world, uuid, which).is_some_and(|name| {
            world.servers().into_iter().any(|(_, server)| server.edit::<Reservation>(&name, &patch).is_ok())
        })
    })
}

fn name_of(world: &World, uuid: &str, which: usize) -> Option<String> {
    slots_of(world, uuid).get(which)?.metadata.name.clone()
}

/// Makes the first slot of a commitment undecodable.
fn breaks(uuid: &'static str) -> Deed {
    Box::new(move |stage| {
        let kind = path_of::<Reservation>("");
        let Some(name) = name_of(&stage.world, uuid, 0) else { return false };
        let Ok(before) = stage.world.home.get_raw(&kind, &name) else { return false };
        stage.violations = Some((name.clone(), before["spec"]["resources"].clone()));
        let invalid_amount = json!({ "spec": { "resources": "nonsense" } });
        stage.world.people(|world| world.home.edit_raw(&kind, &name, &invalid_amount).is_ok())
    })
}

fn repaired() -> Deed {
    Box::new(move |stage| {
        let Some((name, resources)) = stage.violations.clone() else { return false };
        let patch = json!({ "spec": { "resources": resources } });
        stage.world.people(|world| world.home.edit_raw(&path_of::<Reservation>(""), &name, &patch).is_ok())
    })
}

fn old_slots(uuid: &'static str, host: &'static str, count: u64) -> Deed {
    people(move |world| {
        (0..count).all(|number| {
            let mut slot = testing::slot(uuid, number);
            slot.metadata.annotations = None;
            slot.spec.target_host = Some(host.to_owned());
            world.home.create(&slot).is_ok()
        })
    })
}
