//! The confirmation of a person (D14): a time on the Knowledge object until which the brake is off. It decides what counts
//! as one; who is told of a value that does not is decided by the brake.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// How far ahead a confirmation may reach: one that was forgotten must not leave a region without a brake.
const FARTHEST: Duration = Duration::from_secs(24 * 3600);

/// What the annotation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// There is none that holds at the moment.
    None,
    /// The brake is off.
    Given,
    /// Its value counts as absent, for this reason.
    Refused(String),
}

/// Reads the value of the annotation at `now`.
pub(super) fn confirmation(value: Option<&str>, now: Timestamp) -> Confirmation {
    let Some(value) = value else { return Confirmation::None };
    let Ok(until) = value.trim().parse::<Timestamp>() else {
        return Confirmation::Refused(format!("{value:?} is not a time; give one like {}", example(now)));
    };
    let ahead = until.duration_since(now);
    if ahead > SignedDuration::try_from(FARTHEST).unwrap_or(SignedDuration::MAX) {
        return Confirmation::Refused(format!("{value} is more than 24 hours ahead; give one like {}", example(now)));
    }
    if ahead.is_positive() { Confirmation::Given } else { Confirmation::None }
}

/// An hour ahead, in whole seconds.
fn example(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second() + 3600).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: &str) -> Confirmation {
        confirmation(Some(value), "2026-03-01T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn d14_a_confirmation_is_a_time_at_most_a_day_ahead() {
        assert_eq!(confirmation(None, Timestamp::UNIX_EPOCH), Confirmation::None);
        assert_eq!(at("2026-03-01T12:00:01Z"), Confirmation::Given);
        assert_eq!(at(" 2026-03-02T14:00:00+02:00 "), Confirmation::Given, "exactly a day");
        assert_eq!(at("2026-03-01T12:00:00Z"), Confirmation::None, "it is over");
        assert_eq!(at("2020-01-01T00:00:00Z"), Confirmation::None);
    }

    #[test]
    fn d14_what_is_no_time_or_too_far_ahead_is_refused_with_a_way_out() {
        let refused = |text: &str| Confirmation::Refused(text.to_owned());
        let example = "give one like 2026-03-01T13:00:00Z";
        assert_eq!(at("yes"), refused(&format!("\"yes\" is not a time; {example}")));
        assert_eq!(at(""), refused(&format!("\"\" is not a time; {example}")));
        let far = "2026-03-02T12:00:01Z";
        assert_eq!(at(far), refused(&format!("{far} is more than 24 hours ahead; {example}")));
    }
}
