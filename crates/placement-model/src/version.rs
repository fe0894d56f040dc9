//! The microversion of a request. It decides what 1.0 to 1.39 look like and in which order they are; which version a header
//! asks for is up to the protocol.

use std::fmt;

/// A microversion; the major number is always 1, and without a header it is 1.0. Document 51 section 3.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u8);

impl Version {
    /// 1.0.
    pub const OLDEST: Self = Self(0);
    /// 1.39.
    pub const NEWEST: Self = Self(39);

    /// 1.`minor`, if it is one that is served.
    pub const fn new(minor: u8) -> Option<Self> {
        if minor <= Self::NEWEST.0 { Some(Self(minor)) } else { None }
    }

    /// The number behind the dot.
    pub const fn minor(self) -> u8 {
        self.0
    }

    /// Whether what came with 1.`minor` is there.
    pub const fn has(self, minor: u8) -> bool {
        self.0 >= minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.0)
    }
}
