//! Parses single values of the configuration. Each function returns the value, or the rest of an error that begins with
//! the key.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use berth_core::text::escape_line;
use serde_json::Value;
use url::Url;

use super::duration;

/// Longer values are not repeated in messages.
const SHOWN_CHARACTERS: usize = 60;

/// Longer keys are not repeated in paths.
const KEY_CHARACTERS: usize = 120;

/// A value as it appears in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => escape_line(&other.to_string(), SHOWN_CHARACTERS),
    }
}

/// A key as it appears in a path: people choose some of them, and a path is a part of a line. One that is empty has to be
/// seen.
pub(super) fn key_shown(key: &str) -> String {
    if key.is_empty() {
        return r#""""#.to_owned();
    }
    escape_line(key, KEY_CHARACTERS)
}

/// `a`, `b` or `c`.
pub(super) fn words(all: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = all.collect();
    match all.pop() {
        Some(last) if all.is_empty() => last,
        Some(last) => format!("{} or {last}", all.join(", ")),
        None => String::new(),
    }
}

pub(super) fn flag(found: &Value) -> Result<bool, String> {
    found.as_bool().ok_or_else(|| "is not true or false; write it without quotes".to_owned())
}

pub(super) fn text(found: &Value) -> Result<String, String> {
    found.as_str().map(str::to_owned).ok_or_else(|| "is not text; write it in quotes".to_owned())
}

pub(super) fn integer(found: &Value, range: &RangeInclusive<i64>) -> Result<i64, String> {
    let number = whole(found).ok_or("is not a whole number; write it without quotes and without a fraction")?;
    if range.contains(&number) {
        return Ok(number);
    }
    Err(match (*range.start(), *range.end()) {
        (low, i64::MAX) => format!("is too small; write {low} or more"),
        (low, high) => format!("is out of range; write a number from {low} to {high}"),
    })
}

/// A number without a fraction, also when it is written with one, as in `1.0` and `1e3`.
fn whole(found: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "the number is whole and within 2^53")]
    let from_float = |number: f64| (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64);
    found.as_i64().or_else(|| found.as_f64().filter(|_| !found.is_u64()).and_then(from_float))
}

/// What a duration of 0 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// Switches the thing off.
    Off,
    /// The same as an absent key.
    Default,
    /// Nothing sensible: an error.
    Invalid,
}

