//! Capacity that will be taken on a host beyond its recorded reservations: by slots that got the host, and by instances
//! with a claim on it. Both are counted as they will be when objects show them.

use std::collections::BTreeMap;

use berth_core::block::{self, Block};
use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Resources, SlotKey};

use crate::Claim;

/// The promised capacity of one host.
#[derive(Debug, Default)]
pub(crate) struct PromisedCapacity {
    pub(crate) extra: Resources,
    /// Per slot: the part of the instances promised into it that it has free capacity for as it is recorded, and that
    /// its object does not show.
    pub(crate) covered: BTreeMap<SlotKey, Resources>,
}

/// `recorded` are the reservations that name the host, `promised` those that assume entries will make of slots here;
/// both in the order of their keys.
pub(crate) fn promised_capacity(
    host: &Host,
    recorded: &[(&Reservation, Block)],
    promised: &[Reservation],
    claims: &[&Claim],
) -> PromisedCapacity {
    if promised.is_empty() && claims.is_empty() {
        return PromisedCapacity::default();
    }
    let known = recorded.iter().map(|(reservation, _)| (&reservation.key, *reservation));
    let slots: BTreeMap<_, _> = known.chain(promised.iter().map(|promise| (&promise.key, promise))).collect();
    let plan = SlotsWithClaims::new(host, &slots, claims);
    let now: BTreeMap<&SlotKey, Resources> = recorded.iter().map(|(slot, block)| (&slot.key, block.block)).collect();
    let blocked = |slot: &Reservation| now.get(&slot.key).copied().unwrap_or_default();
    // A VM that a slot is about to expect lowers its block only when the object shows that.
    let at_least = |(slot, block): &(&Reservation, Block)| block.block.max(blocked(slot));
    let before = block::blocks_on(host, slots.values().copied());
    let after = block::blocks_on(host, slots.iter().map(|(key, slot)| plan.slots.get(*key).unwrap_or(slot)));
    let covered = before.iter().zip(&after).filter_map(|(slot_before, slot_after)| {
        let slot = slot_before.0;
        let promised = *plan.to_come.get(&slot.key)?;
        // The extra part already contains the growth of the slot, and instances fill that first.
        let grown = at_least(slot_before) - blocked(slot);
        Some((slot.key.clone(), (promised - (at_least(slot_after) - at_least(slot_before)) - grown).at_least_zero()))
    });
    let total: Resources = after.iter().map(at_least).sum();
    let now: Resources = now.values().copied().sum();
    PromisedCapacity { extra: (total - now).at_least_zero() + plan.besides, covered: covered.collect() }
}

/// The slots as they will be with their claims.
#[derive(Default)]
struct SlotsWithClaims {
    slots: BTreeMap<SlotKey, Reservation>,
    /// The sizes of the instances that a slot will expect and does not yet.
    to_come: BTreeMap<SlotKey, Resources>,
    besides: Resources,
}

impl SlotsWithClaims {
    fn new(host: &Host, slots: &BTreeMap<&SlotKey, &Reservation>, claims: &[&Claim]) -> Self {
        let mut plan = Self::default();
        for claim in claims {
            if !plan.grow(slots, claim) && !plan.book(host, slots, claim) {
                plan.besides += claim.size.at_least_zero();
            }
        }
        plan
    }

    /// A claim for a slot that is here already is for the whole slot.
    fn grow(&mut self, slots: &BTreeMap<&SlotKey, &Reservation>, claim: &Claim) -> bool {
        let own = slots.iter().find(|(key, _)| key.name.as_str() == claim.instance.as_str());
        if let Some((key, slot)) = own {
            let slot = self.slots.entry((*key).clone()).or_insert_with(|| (*slot).clone());
            slot.size = slot.size.max(claim.size);
        }
        own.is_some()
    }

    /// A VM that the host lists already is another one beside it until the claim ends: it is being resized.
    fn book(&mut self, host: &Host, slots: &BTreeMap<&SlotKey, &Reservation>, claim: &Claim) -> bool {
        let Some((key, slot)) = claim.slot.as_ref().and_then(|key| slots.get_key_value(key)) else { return false };
        if host.instances.contains_key(&claim.instance) || !matches!(slot.kind, ReservationKind::Committed(_)) {
            return false;
        }
        let slot = self.slots.entry((*key).clone()).or_insert_with(|| (*slot).clone());
        if let ReservationKind::Committed(vms) = &mut slot.kind {
            let known = vms.get(&claim.instance).copied().unwrap_or_default().at_least_zero();
            let wanted = known.max(claim.size);
            *self.to_come.entry((*key).clone()).or_default() += wanted - known;
            vms.insert(claim.instance.clone(), wanted);
        }
        true
    }
}
