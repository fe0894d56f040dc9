//! How much capacity a request finds on each host: which reservations count for it and which are unlocked.

use std::collections::BTreeSet;

use berth_core::reservation::Reservation;
use berth_core::{GroupName, ProjectId, Resources, SlotKey, VmId};

use crate::{Class, ClassSet, HostId, HostSet, HostState, Overlay, Taken, View};

/// A question for free capacity, with the classes that it counts.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the API")]
pub struct Question<'q> {
    /// VMs are not counted and reservations block their full size; in-flight reservations and the assume list are
    /// ignored.
    pub assume_empty: bool,
    pub ignore_committed: bool,
    pub ignore_failover: bool,
    /// In-flight reservations and the assume list are ignored.
    pub ignore_in_flight: bool,
    /// Ready slots without a flavor group count as well. Slot placement sets this, so that it and the free capacity of
    /// a host never disagree.
    pub count_ungrouped: bool,
    /// Ready slots of this project and group do not block, except for VMs that are still to come.
    pub owner: Option<(&'q ProjectId, &'q GroupName)>,
    /// Ready fail-over reservations for the request's own VM do not block.
    pub own_failover: bool,
    pub any_failover: bool,
    /// The request's own instance: its claim does not count, its in-flight reservations do not block, nor does its own
    /// part of an unlocked slot.
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

/// The capacity that one request finds on each host.
#[derive(Clone, Debug)]
pub struct FreeCapacities<'v> {
    overlay: &'v Overlay<'v>,
    counted: ClassSet,
    empty: bool,
    vm: Option<VmId>,
    /// Reservations that this request alone does not count.
    unlocked: BTreeSet<&'v SlotKey>,
    /// The host of the request's own claim as it would be without it.
    unclaimed: Option<(HostId, HostState)>,
    own: HostSet,
}

impl Overlay<'_> {
    /// The capacity that a request finds on each host.
    pub fn free_capacities(&self, question: &Question<'_>) -> FreeCapacities<'_> {
        FreeCapacities::new(self, question)
    }
}

impl<'v> FreeCapacities<'v> {
    pub(crate) fn new(overlay: &'v Overlay<'v>, question: &Question<'_>) -> Self {
        let (counted, view) = (question.counted(), overlay.view());
        let unlocked = question.unlocked(view, counted);
        let claim = question.vm.and_then(|vm| overlay.claim_of(vm));
        let unclaimed = claim.and_then(|claim| overlay.without_claim(claim));
        let hosts = unlocked.iter().filter_map(|key| view.reservation(key)).flat_map(Reservation::hosts);
        let mut own: HostSet = hosts.filter_map(|host| view.id(host)).collect();
        own.extend(unclaimed.iter().map(|(id, _)| *id));
        Self { overlay, counted, empty: question.assume_empty, vm: question.vm.cloned(), unlocked, unclaimed, own }
    }

    /// The capacity on a host, negative when it is over-booked; `None` where the capacity is not known, or the host is
    /// not.
    pub fn at(&self, id: HostId) -> Option<Resources> {
        let state = self.overlay.state(id)?;
        if self.own.has(id) {
            self.capacity_of_own_slot(id, state)
        } else {
            state.free_capacity_with(self.counted, self.empty)
        }
    }

    pub fn keep_fitting(&self, need: Resources, hosts: &mut HostSet) {
        let fits = |free: Option<Resources>| free.is_some_and(|free| need.fits(free));
        let mut touched = self.overlay.touched().clone();
        touched.keep(hosts);
        touched.retain(|id| fits(self.at(id)));
        hosts.drop(self.overlay.touched());
        hosts.retain(|id| {
            let state = || self.overlay.view().state(id);
            let free = match self.column(id) {
                Some(free) => Some(free),
                None => state().and_then(|state| state.free_capacity_with(self.counted, self.empty)),
            };
            // Overrides of this request can only add free capacity, so they are evaluated only if the host has too
            // little without them.
            fits(free) || self.own.has(id) && fits(state().and_then(|state| self.capacity_of_own_slot(id, state)))
        });
        hosts.add(&touched);
    }

    fn capacity_of_own_slot(&self, id: HostId, state: &HostState) -> Option<Resources> {
        let unclaimed = self.unclaimed.as_ref().filter(|(claimed, _)| *claimed == id).map(|(_, state)| state);
        self.sum_one_by_one(unclaimed.unwrap_or(state))
    }

    fn column(&self, id: HostId) -> Option<Resources> {
        if self.empty { None } else { self.overlay.view().columns().free_capacity(id, self.counted) }
    }

    /// Sums what counts instead of giving back what does not: with amounts that saturate only the former is safe.
    fn sum_one_by_one(&self, state: &HostState) -> Option<Resources> {
        let counted = state.taken().iter().filter(|taken| self.counted.has(taken.class));
        let taken: Resources = counted.map(|taken| self.part(state, taken)).sum();
        let assumed = if self.counted.has(Class::Assumed) { state.assumed() } else { Resources::ZERO };
        Some(state.free_without_reservations(self.empty)? - taken - assumed)
    }

    fn part(&self, state: &HostState, taken: &Taken) -> Resources {
        match (self.unlocked.contains(&taken.key), self.empty) {
            (false, false) => taken.block.block,
            (false, true) => taken.size,
            (true, false) => self.sum_expected_vms(state, taken),
            (true, true) => Resources::ZERO,
        }
    }

    /// The VMs that a slot expects and the host does not list yet, without the request's own VM; and the covered part
    /// of VMs that were promised into it.
    fn sum_expected_vms(&self, state: &HostState, taken: &Taken) -> Resources {
        let promised = if self.counted.has(Class::Assumed) { taken.covered } else { Resources::ZERO };
        promised + self.expected(state, taken)
    }

    fn expected(&self, state: &HostState, taken: &Taken) -> Resources {
        if taken.block.pending == Resources::ZERO {
            return Resources::ZERO;
        }
        let expected = self.overlay.view().reservation(&taken.key).into_iter().flat_map(Reservation::expected);
        expected
            .filter(|(vm, _)| Some(*vm) != self.vm.as_ref() && !state.host().instances.contains_key(*vm))
            .map(|(_, size)| size.at_least_zero())
            .sum()
    }
}
