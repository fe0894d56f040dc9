//! One host with everything that takes room on it, summed per class. The sums are renewed as a whole from the
//! reservations that name the host, because a VM counts in the first slot only (U35); the formula itself is in
//! `berth_core::block`.

use berth_core::{
    Resources, SlotKey,
    block::{self, Block},
    host::{Amounts, Host},
    reservation::Reservation,
};

use crate::{Claim, Class, ClassSet, outlook};

/// What one reservation takes on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The reservation.
    pub key: SlotKey,
    /// Its class.
    pub class: Class,
    /// Its block with the VMs that are there.
    pub block: Block,
    /// Its whole size, which counts when VMs do not.
    pub size: Resources,
    /// What it covers of VMs that were promised into it and that its object does not show: like the pending part it
    /// stays taken for its owner.
    pub covered: Resources,
}

/// A host and what is free on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    room: Option<Resources>,
    free: Amounts,
    blocks: [Resources; Class::COUNT],
    sizes: [Resources; Class::COUNT],
    taken: Vec<Taken>,
    host: Host,
}

impl HostState {
    pub(crate) fn new(host: Host) -> Self {
        Self { host, ..Self::default() }
    }

    /// The host as it was observed.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Capacity minus VMs, reservations, assume entries and claims; a resource without capacity stays unnamed, a negative
    /// one means over-booked.
    pub fn free(&self) -> Amounts {
        self.free
    }

    /// The same where both resources are known: what a slot can get.
    pub fn room(&self) -> Option<Resources> {
        self.room
    }

    /// The reservations that name the host, in the order of their keys.
    pub fn taken(&self) -> &[Taken] {
        &self.taken
    }

    pub(crate) fn replace(&mut self, host: Host) -> Host {
        std::mem::replace(&mut self.host, host)
    }

    /// Renews the sums. `recorded` are the reservations that name this host, `promised` those that assume entries
    /// will make of slots here; both in the order of their keys. `claims` are those on this host.
    pub(crate) fn renew(&mut self, recorded: &[&Reservation], promised: &[Reservation], claims: &[&Claim]) {
        self.taken.clear();
        self.blocks = Default::default();
        self.sizes = Default::default();
        let blocks = block::blocks_on(&self.host, recorded.iter().copied());
        let free = block::free(&self.host, blocks.iter().map(|(_, block)| block));
        let mut outlook = outlook::outlook(&self.host, &blocks, promised, claims);
        for (reservation, block) in blocks {
            let covered = outlook.covered.remove(&reservation.key).unwrap_or_default();
            self.add(reservation, block, covered);
        }
        let assumed = Class::Assumed as usize;
        (self.blocks[assumed], self.sizes[assumed]) = (outlook.extra, outlook.extra);
        self.free = free.less(outlook.extra);
        self.room = self.free.known();
    }

    fn add(&mut self, reservation: &Reservation, block: Block, covered: Resources) {
        let class = Class::of(reservation);
        let size = reservation.size.at_least_zero();
        self.blocks[class as usize] += block.block;
        self.sizes[class as usize] += size;
        self.taken.push(Taken { key: reservation.key.clone(), class, block, size, covered });
    }

    /// What is left for a request that counts these classes, and VMs unless the host is assumed to be empty.
    pub(crate) fn room_with(&self, counted: ClassSet, empty: bool) -> Option<Resources> {
        if counted == ClassSet::ALL && !empty {
            return self.room;
        }
        let sums = if empty { &self.sizes } else { &self.blocks };
        let taken = counted.iter().map(|class| sums[class as usize]).sum();
        Some(self.before_reservations(empty)? - taken)
    }

    /// Capacity, minus VMs unless the host is assumed to be empty.
    pub(crate) fn before_reservations(&self, empty: bool) -> Option<Resources> {
        let amounts = if empty { self.host.capacity } else { self.host.unreserved() };
        amounts.known()
    }

    pub(crate) fn assumed(&self) -> Resources {
        self.blocks[Class::Assumed as usize]
    }
}
