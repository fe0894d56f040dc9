//! Kubernetes quantities as numbers.
//!
//! A quantity is read into an exact count of nano units, so that `1024Mi`, `1Gi` and `1073741824` compare equal, and
//! written back in the one canonical form. Values beyond the 64-bit range saturate, as they do in Kubernetes.

use std::fmt;

use thiserror::Error;

use crate::quoted::quoted;

const NANO: i128 = 1_000_000_000;
const MAX: i128 = i64::MAX as i128 * NANO;

/// An exact quantity. Ordering and equality are numeric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nano: i128,
}

/// The text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{} is not a quantity; write a number with an optional suffix, for example \"4\", \"1920Gi\" or \"500m\"",
    quoted(text)
)]
pub struct QuantityError {
    text: String,
}

enum Suffix {
    /// A power of 1024.
    Binary(u32),
    /// A power of ten, from a decimal suffix or an exponent.
    Decimal(i32),
}

impl Quantity {
    pub const ZERO: Self = Self { nano: 0 };

    /// A whole number of base units (bytes, cores).
    pub fn from_units(units: i64) -> Self {
        Self { nano: i128::from(units) * NANO }
    }

    /// Reads the text form; accepts everything that the pattern of the reference accepts, except an
    /// exponent with a fraction, which no writer produces.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse(text).ok_or_else(|| QuantityError { text: text.to_owned() })
    }

    /// The whole number of base units, rounded away from zero: what a *consumption* counts as.
    pub fn round_up(self) -> i64 {
        let whole = self.nano / NANO;
        clamp(if self.nano % NANO == 0 { whole } else { whole + self.nano.signum() })
    }

    /// The whole number of base units, rounded towards minus infinity: what a *capacity* counts as.
    pub fn round_down(self) -> i64 {
        clamp(self.nano.div_euclid(NANO))
    }

    /// True below zero, which no field of ours allows and old objects may hold.
    pub fn is_negative(self) -> bool {
        self.nano < 0
    }
}

/// A count of base units in binary form (`1610612736` is `1536Mi`), the canonical form of memory.
pub fn binary(units: i64) -> String {
    if units.unsigned_abs() < 1024 {
        return decimal(units);
    }
    scaled(units, 1024, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
}

/// A count of base units in decimal form (`12000` is `12k`), the canonical form of everything but memory.
pub fn decimal(units: i64) -> String {
    scaled(units, 1000, &["", "k", "M", "G", "T", "P", "E"])
}

fn scaled(units: i64, base: i64, suffixes: &[&str; 7]) -> String {
    let (mut rest, mut power) = (units, 0);
    while rest != 0 && rest % base == 0 && power + 1 < suffixes.len() {
        rest /= base;
        power += 1;
    }
    format!("{rest}{}", suffixes[power])
}

/// The nearest number of 64 bits.
pub(crate) fn clamp(units: i128) -> i64 {
    i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let nano = match suffix_of(suffix)? {
        Suffix::Binary(power) => binary_nano(whole, fraction, 1 << (10 * power)),
        Suffix::Decimal(exponent) => decimal_nano(whole, fraction, exponent),
    };
    let nano = nano.min(MAX);
    Some(Quantity { nano: if negative { -nano } else { nano } })
}

fn suffix_of(text: &str) -> Option<Suffix> {
    Some(match text {
        "" => Suffix::Decimal(0),
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(1),
        "Mi" => Suffix::Binary(2),
        "Gi" => Suffix::Binary(3),
        "Ti" => Suffix::Binary(4),
        "Pi" => Suffix::Binary(5),
        "Ei" => Suffix::Binary(6),
        _ => Suffix::Decimal(exponent(text.strip_prefix(['e', 'E'])?)?),
    })
}

/// An exponent beyond ±100 cannot change the saturated result any more.
fn exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i32::MAX).min(100);
    Some(if text.starts_with('-') { -size } else { size })
}

fn digits(text: &str) -> i128 {
    text.bytes().fold(0_i128, |sum, digit| sum.saturating_mul(10).saturating_add(i128::from(digit - b'0')))
}

/// Exact for any number of digits: the fraction is divided digit by digit from its end, and a lost remainder counts as
/// one.
fn binary_nano(whole: &str, fraction: &str, unit: i128) -> i128 {
    let unit = unit * NANO;
    let (below_one, inexact) = fraction.bytes().rev().fold((0, false), |(sum, inexact), digit| {
        let sum = sum + i128::from(digit - b'0') * unit;
        (sum / 10, inexact || sum % 10 != 0)
    });
    digits(whole).saturating_mul(unit).saturating_add(below_one + i128::from(inexact))
}

