//! The slots that memory commitments of a flavor group have in a zone.

use jiff::Timestamp;

use crate::commitment::{ResourceType, Spec, State};
use crate::flavor::FlavorGroup;
use crate::ids::Zone;
use crate::units::Bytes;

/// The accepted memory of active commitments that have not ended, as whole slots of the smallest flavor. The sum is rounded
/// down, not each commitment. Without a time nothing has ended.
pub fn committed_slots<'a>(
    accepted: impl IntoIterator<Item = &'a Spec>,
    group: &FlavorGroup,
    zone: &Zone,
    now: Option<Timestamp>,
) -> u64 {
    let counts = |spec: &&Spec| {
        let is_active = matches!(spec.state, State::Guaranteed | State::Confirmed);
        let has_ended = now.zip(spec.end).is_some_and(|(now, end)| end < now);
        let is_of_place = spec.group == group.name && spec.zone == *zone;
        is_of_place && spec.resource == ResourceType::Memory && is_active && !has_ended
    };
    let committed =
        accepted.into_iter().filter(counts).map(|spec| Bytes::new(spec.amount.round_down()).at_least_zero());
    let sum: Bytes = committed.sum();
    let smallest = group.smallest().map(|flavor| flavor.size().memory).unwrap_or_default();
    u64::try_from(sum.get().checked_div(smallest.get()).unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flavor::Flavor;
    use crate::testing::{amber, at, spec};

    /// A group whose smallest flavor has 4 GiB.
    fn group() -> FlavorGroup {
        let mut group = amber();
        group.flavors.push(Flavor { memory_mib: 4096, ..group.flavors[0].clone() });
        group
    }

    fn slots(accepted: &[Spec]) -> u64 {
        committed_slots(accepted, &group(), &"az-a".into(), Some(at(0)))
    }

    #[test]
    fn accepted_memory_of_active_commitments_is_added_up_before_it_is_rounded() {
        // A commitment of 7 GiB that was never accepted has no accepted spec, and one that wants 12 GiB has 9 accepted.
        let accepted = [spec("10Gi"), spec("9Gi")];
        let planned = Spec { state: State::Planned, ..spec("8Gi") };
        let cores = Spec { resource: ResourceType::Cores, ..spec("8Gi") };
        let all = [accepted.as_slice(), &[planned, cores]].concat();
        assert_eq!(slots(&all), 4, "19 GiB");
    }

    #[test]
    fn ended_commitments_and_those_of_other_places_do_not_count() {
        let ended = Spec { end: Some(at(-1)), ..spec("8Gi") };
        let ends_now = Spec { end: Some(at(0)), state: State::Guaranteed, ..spec("8Gi") };
        let elsewhere = Spec { zone: "az-b".into(), ..spec("8Gi") };
        let other = Spec { group: "other".into(), ..spec("8Gi") };
        assert_eq!(slots(&[ended, ends_now, elsewhere, other, spec("-8Gi")]), 2);
        let empty = FlavorGroup { flavors: Vec::new(), ..amber() };
        assert_eq!(committed_slots(&[spec("8Gi")], &empty, &"az-a".into(), Some(at(0))), 0);
        let ended = Spec { end: Some(at(-1)), ..spec("8Gi") };
        assert_eq!(committed_slots(&[ended], &group(), &"az-a".into(), None), 2, "without a time");
    }
}
