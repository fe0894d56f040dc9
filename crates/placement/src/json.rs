//! JSON of requests as it was sent: the order of members is kept, and numbers know whether they are integers.

mod python;
mod read;

pub use python::{quoted, text};
pub use read::{object, read};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    Whole(i128),
    /// An integer beyond 128 bits, as it was written.
    Digits(String),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    /// An object; each name once, where it came first, with the value that came last.
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub fn members(&self) -> &[(String, Self)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    pub fn elements(&self) -> &[Self] {
        if let Self::List(elements) = self { elements } else { &[] }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// An integer: `1.0` is one, and a value beyond 128 bits is the nearest one within.
    #[allow(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Whole(whole) => Some(*whole),
            Self::Digits(digits) => Some(if digits.starts_with('-') { i128::MIN } else { i128::MAX }),
            Self::Real(real) if real.is_finite() && real.fract() == 0.0 => Some(*real as i128),
            _ => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers that are compared as floats")]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(*whole as f64),
            Self::Digits(digits) => digits.parse().ok(),
            Self::Real(real) => Some(*real),
            _ => None,
        }
    }
}