/// Moves the point, however many digits there are, and rounds up the digits behind it.
fn decimal_nano(whole: &str, fraction: &str, exponent: i32) -> i128 {
    let all = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(i64::from(exponent) + 9);
    let (before, behind) = all.split_at(usize::try_from(point).unwrap_or(0).min(all.len()));
    let zeros = u32::try_from(usize::try_from(point).unwrap_or(0) - before.len()).unwrap_or(u32::MAX);
    let rest = i128::from(behind.bytes().any(|digit| digit != b'0'));
    match digits(before) {
        0 => rest,
        nano => 10_i128.checked_pow(zeros).map_or(MAX, |factor| nano.saturating_mul(factor)).saturating_add(rest),
    }
}

impl fmt::Display for Quantity {
    /// Decimal form for whole numbers, otherwise the shortest of the forms with `m`, `u` or `n`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, suffix) in [(NANO, ""), (1_000_000, "m"), (1_000, "u")] {
            if self.nano % unit == 0 {
                // In small units a large number has more digits than 64 bits.
                let count = self.nano / unit;
                return if suffix.is_empty() {
                    f.write_str(&decimal(clamp(count)))
                } else {
                    write!(f, "{count}{suffix}")
                };
            }
        }
        write!(f, "{}n", self.nano)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str) -> i64 {
        Quantity::parse(text).unwrap().round_up()
    }

    #[test]
    fn quantities_are_printed_in_canonical_form() {
        for (value, text) in [
            (0, "0"),
            (1000, "1k"),
            (1024, "1Ki"),
            (1_610_612_736, "1536Mi"),
            (2_061_584_302_080, "1920Gi"),
            (3_298_534_883_328, "3Ti"),
        ] {
            assert_eq!(binary(value), text);
        }
        for (value, text) in [(0, "0"), (96, "96"), (1000, "1k"), (1500, "1500"), (12_000, "12k"), (2_000_000, "2M")] {
            assert_eq!(decimal(value), text);
        }
    }

    #[test]
    fn comparison_is_numeric() {
        let forms = ["1024Mi", "1Gi", "1073741824", "1073741824000m", "1.073741824G", "1.073741824e9", "1048576Ki"];
        for form in forms {
            assert_eq!(Quantity::parse(form), Quantity::parse("1Gi"), "{form}");
        }
    }

    #[test]
    fn integer_values_round_by_direction() {
        for (text, up, down) in
            [("0.2", 1, 0), ("-0.2", -1, -1), ("4500m", 5, 4), ("1e3", 1000, 1000), ("1n", 1, 0), (".5Ki", 512, 512)]
        {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!((quantity.round_up(), quantity.round_down()), (up, down), "{text}");
        }
    }

    #[test]
    fn values_beyond_the_range_saturate() {
        assert_eq!(units("9e99"), i64::MAX);
        assert_eq!(units("-99999999999999999999999999999999999999999999Ei"), -i64::MAX);
        assert_eq!(units("0e99"), 0);
        assert_eq!(units("1e-99"), 1);
        assert_eq!(units("0.0000000000000000000000000000001Ki"), 1);
    }

    #[test]
    fn zeros_and_many_digits_do_not_change_the_value() {
        let zeros = "0".repeat(45);
        for (text, padded) in [
            ("1", format!("1.{zeros}")),
            ("500m", format!("500.{zeros}m")),
            ("1e3", format!("{zeros}1.{zeros}e3")),
            ("0.5Gi", format!("{zeros}.5{zeros}Gi")),
        ] {
            assert_eq!(Quantity::parse(&padded), Quantity::parse(text), "{padded}");
        }
        assert_eq!(Quantity::parse("0.0000000000000000009Ei").unwrap().round_down(), 1);
        assert_eq!(units("1.0000000000000000000000000000000000000000000001"), 2, "consumption is rounded up");
    }

    #[test]
    fn what_is_no_quantity_is_an_error() {
        for text in ["", "-", ".", "1920 GiB", "1GiB", "1.2.3", "e3", "1e", "1e1.5", "Gi", "0x10", "1,5"] {
            assert!(Quantity::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn display_is_canonical() {
        let large = ("46219145649627984.92808", "46219145649627984928080u");
        for (text, shown) in [("1500m", "1500m"), ("1000", "1k"), ("1n", "1n"), ("2u", "2u"), ("1Ki", "1024"), large] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn canonical_forms_read_back_as_the_same_number(value in any::<i64>()) {
            let value = value.max(-i64::MAX);
            prop_assert_eq!(Quantity::parse(&binary(value)), Ok(Quantity::from_units(value)));
            prop_assert_eq!(Quantity::parse(&decimal(value)), Ok(Quantity::from_units(value)));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[-+]?[0-9.]{0,50}[a-zA-Z]{0,3}[-+]?[0-9]{0,12}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                prop_assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity));
            }
        }
    }
}
