//! Conditions: how they are read and written, with their reasons and texts.
//!
//! Reasons and fixed texts are constants, because clients match on them. Nothing here reads a clock.

pub mod capacity;
pub mod commitment;
pub mod commitment_change;
pub mod history;
pub mod pipeline;
pub mod quota;
pub mod reservation;
pub mod safety;

use berth_core::text::escape;
use jiff::Timestamp;
use strum::{Display, IntoStaticStr};

use crate::{Condition, Time, text};

/// The condition type that every kind has.
pub const READY: &str = "Ready";

/// The longest message that the API server takes, in bytes.
pub const MAX_MESSAGE: usize = 32_768;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Unknown.
    Unknown,
}

impl Status {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A condition of type [`READY`] as of `now`, in whole seconds. A message that is too long is cut.
/// `generation` is `metadata.generation` of the object that was checked.
pub fn ready_condition(
    status: Status,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    condition(READY, status, reason, message, generation, now)
}

/// A condition of any type; see [`ready_condition`].
pub fn condition(
    type_: &str,
    status: Status,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: stored_message(message),
        observed_generation: generation,
        last_transition_time: whole_seconds(now),
    }
}

/// The first condition of type [`READY`]: old objects may hold several, and the first one counts.
pub fn ready(conditions: &[Condition]) -> Option<&Condition> {
    find(conditions, READY)
}

/// The first condition of a type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// True if the first condition of type [`READY`] has the status `True`.
pub fn is_ready(conditions: &[Condition]) -> bool {
    ready(conditions).is_some_and(|condition| condition.status == Status::True.as_str())
}

/// Puts a condition into a list, where it replaces all others of its type. `lastTransitionTime` moves only with the
/// status. Returns whether there is something to write: a difference in time alone is none.
pub fn set_condition(conditions: &mut Vec<Condition>, new: Condition) -> bool {
    replace(conditions, new, |old, new| old.status == new.status)
}

/// Like [`set_condition`], but `lastTransitionTime` also changes with the reason: it is the time since when the object
/// has this reason.
pub fn set_condition_by_reason(conditions: &mut Vec<Condition>, new: Condition) -> bool {
    replace(conditions, new, |old, new| old.status == new.status && old.reason == new.reason)
}

/// Like [`set_condition`], but `lastTransitionTime` always changes.
pub fn restart_condition(conditions: &mut Vec<Condition>, new: Condition) -> bool {
    replace(conditions, new, |_, _| false)
}

/// A message as it is stored: escaped, and the longest beginning that the API server takes, cut between characters.
pub fn stored_message(message: &str) -> String {
    text::cut(&escape(message), MAX_MESSAGE).to_owned()
}

/// A time as it is stored: without the fraction of a second, so that it equals itself after a round trip.
pub fn whole_seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

fn replace(
    conditions: &mut Vec<Condition>,
    mut new: Condition,
    same_period: impl Fn(&Condition, &Condition) -> bool,
) -> bool {
    let Some(at) = conditions.iter().position(|condition| condition.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    if same_period(&conditions[at], &new) {
        new.last_transition_time = conditions[at].last_transition_time.clone();
    }
    let single = conditions.iter().filter(|condition| condition.type_ == new.type_).count() == 1;
    let changed = conditions[at] != new || !single;
    let mut index = 0;
    let type_ = new.type_.clone();
    conditions[at] = new;
    conditions.retain(|condition| {
        index += 1;
        condition.type_ != type_ || index == at + 1
    });
    changed
}

#[cfg(test)]
mod tests;
