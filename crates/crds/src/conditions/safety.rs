//! Conditions beside Ready that say what protects an object from being changed: the freeze and the brake. They are
//! there while they hold, and gone when they do not.

use jiff::Timestamp;

use super::{Status, condition, find, set_condition};
use crate::Condition;

/// Type of the condition of a commitment that is left exactly as it is.
pub const FROZEN: &str = "Frozen";

/// Type of the condition of a slot or a commitment whose plan the brake has stopped.
pub const BRAKED: &str = "Braked";

/// Reason of [`FROZEN`]: the annotation `reservations.cortex.cloud/freeze`.
pub const BY_ANNOTATION: &str = "Annotation";

/// Reason of [`FROZEN`]: the key `freeze.zones`.
pub const BY_ZONE: &str = "Zone";

/// Reason of [`FROZEN`]: the key `freeze.flavorGroups`.
pub const BY_FLAVOR_GROUP: &str = "FlavorGroup";

/// Reason of [`BRAKED`]: the host is not there any more.
pub const HOST_MISSING: &str = "HostMissing";

/// Reason of [`BRAKED`]: the host is in another zone.
pub const HOST_IN_ANOTHER_ZONE: &str = "HostInAnotherZone";

/// Reason of [`BRAKED`]: the host has no room for the slot.
pub const HOST_OVERBOOKED: &str = "HostOverbooked";

/// Reason of [`BRAKED`]: the slots do not have the shape that the flavor groups ask for.
pub const SLOTS_OF_WRONG_SHAPE: &str = "SlotsOfWrongShape";

/// Reason of [`BRAKED`]: no commitment has the UUID of the slot.
pub const ORPHANED: &str = "Orphaned";

/// Says that a condition holds, for this reason and with this message, or, with none, that it does not. Another message
/// for the same reason is not said: its numbers change with everything that happens around it. Returns whether there is
/// something to write.
pub fn mark(
    conditions: &mut Vec<Condition>,
    type_: &str,
    says: Option<(&str, &str)>,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let said = find(conditions, type_);
    let Some((reason, message)) = says else {
        let was_there = said.is_some();
        conditions.retain(|condition| condition.type_ != type_);
        return was_there;
    };
    if said.is_some_and(|said| said.status == Status::True.as_str() && said.reason == reason) {
        return false;
    }
    set_condition(conditions, condition(type_, Status::True, reason, message, generation, now))
}

/// True while the condition holds.
pub fn holds(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == Status::True.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_written_once_per_reason_and_goes_without_a_trace() {
        let (mut all, now) = (Vec::new(), Timestamp::UNIX_EPOCH);
        assert!(!mark(&mut all, FROZEN, None, Some(1), now), "nothing was said");
        assert!(mark(&mut all, FROZEN, Some((BY_ZONE, "a")), Some(1), now));
        assert!(!mark(&mut all, FROZEN, Some((BY_ZONE, "b")), Some(2), now), "the same reason");
        assert_eq!((all.len(), all[0].message.as_str(), all[0].observed_generation), (1, "a", Some(1)));
        assert!(holds(&all, FROZEN) && !holds(&all, BRAKED));
        assert!(mark(&mut all, FROZEN, Some((BY_ANNOTATION, "c")), Some(2), now));
        assert_eq!((all.len(), all[0].message.as_str()), (1, "c"));
        assert!(mark(&mut all, FROZEN, None, Some(2), now));
        assert!(all.is_empty());
    }
}
