//! One host with everything that takes capacity on it, summed per class. A change of one slot is applied to the sums;
//! where slots depend on each other, the host is recalculated with the formula of `berth_core::block`.

use std::sync::Arc;

use berth_core::block::{self, Block};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::Reservation;
use berth_core::{Resources, SlotKey};

use crate::{Claim, Class, ClassSet, promised};

/// The capacity that one reservation takes on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub key: SlotKey,
    pub class: Class,
    /// Its block with the VMs that are there.
    pub block: Block,
    /// Its whole size, which counts when VMs do not.
    pub size: Resources,
    /// The part that covers VMs which were promised into the slot and which its object does not show. Like the pending
    /// part it stays reserved for the owner of the slot.
    pub covered: Resources,
    /// It takes that whatever else is on the host.
    alone: bool,
}

/// A host and its free capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    free_capacity: Option<Resources>,
    free: Amounts,
    blocks: [Resources; Class::COUNT],
    sizes: [Resources; Class::COUNT],
    taken: Vec<Taken>,
    /// The blocks of slots that assume entries put here, in the order of their keys.
    promised: Vec<(SlotKey, Resources)>,
    /// The promised amounts depend on other entries of the host, so no slot can be updated by itself.
    entangled: bool,
    host: Arc<Host>,
}

impl HostState {
    pub(crate) fn new(host: Host) -> Self {
        Self { host: Arc::new(host), ..Self::default() }
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The same, to be kept.
    pub fn shared_host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Capacity minus VMs, reservations, assume entries and claims; a resource without capacity stays unnamed, a negative
    /// one means over-booked.
    pub fn free(&self) -> Amounts {
        self.free
    }

    /// The same where both resources are known: what a slot can get.
    pub fn free_capacity(&self) -> Option<Resources> {
        self.free_capacity
    }

    /// The reservations that name the host, in the order of their keys.
    pub fn taken(&self) -> &[Taken] {
        &self.taken
    }

    pub(crate) fn replace(&mut self, host: Host) {
        self.host = Arc::new(host);
    }

    /// Renews everything. `recorded` are the reservations that name this host, `promised` those that assume entries
    /// will make of slots here; both in the order of their keys. `claims` are those on this host.
    pub(crate) fn renew(&mut self, recorded: &[&Reservation], promised: &[Reservation], claims: &[&Claim]) {
        self.taken.clear();
        self.promised.clear();
        let blocks = block::blocks_on(&self.host, recorded.iter().copied());
        let mut extra = promised::promised_capacity(&self.host, &blocks, promised, claims);
        for (reservation, block) in blocks {
            let covered = extra.covered.remove(&reservation.key).unwrap_or_default();
            let taken = Taken { covered, ..self.takes(reservation, block) };
            self.taken.push(taken);
        }
        for promise in promised {
            let alone = block::block_alone(promise, &self.host);
            self.promised.extend(alone.map(|alone| (promise.key.clone(), alone.block)));
        }
        self.entangled = !claims.is_empty() || self.promised.len() < promised.len();
        self.sum_up(extra.extra);
    }

    /// Applies a change of one slot: its `recorded` reservation if that names this host, and its promised size if an
    /// assume entry names this host. False if the host must be recalculated; then nothing has changed.
    pub(crate) fn follow(
        &mut self,
        key: &SlotKey,
        recorded: Option<&Reservation>,
        promised: Option<&Reservation>,
    ) -> bool {
        let place = self.taken.binary_search_by(|taken| taken.key.cmp(key));
        if self.entangled || place.is_ok_and(|place| !self.taken[place].alone) {
            return false;
        }
        let alone = |slot: Option<_>| slot.map(|slot| block::block_alone(slot, &self.host).ok_or(())).transpose();
        let (Ok(block), Ok(promise)) = (alone(recorded), alone(promised)) else { return false };
        let taken = recorded.zip(block).map(|(reservation, block)| self.takes(reservation, block));
        put(&mut self.taken, place, taken);
        let place = self.promised.binary_search_by(|(promised, _)| promised.cmp(key));
        put(&mut self.promised, place, promise.map(|promise| (key.clone(), promise.block)));
        self.sum_up(self.extra());
        true
    }

    fn takes(&self, reservation: &Reservation, block: Block) -> Taken {
        Taken {
            key: reservation.key.clone(),
            class: Class::of(reservation),
            block,
            size: reservation.size.at_least_zero(),
            covered: Resources::ZERO,
            alone: block::block_alone(reservation, &self.host).is_some(),
        }
    }

    /// The capacity that promised slots take beyond their recorded blocks, if slots do not depend on each other.
    fn extra(&self) -> Resources {
        if self.promised.is_empty() {
            return Resources::ZERO;
        }
        let is_promised = |taken: &&Taken| self.promised.binary_search_by(|(key, _)| key.cmp(&taken.key)).is_ok();
        let staying = self.taken.iter().filter(|taken| !is_promised(taken)).map(|taken| taken.block.block);
        let total: Resources = staying.chain(self.promised.iter().map(|(_, block)| *block)).sum();
        let now: Resources = self.taken.iter().map(|taken| taken.block.block).sum();
        (total - now).at_least_zero()
    }

    /// Adds everything up again: with amounts that saturate nothing can be taken off a sum.
    fn sum_up(&mut self, extra: Resources) {
        self.blocks = Default::default();
        self.sizes = Default::default();
        for Taken { class, block, size, .. } in &self.taken {
            self.blocks[*class as usize] += block.block;
            self.sizes[*class as usize] += *size;
        }
        let assumed = Class::Assumed as usize;
        (self.blocks[assumed], self.sizes[assumed]) = (extra, extra);
        self.free = block::free(&self.host, self.taken.iter().map(|taken| &taken.block)).less(extra);
        self.free_capacity = self.free.known();
    }

    /// The free capacity for a request that counts these classes, and VMs unless the host is assumed to be empty.
    pub(crate) fn free_capacity_with(&self, counted: ClassSet, empty: bool) -> Option<Resources> {
        if counted == ClassSet::ALL && !empty {
            return self.free_capacity;
        }
        let sums = if empty { &self.sizes } else { &self.blocks };
        let taken = counted.iter().map(|class| sums[class as usize]).sum();
        Some(self.free_without_reservations(empty)? - taken)
    }

    /// Capacity, minus VMs unless the host is assumed to be empty.
    pub(crate) fn free_without_reservations(&self, empty: bool) -> Option<Resources> {
        let amounts = if empty { self.host.capacity } else { self.host.unreserved() };
        amounts.known()
    }

    pub(crate) fn blocking(&self) -> ClassSet {
        ClassSet::ALL.iter().filter(|class| self.blocks[*class as usize] != Resources::ZERO).collect()
    }

    pub(crate) fn assumed(&self) -> Resources {
        self.blocks[Class::Assumed as usize]
    }
}

/// Puts an element where a search has found it, or would have.
fn put<T>(all: &mut Vec<T>, place: Result<usize, usize>, element: Option<T>) {
    match (place, element) {
        (Ok(place), Some(element)) => all[place] = element,
        (Ok(place), None) => drop(all.remove(place)),
        (Err(place), Some(element)) => all.insert(place, element),
        (Err(_), None) => {}
    }
}
