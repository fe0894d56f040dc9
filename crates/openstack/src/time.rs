//! Times of OpenStack.

use chrono::{DateTime, FixedOffset, ParseError};
use jiff::Timestamp;

/// A time in an answer. One that is too far away to be computed with is the first or the last that is not.
pub(crate) fn parse(text: &str) -> Result<Timestamp, ParseError> {
    DateTime::parse_from_rfc3339(text).map(saturated)
}

fn saturated(time: DateTime<FixedOffset>) -> Timestamp {
    // A leap second has more than a second of nanoseconds.
    let since_1970 = i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos());
    let farthest = if since_1970 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_nanosecond(since_1970).unwrap_or(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_keystone_are_read_and_far_ones_saturate() {
        for (text, expected) in [
            ("2099-01-01T12:00:00.000000Z", "2099-01-01T12:00:00Z"),
            ("2026-03-01T10:00:00.25+01:00", "2026-03-01T09:00:00.25Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ] {
            assert_eq!(parse(text).unwrap(), expected.parse::<Timestamp>().unwrap(), "{text}");
        }
        assert_eq!(parse("9999-12-31T23:59:59-23:00").unwrap(), Timestamp::MAX);
        assert_eq!(parse("0000-01-01T00:00:00Z").unwrap(), "0000-01-01T00:00:00Z".parse().unwrap());
        for wrong in ["", "2099-01-01", "2099-01-01T12:00:00", "never"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
