//! Amounts, parsed and added independently of the operator, whose calculations are checked against them.

use std::iter::Sum;
use std::{fmt, ops};

use serde::{Serialize, Serializer};

const SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Memory in bytes and CPU in cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub memory: i64,
    pub cpu: i64,
}

/// An integer with or without a binary suffix.
pub fn parse(text: &str) -> Option<i64> {
    let suffix = SUFFIXES.iter().find_map(|(suffix, shift)| Some((text.strip_suffix(suffix)?, *shift)));
    let (digits, shift) = suffix.unwrap_or((text, 0));
    digits.parse::<i64>().ok()?.checked_mul(1_i64.checked_shl(shift)?)
}

pub fn binary(bytes: i64) -> String {
    let fits = |(_, shift): &&(&str, u32)| bytes != 0 && bytes % (1 << shift) == 0;
    match SUFFIXES.iter().rev().find(fits) {
        Some((suffix, shift)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

impl Amounts {
    pub fn are_not_negative(self) -> bool {
        self.memory >= 0 && self.cpu >= 0
    }
}

impl ops::Sub for Amounts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { memory: self.memory - other.memory, cpu: self.cpu - other.cpu }
    }
}

impl Sum for Amounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self { memory: sum.memory + one.memory, cpu: sum.cpu + one.cpu })
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory {}, cpu {}", binary(self.memory), self.cpu)
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written() {
        for (text, bytes) in [("0", 0), ("3", 3), ("480Gi", 515_396_075_520), ("12Ti", 13_194_139_533_312)] {
            assert_eq!((parse(text), binary(bytes).as_str()), (Some(bytes), text));
        }
        assert_eq!(parse("1024Mi"), Some(1 << 30));
        assert_eq!(binary(-(3 << 30)), "-3Gi");
        for text in ["", "Gi", "1.5Gi", "8Ei", "x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
