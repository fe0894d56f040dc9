//! Seeded random numbers for clouds and queries.

use fastrand::Rng;

/// A generator with a seed.
#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    pub fn draw(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    /// True with a probability in thousandths.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.0.u32(..1000) < per_mille
    }
}
