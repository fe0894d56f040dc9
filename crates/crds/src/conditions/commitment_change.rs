//! The condition Finished of a CommitmentChange.

use crate::{Condition, conditions};

/// The condition type: nothing is left to do for the change. A change without it is open.
pub const FINISHED: &str = "Finished";

/// Reason of `True`: the change is in force.
pub const ACCEPTED: &str = "Accepted";

/// Reason of `True`: everything is as it was before the change.
pub const ROLLED_BACK: &str = "RolledBack";

/// Reason of `False`: the items are written, or their outcomes are awaited.
pub const APPLYING: &str = "Applying";

/// Reason of `False`: the change is accepted, and commitments are still to be deleted.
pub const DELETING: &str = "Deleting";

/// Reason of `False`: what was written is undone.
pub const ROLLING_BACK: &str = "RollingBack";

/// Reason of `False`: undoing has failed many times. It is still tried.
pub const FAILED: &str = "RollBackFailed";

/// Message of [`ACCEPTED`].
pub const IN_FORCE: &str = "all commitments are as requested";

/// Message of [`ROLLED_BACK`].
pub const AS_BEFORE: &str = "all commitments are as before the request";

/// Message of [`ROLLED_BACK`] if a user has given up the cluster.
pub const GIVEN_UP: &str = "the cluster of the commitments was given up; what was written there is not undone";

/// Message of [`DELETING`].
pub const DELETIONS_ARE_LEFT: &str = "the change is accepted; commitments are still to be deleted";

/// Outcome of a change whose caller did not wait for the outcome.
pub const ABANDONED: &str = "the caller has gone away";

/// Outcome of a change that its process did not decide.
pub const INTERRUPTED: &str = "the process that executed the change has ended";

/// Outcome of a change one of whose commitments another writer has changed.
pub const CHANGED_BY_OTHERS: &str = "Conflict: a commitment was changed by another writer";

/// Outcome of a change whose object was deleted.
pub const DELETED: &str = "the change was deleted";

/// True if nothing is left to do.
pub fn is_finished(conditions: &[Condition]) -> bool {
    conditions::find(conditions, FINISHED)
        .is_some_and(|condition| condition.status == conditions::Status::True.as_str())
}
