//! Amounts as Kubernetes writes them, as exact numbers of nano units.

use serde_json::Value;

const NANO: i128 = 1_000_000_000;

/// The largest amount of Kubernetes.
const MOST: i128 = i64::MAX as i128 * NANO;

/// The places after the point that count.
const MOST_PLACES: usize = 18;

/// The letters of the powers of 1024 and of 1000 from the second one; for the first power they differ.
const LARGE: [&str; 5] = ["M", "G", "T", "P", "E"];

/// An amount in a map of resources; `None` if it is absent, not an amount, or negative.
pub fn in_map(map: &Value, resource: &str) -> Option<i128> {
    match map.get(resource)? {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

/// `1.5Gi`, `200m`, `3e2`; `None` for what is not an amount, and for negative ones. Larger amounts than Kubernetes knows
/// count as the largest one, and a part of a nano unit as a whole one.
pub fn parse(text: &str) -> Option<i128> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = part.bytes().all(|sign| sign.is_ascii_digit()) && !(whole.is_empty() && part.is_empty());
    let (numerator, denominator) = factor(unit).filter(|_| is_number)?;
    let part = part.get(..MOST_PLACES).unwrap_or(part);
    let exact = || {
        let places = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
        let digits: i128 = format!("0{whole}{part}").parse().ok()?;
        let (above, below) = (digits.checked_mul(NANO)?.checked_mul(numerator)?, places.checked_mul(denominator)?);
        Some(above / below + i128::from(above % below != 0))
    };
    Some(exact().unwrap_or(MOST).min(MOST))
}

/// What a unit multiplies with, as a fraction.
fn factor(unit: &str) -> Option<(i128, i128)> {
    let power_of = |base: i128, letter: &str| {
        let at = LARGE.iter().position(|large| *large == letter)?;
        Some((base.pow(u32::try_from(at).ok()? + 2), 1))
    };
    match unit {
        "" => Some((1, 1)),
        "m" => Some((1, 1_000)),
        "u" => Some((1, 1_000_000)),
        "n" => Some((1, NANO)),
        "k" => Some((1_000, 1)),
        "Ki" => Some((1_024, 1)),
        _ => match (unit.strip_suffix('i'), unit.strip_prefix(['e', 'E']).filter(|power| !power.is_empty())) {
            (Some(letter), _) => power_of(1024, letter),
            (None, Some(power)) => exponent(power.parse().ok()?),
            (None, None) => power_of(1000, unit),
        },
    }
}

fn exponent(power: i32) -> Option<(i128, i128)> {
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    Some(if power < 0 { (1, factor) } else { (factor, 1) })
}

/// `480 GiB of memory`, `2.5 of cpu`.
pub fn format(resource: &str, amount: i128) -> String {
    let (unit, name) = if resource == "memory" { (NANO << 30, " GiB") } else { (NANO, "") };
    let thousandths = (amount % unit) * 1000 / unit;
    let fraction = if amount % unit == 0 { String::new() } else { format!(".{thousandths:03}") };
    format!("{}{fraction}{name} of {resource}", amount / unit)
}
