//! How much room a request finds on each host: which reservations count for it and which are unlocked (document 60
//! sections 6.2 to 6.4 with B13, B32 and B33). Whether the room is enough is for the caller.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::{GroupName, ProjectId, Resources, SlotKey, VmId, reservation::Reservation};

use crate::{Class, ClassSet, HostId, HostState, Taken, View};

/// What a request counts.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the API")]
pub struct Question<'q> {
    /// VMs are not counted and reservations block their full size; in-flight reservations and the assume list are
    /// ignored (document 60 B33).
    pub assume_empty: bool,
    /// Slots of commitments are ignored.
    pub ignore_committed: bool,
    /// Fail-over reservations are ignored.
    pub ignore_failover: bool,
    /// In-flight reservations and the assume list are ignored.
    pub ignore_in_flight: bool,
    /// Ready slots without a flavor group count as well. Slot placement sets this, so that it and the free capacity
    /// of a host (U5) never disagree.
    pub count_ungrouped: bool,
    /// Ready slots of this project and group do not block, except for VMs that are still to come (document 60 B13).
    pub owner: Option<(&'q ProjectId, &'q GroupName)>,
    /// Ready fail-over reservations for the request's own VM do not block.
    pub own_failover: bool,
    /// No ready fail-over reservation blocks.
    pub any_failover: bool,
    /// The request's own instance: its claim does not count (document 60 section 14.1), its in-flight reservations do
    /// not block (B32), nor does its own part of an unlocked slot.
    pub vm: Option<&'q VmId>,
}

impl Question<'_> {
    fn counted(&self) -> ClassSet {
        let ignored = [
            (self.ignore_committed, ClassSet::COMMITTED),
            (self.ignore_failover, ClassSet::FAILOVER),
            (self.ignore_in_flight || self.assume_empty, ClassSet::IN_FLIGHT),
            (!self.count_ungrouped, ClassSet::of(&[Class::Ungrouped])),
            (self.any_failover, ClassSet::of(&[Class::Failover])),
        ];
        ignored.into_iter().filter(|(yes, _)| *yes).fold(ClassSet::ALL, |all, (_, classes)| all.without(classes))
    }

    /// The reservations that are unlocked for this request alone.
    fn unlocked<'v>(&self, view: &'v View, counted: ClassSet) -> BTreeSet<&'v SlotKey> {
        let slots = self.owner.filter(|_| counted.has(Class::Committed));
        let slots = slots.into_iter().flat_map(|(project, group)| view.slots_of(project, group));
        let of_vm = self.vm.into_iter().flat_map(|vm| view.reservations_for(vm));
        let of_vm = of_vm.filter(|reservation| match Class::of(reservation) {
            Class::Failover => self.own_failover && counted.has(Class::Failover),
            Class::InFlight => counted.has(Class::InFlight),
            _ => false,
        });
        slots.chain(of_vm).map(|reservation| &reservation.key).collect()
    }
}

/// The room that one request finds on each host.
#[derive(Clone, Debug)]
pub struct Rooms<'v> {
    view: &'v View,
    counted: ClassSet,
    empty: bool,
    /// Hosts with reservations or a claim that this request alone does not count.
    own: BTreeMap<HostId, Option<Resources>>,
}

impl<'v> Rooms<'v> {
    pub(crate) fn new(view: &'v View, question: &Question<'_>) -> Self {
        let counted = question.counted();
        let mut rooms = Self { view, counted, empty: question.assume_empty, own: BTreeMap::new() };
        let unlocked = question.unlocked(view, counted);
        let claim = question.vm.and_then(|vm| view.claim_of(vm));
        if let Some((id, state)) = claim.and_then(|claim| view.without_claim(claim)) {
            rooms.own.insert(id, rooms.one_by_one(&state, &unlocked, question.vm));
        }
        let hosts = unlocked.iter().filter_map(|key| view.reservation(key)).flat_map(Reservation::hosts);
        for id in hosts.filter_map(|host| view.id(host)) {
            if let Some(state) = view.state(id).filter(|_| !rooms.own.contains_key(&id)) {
                let room = rooms.one_by_one(state, &unlocked, question.vm);
                rooms.own.insert(id, room);
            }
        }
        rooms
    }

    /// The room on a host, negative when it is over-booked; `None` where the capacity is not known.
    pub fn at(&self, id: HostId, state: &HostState) -> Option<Resources> {
        match self.own.get(&id) {
            Some(room) => *room,
            None => state.room_with(self.counted, self.empty),
        }
    }

    /// Sums what counts instead of giving back what does not: with amounts that saturate only the former is safe.
    fn one_by_one(&self, state: &HostState, unlocked: &BTreeSet<&SlotKey>, vm: Option<&VmId>) -> Option<Resources> {
        let counted = state.taken().iter().filter(|taken| self.counted.has(taken.class));
        let taken: Resources = counted.map(|taken| self.part(state, taken, unlocked.contains(&taken.key), vm)).sum();
        let assumed = if self.counted.has(Class::Assumed) { state.assumed() } else { Resources::ZERO };
        Some(state.before_reservations(self.empty)? - taken - assumed)
    }

    fn part(&self, state: &HostState, taken: &Taken, unlocked: bool, vm: Option<&VmId>) -> Resources {
        match (unlocked, self.empty) {
            (false, false) => taken.block.block,
            (false, true) => taken.size,
            (true, false) => self.still_to_come(state, taken, vm),
            (true, true) => Resources::ZERO,
        }
    }

    /// The VMs that a slot expects and the host does not list yet, without the request's own; and what it covers of
    /// those that were promised into it.
    fn still_to_come(&self, state: &HostState, taken: &Taken, own: Option<&VmId>) -> Resources {
        let promised = if self.counted.has(Class::Assumed) { taken.covered } else { Resources::ZERO };
        promised + self.expected(state, taken, own)
    }

    fn expected(&self, state: &HostState, taken: &Taken, own: Option<&VmId>) -> Resources {
        if taken.block.pending == Resources::ZERO {
            return Resources::ZERO;
        }
        let expected = self.view.reservation(&taken.key).into_iter().flat_map(Reservation::expected);
        expected
            .filter(|(vm, _)| Some(*vm) != own && !state.host().instances.contains_key(*vm))
            .map(|(_, size)| size.at_least_zero())
            .sum()
    }
}
