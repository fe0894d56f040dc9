//! Durations as text.

use std::time::Duration;

use jiff::SignedDuration;

/// Units, longest name first so that `ms` is not read as `m`.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// More digits of a fraction cannot matter: 10⁻¹⁸ of an hour is less than a nanosecond.
const FRACTION_DIGITS: usize = 18;

/// Reads a duration such as `1h30m`, `100ms`, `1.5h`, `-5m` or `0`. `None` is any other text, or one beyond 292 years.
pub fn parse(text: &str) -> Option<SignedDuration> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Some(SignedDuration::ZERO);
    }
    if unsigned.is_empty() {
        return None;
    }
    let nanos = sum(unsigned)?;
    let nanos = i64::try_from(if negative { -nanos } else { nanos }).ok()?;
    Some(SignedDuration::from_nanos(nanos))
}

/// The nanoseconds of one or more numbers with units.
fn sum(mut rest: &str) -> Option<i128> {
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let number = &rest[..rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len())];
        let after = &rest[number.len()..];
        let name = &after[..after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len())];
        let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
        nanos = nanos.checked_add(times(number, *unit)?)?;
        rest = &after[name.len()..];
    }
    (nanos <= i128::from(i64::MAX) + 1).then_some(nanos)
}

/// A decimal times a unit, rounded down to nanoseconds.
fn times(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    digits(whole)?.checked_mul(unit)?.checked_add(digits(fraction)? * unit / scale)
}

/// Prints a duration the way Go does: `1h0m0s`, `5m0s`, `1.5s`, `100ms`, `0s`.
pub fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000)),
        _ => clock_style(duration),
    }
}

fn clock_style(duration: Duration) -> String {
    let total = duration.as_secs();
    let (hours, minutes) = (total / 3600, total / 60 % 60);
    let seconds = decimal(duration.as_nanos() % 60_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(nanos: u128, unit: u128) -> String {
    let width = unit.ilog10() as usize;
    let text = format!("{}.{:0width$}", nanos / unit, nanos % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        parse(text).map(|duration| duration.as_secs_f64())
    }

    #[test]
    fn worked_examples_are_read() {
        assert_eq!(seconds("90s"), Some(90.0));
        assert_eq!(seconds("1h30m"), Some(5400.0));
        assert_eq!(seconds("1.5h"), Some(5400.0));
        assert_eq!(seconds("0"), Some(0.0));
        assert_eq!(seconds("5"), None);
        assert_eq!(seconds("1d"), None);
        assert_eq!(seconds("-5m"), Some(-300.0));
    }

    #[test]
    fn every_unit_and_form_of_number() {
        for (text, nanos) in [
            ("1ns", 1),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("1μs", 1_000),
            ("1ms", 1_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("+2m", 120_000_000_000),
            ("1m1m", 120_000_000_000),
            ("0.3333333333333333333h", 1_199_999_999_999),
        ] {
            assert_eq!(parse(text), Some(SignedDuration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration() {
        for text in [
            "",
            "+",
            "-",
            "s",
            ".s",
            "1",
            "1 s",
            "1.2.3s",
            "1S",
            "1h ",
            "1e3s",
            "--1s",
            "300000000h",
            "99999999999999999999s",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn printed_as_go_prints() {
        for (text, printed) in [
            ("1h", "1h0m0s"),
            ("5m", "5m0s"),
            ("90s", "1m30s"),
            ("1500ms", "1.5s"),
            ("100ms", "100ms"),
            ("1.5us", "1.5µs"),
            ("7ns", "7ns"),
            ("0", "0s"),
            ("25h0.5s", "25h0m0.5s"),
        ] {
            assert_eq!(format(parse(text).unwrap().unsigned_abs()), printed);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(nanos in 0..i64::MAX) {
            let duration = SignedDuration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration.unsigned_abs())), Some(duration));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = parse(&text);
        }
    }
}