pub(super) fn duration(found: &Value, zero: Zero, default: Duration) -> Result<Duration, String> {
    const HINT: &str = r#"is not a duration; write a number with a unit, for example "30s""#;
    let signed = found.as_str().and_then(duration::parse).ok_or(HINT)?;
    match Duration::try_from(signed) {
        Err(_) => Err(r#"is negative; write a duration such as "30s""#.to_owned()),
        Ok(length) if !length.is_zero() || zero == Zero::Off => Ok(length),
        Ok(_) if zero == Zero::Default => Ok(default),
        Ok(_) => Err(format!(
            "is not possible here; write a longer duration, or leave the key out for {}",
            duration::format(default)
        )),
    }
}

pub(super) fn choice<T: Copy>(found: &Value, choices: &[(&str, T)]) -> Result<T, String> {
    let chosen = choices.iter().find(|(word, _)| found.as_str() == Some(word)).map(|(_, chosen)| *chosen);
    chosen.ok_or_else(|| {
        format!("is not possible here; write {}", words(choices.iter().map(|(word, _)| format!("{word:?}"))))
    })
}

pub(super) fn list(found: &Value) -> Result<Vec<String>, String> {
    let items = found.as_array().ok_or(r#"is not a list; write ["...", "..."]"#)?;
    let item = |item: &Value| {
        let wrong = || format!("holds {}, which is not text; write it in quotes", shown(item));
        item.as_str().map(str::to_owned).ok_or_else(wrong)
    };
    items.iter().map(item).collect()
}

pub(super) fn texts(found: &Value) -> Result<BTreeMap<String, String>, String> {
    entries(found, "which is not text; write it in quotes", |value| value.as_str().map(str::to_owned))
}

pub(super) fn numbers(found: &Value) -> Result<BTreeMap<String, i64>, String> {
    entries(found, "which is not a whole number; write it without quotes", whole)
}

fn entries<T>(found: &Value, wrong: &str, read: impl Fn(&Value) -> Option<T>) -> Result<BTreeMap<String, T>, String> {
    let entries = found.as_object().ok_or(r#"is not a map; write {"name": value}"#)?;
    let entry = |(name, value): (&String, &Value)| match read(value) {
        Some(read) => Ok((name.clone(), read)),
        None => Err(format!("holds {} under {:?}, {wrong}", shown(value), key_shown(name))),
    };
    entries.iter().map(entry).collect()
}

/// An address without path rules: scheme, host and perhaps a port. The empty text is left to the key.
pub(super) fn url(found: &Value) -> Result<String, String> {
    let address = text(found)?;
    if address.is_empty() || is_url(&address) { Ok(address) } else { Err(URL_HINT.to_owned()) }
}

pub(super) fn database(found: &Value) -> Result<String, String> {
    let database = text(found)?;
    let is_known = |scheme| ["postgres", "postgresql"].contains(&scheme);
    match database.split_once("://") {
        Some((scheme, _)) if !is_known(scheme) => {
            Err(format!("has the scheme {scheme:?}; name a file, or write \"postgresql://user@host/database\""))
        }
        _ => Ok(database),
    }
}

const URL_HINT: &str = r#"is not a URL; write for example "https://host.example.org:8080/path""#;

fn is_url(text: &str) -> bool {
    let has_host = text.starts_with("http://") || text.starts_with("https://");
    let port_fits = |url: Url| url.port() != Some(0);
    has_host && !text.contains(char::is_whitespace) && Url::parse(text).is_ok_and(port_fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let any = i64::MIN..=i64::MAX;
        assert_eq!(integer(&json!(5), &any), Ok(5));
        assert_eq!(integer(&serde_json::from_str("1e3").unwrap(), &any), Ok(1000));
        for wrong in [json!(1.5), json!("5"), json!(true), json!(u64::MAX), json!(1e300)] {
            assert!(integer(&wrong, &any).is_err(), "{wrong}");
        }
        assert_eq!(integer(&json!(-1), &(0..=i64::MAX)), Err("is too small; write 0 or more".to_owned()));
        assert_eq!(
            integer(&json!(70_000), &(0..=65_535)),
            Err("is out of range; write a number from 0 to 65535".to_owned())
        );
    }

    #[test]
    fn addresses() {
        for good in [
            "http://localhost:8080/scheduler/nova/external",
            "https://[::1]:6443",
            "https://a.example.org",
            "http://a_b/c?d",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "",
            "localhost:8080",
            "ftp://a",
            "http://",
            "http://a:0",
            "http://a:99999",
            "http://a b",
            "http://:80",
            "https://[x]",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn zero_durations_follow_the_key() {
        let five = Duration::from_secs(300);
        assert_eq!(duration(&json!("0"), Zero::Off, five), Ok(Duration::ZERO));
        assert_eq!(duration(&json!("0s"), Zero::Default, five), Ok(five));
        let wrong = duration(&json!("0"), Zero::Invalid, five).unwrap_err();
        assert_eq!(wrong, "is not possible here; write a longer duration, or leave the key out for 5m0s");
        assert_eq!(
            duration(&json!("-5m"), Zero::Off, five).unwrap_err(),
            r#"is negative; write a duration such as "30s""#
        );
        assert!(duration(&json!(5), Zero::Off, five).unwrap_err().starts_with("is not a duration"));
        assert!(duration(&json!(""), Zero::Default, five).unwrap_err().starts_with("is not a duration"));
    }

    #[test]
    fn messages_do_not_repeat_long_values() {
        assert_eq!(shown(&json!("x".repeat(100))).chars().count(), 63);
        assert_eq!(shown(&json!("5")), r#""5""#);
    }
}
