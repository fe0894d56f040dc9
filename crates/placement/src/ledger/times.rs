//! Times in databases: microseconds since 1970, UTC.

use jiff::Timestamp;

/// A time of the database. A value outside the calendar becomes the beginning of 1970.
pub(super) fn timestamp(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(microseconds).unwrap_or_default()
}

pub(super) fn microseconds(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// The same time as the database will give it back.
pub(super) fn rounded(time: Timestamp) -> Timestamp {
    timestamp(microseconds(time))
}
