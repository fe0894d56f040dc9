//! The invariants at rest, whatever the expected end state is.

use berth_crds::labels::RELEASE_SLOTS;

use crate::end_state::{Commitment, EndState, Host, ReadyState, Slot};
use crate::error::Error;
use crate::quantity::binary;

/// The texts of all violated invariants of the end state.
pub fn check(state: &EndState) -> Result<(), Error> {
    let mut violations = Vec::new();
    violations.extend(state.hosts.iter().filter_map(overbooked));
    violations.extend(state.commitments.iter().filter_map(|one| wrong_slots(one, &state.slots)));
    violations.extend(state.commitments.iter().filter_map(|one| unguarded(one, &state.slots)));
    violations.extend(state.slots.iter().filter_map(|slot| misplaced(slot, &state.hosts)));
    violations.extend(state.slots.iter().filter_map(|slot| orphaned(slot, &state.commitments)));
    if violations.is_empty() { Ok(()) } else { Err(Error::Broken(violations)) }
}

fn overbooked(host: &Host) -> Option<String> {
    let Host { name, free, .. } = host;
    (!free.are_not_negative()).then(|| format!("host {name} is over-booked: free {free}"))
}

/// An accepted commitment has exactly its slots, all ready; a rejected or planned one holds nothing that was not
/// accepted before.
fn wrong_slots(commitment: &Commitment, slots: &[Slot]) -> Option<String> {
    let label = &commitment.label;
    let own = || slots_of(commitment, slots);
    let held: i64 = own().map(|slot| slot.size.memory).sum();
    let reason = commitment.ready.as_ref().map(|ready| ready.reason.as_str());
    match reason {
        Some("Accepted") if held != commitment.wanted => {
            Some(format!("{label} is Accepted, but its slots are {} of {}", binary(held), commitment.amount))
        }
        Some("Accepted") if !own().all(|slot| is_true(slot.ready.as_ref())) => {
            Some(format!("{label} is Accepted, but not all of its slots are Ready"))
        }
        Some("Rejected" | "Planned") if commitment.accepted_amount.is_none() && held != 0 => {
            Some(format!("{label} is not accepted, but its slots hold {}", binary(held)))
        }
        None => Some(format!("{label} has no Ready condition")),
        _ => None,
    }
}

fn unguarded(commitment: &Commitment, slots: &[Slot]) -> Option<String> {
    let has_slots = slots_of(commitment, slots).next().is_some();
    let has_finalizer = commitment.finalizers.iter().any(|finalizer| finalizer == RELEASE_SLOTS);
    (has_slots && !has_finalizer)
        .then(|| format!("{} has slots, but not the finalizer {RELEASE_SLOTS}", commitment.label))
}

/// A slot that is Ready is on its target host, in its zone.
fn misplaced(slot: &Slot, hosts: &[Host]) -> Option<String> {
    let name = &slot.name;
    if !is_true(slot.ready.as_ref()) {
        return None;
    }
    let host = hosts.iter().find(|host| Some(&host.name) == slot.host.as_ref());
    match host {
        _ if slot.host != slot.target_host => Some(format!(
            "slot {name} is Ready on host {:?}, but is to be on {:?}",
            slot.host.as_deref().unwrap_or_default(),
            slot.target_host.as_deref().unwrap_or_default()
        )),
        None => Some(format!("slot {name} is Ready on no existing host")),
        Some(host) if host.zone != slot.zone => {
            Some(format!("slot {name} of zone {} is in zone {}", slot.zone, host.zone))
        }
        Some(_) => None,
    }
}

fn orphaned(slot: &Slot, commitments: &[Commitment]) -> Option<String> {
    let has_parent = commitments.iter().any(|commitment| commitment.uuid == slot.commitment);
    (!has_parent).then(|| format!("slot {} belongs to no commitment", slot.name))
}

fn slots_of<'a>(commitment: &'a Commitment, slots: &'a [Slot]) -> impl Iterator<Item = &'a Slot> {
    slots.iter().filter(|slot| slot.commitment == commitment.uuid)
}

fn is_true(ready: Option<&ReadyState>) -> bool {
    ready.is_some_and(|ready| ready.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Amounts;

    const GIB: i64 = 1 << 30;

    fn ready_state(status: &str, reason: &str) -> ReadyState {
        ReadyState { status: status.to_owned(), reason: reason.to_owned(), message: String::new() }
    }

    fn sound() -> EndState {
        let size = Amounts { memory: GIB, cpu: 1 };
        EndState {
            commitments: vec![Commitment {
                label: "01".to_owned(),
                uuid: "u".to_owned(),
                amount: "1Gi".to_owned(),
                wanted: GIB,
                ready: Some(ready_state("True", "Accepted")),
                finalizers: vec![RELEASE_SLOTS.to_owned()],
                ..Commitment::default()
            }],
            slots: vec![Slot {
                name: "s".to_owned(),
                commitment: "u".to_owned(),
                zone: "z".to_owned(),
                size,
                target_host: Some("h".to_owned()),
                host: Some("h".to_owned()),
                ready: Some(ready_state("True", "ReservationActive")),
                ..Slot::default()
            }],
            hosts: vec![Host { name: "h".to_owned(), zone: "z".to_owned(), free: size, ..Host::default() }],
        }
    }

    fn violations_after(change: impl FnOnce(&mut EndState)) -> Vec<String> {
        let mut state = sound();
        change(&mut state);
        match check(&state) {
            Err(Error::Broken(invariants)) => invariants,
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_sound_state_breaks_nothing() {
        assert_eq!(violations_after(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn each_invariant_is_reported_in_words() {
        assert_eq!(
            violations_after(|state| state.hosts[0].free.cpu = -1),
            ["host h is over-booked: free memory 1Gi, cpu -1"]
        );
        assert_eq!(
            violations_after(|state| state.slots[0].size.memory = 3),
            ["01 is Accepted, but its slots are 3 of 1Gi"]
        );
        assert_eq!(
            violations_after(|state| state.slots[0].ready = Some(ready_state("False", "NoHostsFound"))),
            ["01 is Accepted, but not all of its slots are Ready"]
        );
        assert_eq!(
            violations_after(|state| state.commitments[0].ready = Some(ready_state("False", "Rejected"))),
            ["01 is not accepted, but its slots hold 1Gi"]
        );
        assert_eq!(violations_after(|state| state.commitments[0].ready = None), ["01 has no Ready condition"]);
        assert_eq!(
            violations_after(|state| state.commitments[0].finalizers.clear()),
            ["01 has slots, but not the finalizer reservations.cortex.cloud/release-slots"]
        );
        assert_eq!(
            violations_after(|state| state.slots[0].target_host = None),
            ["slot s is Ready on host \"h\", but is to be on \"\""]
        );
        assert_eq!(violations_after(|state| state.hosts[0].zone.clear()), ["slot s of zone z is in zone "]);
        assert_eq!(violations_after(|state| state.hosts.clear()), ["slot s is Ready on no existing host"]);
        assert_eq!(violations_after(|state| state.commitments.clear()), ["slot s belongs to no commitment"]);
    }
}
