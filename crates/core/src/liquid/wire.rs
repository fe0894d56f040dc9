//! Readers of JSON members in the forms that Limes sends them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use jiff::tz::Offset;
use jiff::{Timestamp, civil};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::commitment::State;
use crate::ids::Zone;

/// Zones that a request can list: each of them becomes objects or lines of the answer.
pub(super) const MAX_ZONES: usize = 100;

/// `null` for anything counts as if the member was missing.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// An object; `null` counts as an empty one. A derived reader would accept a list of its members too.
pub(super) struct Object<T>(pub(super) T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}

pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Object::deserialize(from).map(|object| object.0)
}

/// An object of objects.
pub(super) fn objects<'de, D, K, V>(from: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de> + Default,
{
    let values: Option<BTreeMap<K, Object<V>>> = Option::deserialize(from)?;
    Ok(values.unwrap_or_default().into_iter().map(|(key, object)| (key, object.0)).collect())
}

/// A list of objects.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<Vec<T>, D::Error> {
    let values: Option<Vec<Object<T>>> = Option::deserialize(from)?;
    Ok(values.unwrap_or_default().into_iter().map(|object| object.0).collect())
}

/// A set of zones with a bounded number.
pub(super) fn zones<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<Zone>, D::Error> {
    let zones: BTreeSet<Zone> = or_default(from)?;
    if zones.len() > MAX_ZONES {
        return Err(D::Error::custom(format_args!("more than {MAX_ZONES} availability zones")));
    }
    Ok(zones)
}

/// A status; one that does not exist is an error.
pub(super) fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<State>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    let known = |text: String| {
        State::parse(&text).ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a status of a commitment")))
    };
    text.map(known).transpose()
}

/// A time; the zero time of Go means that there is none.
pub(super) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    /// 0001-01-01T00:00:00Z
    const ZERO: i64 = -62_135_596_800;
    Ok(any_time(from)?.filter(|time| time.as_second() != ZERO))
}

/// A time of which only the presence counts, so that the zero time is a time.
pub(super) fn any_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    let known = |text: String| {
        parse_time(&text).ok_or_else(|| D::Error::custom(format_args!("{text:?} is not an RFC 3339 time")))
    };
    text.map(known).transpose()
}

/// Reads RFC 3339. Limes has times up to the end of the year 9999, which is a little more than a `Timestamp` can hold: they
/// saturate.
fn parse_time(text: &str) -> Option<Timestamp> {
    let (local, offset) = match text.strip_suffix('Z') {
        Some(local) => (local, Offset::UTC),
        None => split_offset(text)?,
    };
    // The library would accept other forms, such as a second offset.
    if !has_form(local, "dddd-dd-ddTdd:dd:dd") {
        return None;
    }
    let local: civil::DateTime = local.parse().ok()?;
    let saturated = if local.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Some(offset.to_timestamp(local).unwrap_or(saturated))
}

fn split_offset(text: &str) -> Option<(&str, Offset)> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, time) = match offset.split_at_checked(1)? {
        ("+", time) => (1, time),
        ("-", time) => (-1, time),
        _ => return None,
    };
    let (hours, minutes) = time.split_once(':').filter(|_| has_form(time, "dd:dd"))?;
    let number = |digits: &str, limit: i32| digits.parse::<i32>().ok().filter(|number| *number < limit);
    let seconds = number(hours, 24)? * 3600 + number(minutes, 60)? * 60;
    Some((local, Offset::from_seconds(sign * seconds).ok()?))
}

/// Whether the text has this form, where `d` is a digit. A fraction of a second may follow.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { byte == form };
    let fraction = text.as_bytes().get(form.len()..).unwrap_or_default();
    text.len() >= form.len()
        && text.bytes().zip(form.bytes()).all(fits)
        && fraction.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_with_their_offset() {
        let noon: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for text in ["2026-03-01T12:00:00Z", "2026-03-01T13:30:00+01:30", "2026-03-01T00:00:00-12:00"] {
            assert_eq!(parse_time(text), Some(noon), "{text}");
        }
        assert_eq!(parse_time("2026-03-01T12:00:00.25Z").unwrap().subsec_millisecond(), 250);
    }

    #[test]
    fn times_beyond_the_range_saturate() {
        assert_eq!(parse_time("9999-12-31T23:59:59Z"), Some(Timestamp::MAX));
        assert_eq!(parse_time("9999-12-31T23:59:59-23:00"), Some(Timestamp::MAX));
        assert!(parse_time("0000-01-01T00:00:00+23:00").unwrap() < Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn other_forms_of_times_are_none() {
        for text in [
            "",
            "Z",
            "2026-03-01",
            "2026-03-01T12:00Z",
            "2026-03-01 12:00:00Z",
            "2026-03-01T12:00:00",
            "2026-03-01T12:00:00+0100",
            "2026-03-01T12:00:00+24:00",
            "2026-13-01T12:00:00Z",
            "2026-03-01T12:00:00Z[UTC]",
            "2026-03-01T12:00:00-05:00Z",
            "2026-03-01T12:00:00+1:000",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00:00.1.2Z",
            "2026-03-01T12:00:0\u{e9}:00Z",
            "\u{e9}\u{e9}\u{e9}:00",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in ".{0,30}", number in "[-+0-9T:.Z]{0,26}") {
            let _ = (parse_time(&text), parse_time(&number));
        }

        #[test]
        fn a_written_time_is_read_as_the_same_time(second in 0..253_402_000_000_i64, nanosecond in 0..1_000_000_000) {
            let time = Timestamp::new(second, nanosecond).unwrap();
            prop_assert_eq!(parse_time(&time.to_string()), Some(time));
        }
    }
}
