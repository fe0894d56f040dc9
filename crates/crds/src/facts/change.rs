//! A CommitmentChange as specs of commitments.

use berth_core::commitment::Spec;
use berth_core::planner::FormerSlot;

use super::commitment::spec_of;
use super::values::size;
use crate::commitment_change::{ChangeItem, SlotBefore};
use crate::{CommitmentChange, conditions};

/// Whether something is left to do for the change.
pub fn is_open(change: &CommitmentChange) -> bool {
    let conditions = change.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    !conditions::commitment_change::is_finished(conditions)
}

/// The UUIDs of the commitments of the change, as they were sent.
pub fn members(change: &CommitmentChange) -> impl Iterator<Item = &str> {
    change.spec.items.iter().map(|item| item.commitment_uuid.as_str())
}

/// The spec before the change; none if the commitment did not exist.
pub fn spec_before(item: &ChangeItem) -> Option<Spec> {
    item.before.as_ref().map(|before| spec_of(&before.spec))
}

/// The accepted spec before the change.
pub fn accepted_spec_before(item: &ChangeItem) -> Option<Spec> {
    item.before.as_ref()?.accepted_spec.as_ref().map(spec_of)
}

/// The spec that the change asks for; none if it deletes the commitment.
pub fn spec_after(item: &ChangeItem) -> Option<Spec> {
    item.after.as_ref().map(spec_of)
}

/// A slot of the journal as the planner sees it.
pub fn former_slot(slot: &SlotBefore) -> FormerSlot {
    FormerSlot {
        name: slot.name.as_str().into(),
        host: slot.target_host.as_deref().map(Into::into),
        size: size(&slot.resources),
    }
}

#[cfg(test)]
mod tests {
    use berth_core::commitment::State;
    use jiff::Timestamp;

    use super::*;
    use crate::conditions::{Status, condition};
    use crate::testing;

    #[test]
    fn a_change_is_open_until_it_is_finished() {
        let mut change = testing::commitment_change("one", &["uuid-1"]);
        assert!(is_open(&change), "it has no status yet");
        for (status, open) in [(Status::False, true), (Status::Unknown, true), (Status::True, false)] {
            let finished = condition("Finished", status, "Any", "", None, Timestamp::UNIX_EPOCH);
            change.status.get_or_insert_default().conditions = vec![finished];
            assert_eq!(is_open(&change), open, "{status}");
        }
    }

    #[test]
    fn the_states_of_its_items_are_specs() {
        let mut change = testing::commitment_change("one", &["uuid-1", "uuid-2"]);
        assert_eq!(members(&change).collect::<Vec<_>>(), ["uuid-1", "uuid-2"]);
        let item = &mut change.spec.items[0];
        let before = item.before.as_mut().unwrap();
        before.accepted_spec = Some(before.spec.clone());
        before.spec.state = crate::CommitmentState::Pending;
        assert_eq!(spec_before(item).map(|spec| spec.state), Some(State::Pending));
        assert_eq!(accepted_spec_before(item).map(|spec| spec.state), Some(State::Confirmed));
        assert_eq!(spec_after(item).map(|spec| spec.uuid.to_string()).as_deref(), Some("uuid-1"));
        assert_eq!(spec_after(&ChangeItem { after: None, ..item.clone() }), None, "it is deleted");
        assert_eq!(spec_before(&ChangeItem { before: None, ..item.clone() }), None, "it is new");
    }
}
