//! Formats times and durations for humans.

use std::time::Duration;

use berth_core::summary::two_units;
use jiff::Timestamp;

/// A span, for example `4m 0s`; nothing is shorter than a second.
pub(super) fn span(time: Duration) -> String {
    two_units(i64::try_from(time.as_secs()).unwrap_or(i64::MAX).max(1))
}

/// A moment in the past or to come, and how far away that is.
pub(super) fn moment(then: Timestamp, now: Timestamp) -> String {
    let seconds = then.duration_since(now).as_secs();
    match seconds {
        0 => format!("{then} (now)"),
        1.. => format!("{then} (in {})", two_units(seconds)),
        _ => format!("{then} ({} ago)", two_units(seconds.saturating_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_say_how_far_away_they_are() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-03-01T12:00:00Z");
        for (then, text) in [
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z (now)"),
            ("2026-03-03T13:30:00Z", "2026-03-03T13:30:00Z (in 2d 1h)"),
            ("2026-03-01T11:58:30Z", "2026-03-01T11:58:30Z (1m 30s ago)"),
        ] {
            assert_eq!(moment(at(then), now), text);
        }
        assert_eq!(span(Duration::from_secs(240)), "4m 0s");
        assert_eq!(span(Duration::from_millis(3)), "1s");
    }
}
