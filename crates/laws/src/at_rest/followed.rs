//! What the slots of a commitment add up to.

use berth_crds::{CommittedResource, CommittedResourceSpec, Reservation, conditions, resources};

use crate::{
    Key, Law, Violation,
    amounts::{memory_of, mib_up, used},
};

/// What the slots of a commitment follow.
pub(super) enum Followed<'a> {
    /// This spec, exactly.
    Spec(&'a CommittedResourceSpec),
    /// It has no slots.
    Nothing,
    /// It waits for something else than room, and its slots stay as they are.
    Unknown,
}

pub(super) fn followed(commitment: &CommittedResource) -> Followed<'_> {
    let Some(status) = &commitment.status else { return Followed::Unknown };
    let Some(ready) = conditions::ready(&status.conditions) else { return Followed::Unknown };
    let for_room = ["insufficient capacity", "waiting for reservation placement"];
    match ready.reason.as_str() {
        "Accepted" => Followed::Spec(&commitment.spec),
        "Reserving" if for_room.iter().any(|text| ready.message.starts_with(text)) => Followed::Spec(&commitment.spec),
        "Rejected" => status.accepted_spec.as_ref().map_or(Followed::Nothing, Followed::Spec),
        "Planned" | "superseded" | "expired" => Followed::Nothing,
        _ => Followed::Unknown,
    }
}

/// The slots are summed in bytes and rounded up to MiB once (U41).
pub(super) fn sum(key: &Key, commitment: &CommittedResource, slots: &[(&Key, &Reservation)]) -> Option<Violation> {
    let wanted = match followed(commitment) {
        Followed::Spec(spec) => memory_of(spec),
        Followed::Nothing => 0,
        Followed::Unknown => return None,
    };
    let bytes = slots.iter().map(|(_, slot)| used(&slot.spec.resources, resources::MEMORY)).sum();
    let (held, wanted, slots) = (mib_up(bytes), mib_up(wanted), slots.len());
    let text = || format!("its {slots} slots hold {held} MiB, not {wanted} MiB");
    (held != wanted).then(|| Violation::new(Law::SlotSum, key, text()))
}
