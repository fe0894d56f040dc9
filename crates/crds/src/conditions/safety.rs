//! The extra conditions: `Paused`, `DisruptionLimited` and `Invalid` say that nothing is done for an object, `Misplaced`
//! that it is in the wrong place. They are present while they hold and absent otherwise.

use jiff::Timestamp;

use super::{Status, condition, find, set_condition};
use crate::Condition;

/// Type of the condition of a commitment whose reconciliation is paused.
pub const PAUSED: &str = "Paused";

/// Type of the condition of a slot or a commitment whose plan exceeds the disruption limit.
pub const DISRUPTION_LIMITED: &str = "DisruptionLimited";

/// Type of the condition of an object that does not decode; nothing is done for it.
pub const INVALID: &str = "Invalid";

/// Reason of [`INVALID`]: the message names the field.
pub const UNREADABLE: &str = "Unreadable";

/// Reason of [`PAUSED`]: the annotation `reservations.cortex.cloud/paused`.
pub const BY_ANNOTATION: &str = "Annotation";

/// Reason of [`PAUSED`]: the key `pause.zones`.
pub const BY_ZONE: &str = "Zone";

/// Reason of [`PAUSED`]: the key `pause.flavorGroups`.
pub const BY_FLAVOR_GROUP: &str = "FlavorGroup";

/// Reason of [`DISRUPTION_LIMITED`]: the host is not there any more.
pub const HOST_MISSING: &str = "HostMissing";

/// Reason of [`DISRUPTION_LIMITED`] and [`MISPLACED`]: the host is in another zone.
pub const HOST_IN_ANOTHER_ZONE: &str = "HostInAnotherZone";

/// Reason of [`DISRUPTION_LIMITED`]: the host has no free capacity for the slot, or holds more than it has.
pub const HOST_OVERBOOKED: &str = "HostOverbooked";

/// Reason of [`DISRUPTION_LIMITED`]: the slots do not have the shape that the flavor groups ask for.
pub const SLOTS_OF_WRONG_SHAPE: &str = "SlotsOfWrongShape";

/// Reason of [`DISRUPTION_LIMITED`]: no commitment has the UUID of the slot.
pub const ORPHANED: &str = "Orphaned";

/// Reason of [`DISRUPTION_LIMITED`] of a commitment: Limes does not list it, and the syncer is to end it.
pub const UNKNOWN_TO_LIMES: &str = "UnknownToLimes";

/// Type of the condition of a slot in force whose host was given another zone.
pub const MISPLACED: &str = "Misplaced";

/// Types that these conditions had in the previous release.
const FORMER_TYPES: [(&str, &str); 2] = [("Frozen", PAUSED), ("Braked", DISRUPTION_LIMITED)];

/// Whether a condition still has a type of the previous release.
pub fn has_former_type(conditions: &[Condition]) -> bool {
    FORMER_TYPES.iter().any(|(former, _)| find(conditions, former).is_some())
}

/// Gives conditions of the previous release their present types.
pub fn rename_former_types(conditions: &mut Vec<Condition>) {
    for (former, type_) in FORMER_TYPES {
        let is_renamed = find(conditions, type_).is_some();
        conditions.retain(|condition| !is_renamed || condition.type_ != former);
        conditions.iter_mut().filter(|one| one.type_ == former).for_each(|one| type_.clone_into(&mut one.type_));
    }
}

/// Sets a condition to true with this reason and message, or removes it if there is none. A new message with the same
/// reason is not written, because its numbers change with everything around the object. Returns whether the conditions
/// have changed.
pub fn set_extra_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    reported: Option<(&str, &str)>,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let had_former = has_former_type(conditions);
    rename_former_types(conditions);
    let current = find(conditions, type_);
    let Some((reason, message)) = reported else {
        let was_there = current.is_some();
        conditions.retain(|condition| condition.type_ != type_);
        return had_former || was_there;
    };
    if current.is_some_and(|current| current.status == Status::True.as_str() && current.reason == reason) {
        return had_former;
    }
    had_former | set_condition(conditions, condition(type_, Status::True, reason, message, generation, now))
}

/// True while the condition holds.
pub fn holds(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == Status::True.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_written_once_per_reason_and_removed_completely() {
        let (mut all, now) = (Vec::new(), Timestamp::UNIX_EPOCH);
        assert!(!set_extra_condition(&mut all, PAUSED, None, Some(1), now), "no condition was reported");
        assert!(set_extra_condition(&mut all, PAUSED, Some((BY_ZONE, "a")), Some(1), now));
        assert!(!set_extra_condition(&mut all, PAUSED, Some((BY_ZONE, "b")), Some(2), now), "the same reason");
        assert_eq!((all.len(), all[0].message.as_str(), all[0].observed_generation), (1, "a", Some(1)));
        assert!(holds(&all, PAUSED) && !holds(&all, DISRUPTION_LIMITED));
        assert!(set_extra_condition(&mut all, PAUSED, Some((BY_ANNOTATION, "c")), Some(2), now));
        assert_eq!((all.len(), all[0].message.as_str()), (1, "c"));
        assert!(set_extra_condition(&mut all, PAUSED, None, Some(2), now));
        assert!(all.is_empty());
    }

    #[test]
    fn conditions_of_the_previous_release_are_renamed_and_never_there_twice() {
        let now = Timestamp::UNIX_EPOCH;
        let former = |type_: &str| condition(type_, Status::True, BY_ZONE, "a", Some(1), now);
        let mut all = vec![former("Frozen"), former("Braked")];
        assert!(set_extra_condition(&mut all, PAUSED, Some((BY_ZONE, "b")), Some(2), now), "the types have changed");
        let types: Vec<_> = all.iter().map(|one| (one.type_.as_str(), one.message.as_str())).collect();
        assert_eq!(types, [(PAUSED, "a"), (DISRUPTION_LIMITED, "a")]);
        all.push(former("Frozen"));
        assert!(has_former_type(&all) && set_extra_condition(&mut all, PAUSED, None, Some(2), now));
        assert!(!has_former_type(&all) && all.len() == 1 && holds(&all, DISRUPTION_LIMITED));
    }
}
