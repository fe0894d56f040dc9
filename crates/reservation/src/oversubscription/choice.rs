//! Which slots leave an over-booked host: as few as are needed, empty ones first.

use std::cmp::Reverse;

use berth_core::{Resources, SlotKey};

use super::facts::Occupant;

/// The slots that leave, in the order in which they were chosen. Those with VMs only if `occupied`. The excess does not
/// include capacity that slots on their way to other hosts will free.
///
/// When they resolve the excess, each of them is needed for that: so none of them fits on the host again.
pub(super) fn choose(excess: Resources, slots: &[Occupant], occupied: bool) -> Vec<&Occupant> {
    let staying = slots.iter().filter(|slot| !slot.leaving && !slot.is_paused);
    let (empty, mut full): (Vec<_>, Vec<_>) = staying.partition(|slot| slot.empty);
    full.sort_by_key(|slot| least_used(slot));
    if !occupied {
        full.clear();
    }
    let mut chosen = Vec::new();
    let (mut left, mut empty) = (excess, empty);
    while let Some(at) = next_empty(left, &empty) {
        let slot = empty.swap_remove(at);
        left = (left - slot.block).at_least_zero();
        chosen.push(slot);
    }
    for slot in full {
        if helps(left, slot) > Resources::ZERO.into() {
            left = (left - slot.block).at_least_zero();
            chosen.push(slot);
        }
    }
    retain_needed(excess, chosen)
}

/// The smallest that is enough alone; else the one that helps most.
fn next_empty(left: Resources, slots: &[&Occupant]) -> Option<usize> {
    let helping = slots.iter().enumerate().filter(|(_, slot)| helps(left, slot) > Resources::ZERO.into());
    let enough = helping.clone().filter(|(_, slot)| left.fits(slot.block));
    let smallest = enough.min_by_key(|(_, slot)| by_size(slot));
    let best = || helping.min_by_key(|(_, slot)| (Reverse(helps(left, slot)), by_size(slot)));
    smallest.or_else(best).map(|(at, _)| at)
}

/// Memory, then cores: the order in which slots are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part(i64, i64);

impl From<Resources> for Part {
    fn from(all: Resources) -> Self {
        Self(all.memory.get(), all.cpu.get())
    }
}

/// The part of the excess that the slot resolves.
fn helps(left: Resources, slot: &Occupant) -> Part {
    let part = Resources::new(left.memory.min(slot.block.memory), left.cpu.min(slot.block.cpu));
    part.at_least_zero().into()
}

fn by_size(slot: &Occupant) -> (Part, &SlotKey) {
    (slot.size.into(), &slot.key)
}

/// Slots with VMs go in tenths of what their VMs leave unused, the most unused first.
fn least_used(slot: &Occupant) -> (Reverse<(i128, i128)>, i64, SlotKey) {
    let memory = tenths(slot.block.memory.get(), slot.size.memory.get());
    let cpu = tenths(slot.block.cpu.get(), slot.size.cpu.get());
    (Reverse((memory, cpu)), slot.size.memory.get(), slot.key.clone())
}

fn tenths(block: i64, size: i64) -> i128 {
    if size <= 0 { 0 } else { i128::from(block) * 10 / i128::from(size) }
}

fn retain_needed(excess: Resources, mut chosen: Vec<&Occupant>) -> Vec<&Occupant> {
    let mut at = 0;
    while at < chosen.len() {
        let others = chosen.iter().enumerate().filter(|(other, _)| *other != at);
        let freed: Resources = others.map(|(_, slot)| slot.block).sum();
        if excess.fits(freed) {
            chosen.remove(at);
        } else {
            at += 1;
        }
    }
    chosen
}

#[cfg(test)]
mod tests;
