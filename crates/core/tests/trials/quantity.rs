//! The property of `quantity`, for the fuzzer and for a test of `berth-core`: a text is parsed as a quantity, and its
//! bytes are used as numbers. A parsed quantity has the value of the text, is rounded to the right side, and survives a
//! round trip.

use berth_core::units::{declared_gib, scale_cores};
use berth_core::{Bytes, Cores, Quantity, quantity};

const NANO: i128 = 1_000_000_000;
const MAX: i128 = i64::MAX as i128 * NANO;
const MIB: i128 = 1 << 20;

/// Longer texts are not repeated in errors.
const ERROR: usize = 250;

pub fn quantity(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        reading(text);
    }
    let mut numbers = bytes.chunks(8).map(number);
    let mut next = || numbers.next().unwrap_or_default();
    let (one, two, three) = (next(), next(), next());
    writing(one);
    mebibytes(one);
    cores(one, two, three);
}

fn reading(text: &str) {
    match Quantity::parse(text) {
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < ERROR && !text.contains('\n'), "{text:?}");
        }
        Ok(quantity) => {
            assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity), "{text:?} is written as {quantity}");
            let (up, down) = (i128::from(quantity.round_up()), i128::from(quantity.round_down()));
            assert!(down <= up && up - down <= 1, "{text:?} is between {down} and {up}");
            if let Some(nano) = worth(text) {
                let away = nano / NANO + (nano % NANO).signum();
                assert_eq!((up, down), (away, nano.div_euclid(NANO)), "{text:?} is {nano} nano");
            }
            assert_eq!(Quantity::parse(&padded(text)), Ok(quantity), "{text:?} with insignificant zeros");
        }
    }
}

/// The value of a text in nano, computed independently: rounded away from zero as in Kubernetes, and limited to 64
/// bits. `None` for texts with too many digits.
fn worth(text: &str) -> Option<i128> {
    let (negative, [whole, fraction], suffix) = parts(text);
    let (mut worth, mut parts) = (format!("{whole}{fraction}").parse::<i128>().ok()?, 1_i128);
    parts = parts.checked_mul(10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
    let (base, power): (i128, i32) = match suffix.as_bytes() {
        [unit, b'i'] => (1024, " KMGTPE".find(char::from(*unit)).and_then(|power| power.try_into().ok())?),
        [b'e' | b'E', exponent @ ..] if !exponent.is_empty() => (10, std::str::from_utf8(exponent).ok()?.parse().ok()?),
        [] => (10, 0),
        [unit] => (10, 3 * i32::try_from("num kMGTPE".find(char::from(*unit))?).ok()? - 9),
        _ => return None,
    };
    let scale = base.checked_pow(power.unsigned_abs())?;
    let larger = if power < 0 { &mut parts } else { &mut worth };
    *larger = larger.checked_mul(scale)?;
    let nano = worth.checked_mul(NANO)?;
    let rounded = (nano / parts + i128::from(nano % parts != 0)).min(MAX);
    Some(if negative { -rounded } else { rounded })
}

/// The same number with leading and trailing zeros.
fn padded(text: &str) -> String {
    let (negative, [whole, fraction], suffix) = parts(text);
    let (sign, zeros) = (if negative { "-" } else { "" }, "0".repeat(45));
    format!("{sign}{zeros}{whole}.{fraction}{zeros}{suffix}")
}

/// Whether there is a minus, the digits before and after the point, and the rest.
fn parts(text: &str) -> (bool, [&str; 2], &str) {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    (text.starts_with('-'), [whole, fraction], suffix)
}

fn number(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// The smallest number of 64 bits is no valid quantity in Kubernetes.
fn writing(number: i64) {
    let number = number.max(-i64::MAX);
    for text in [quantity::binary(number), quantity::decimal(number)] {
        assert_eq!(Quantity::parse(&text), Ok(Quantity::from_units(number)), "{text}");
    }
}

fn mebibytes(bytes: i64) {
    let (memory, exact) = (Bytes::new(bytes), i128::from(bytes));
    let (up, down) = (i128::from(memory.mib_up()) * MIB, i128::from(memory.mib_down()) * MIB);
    assert!(down <= exact && exact <= up && up - down <= MIB, "{bytes} is between {down} and {up}");
    assert_eq!(i128::from(memory.up_to_mib().get()), up.min(i64::MAX.into()));
    let declared = declared_gib(bytes.unsigned_abs());
    assert!(declared <= bytes.unsigned_abs() / 1024 + 1);
}

/// The cores of a part are never fewer than their share, and less than one more.
fn cores(cpu: i64, part: i64, whole: i64) {
    let scaled = i128::from(scale_cores(Cores::new(cpu), Bytes::new(part), Bytes::new(whole)).get());
    if whole <= 0 {
        return assert_eq!(scaled, i128::from(cpu));
    }
    let (share, whole) = (i128::from(cpu) * i128::from(part), i128::from(whole));
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let (enough, too_few) = (scaled * whole >= share, (scaled - 1) * whole < share);
    let saturated = (scaled == most && share > most * whole) || (scaled == least && share < least * whole);
    assert!(saturated || (enough && too_few), "{cpu} cores * {part} / {whole} are {scaled}");
}
