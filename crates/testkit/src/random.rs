//! Seeded random numbers for faults and simulations, the same for the same seed.

use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;

#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    pub fn draw(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `end`, or 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end.max(1))
    }

    /// True with a probability in thousandths.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.0.u32(..1000) < per_mille
    }

    /// A duration of whole microseconds in a range.
    pub fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let micros = |duration: &Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let least = micros(range.start());
        Duration::from_micros(self.0.u64(least..=micros(range.end()).max(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_and_ranges_hold() {
        let range = Duration::from_millis(1)..=Duration::from_millis(3);
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.duration(&range)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).iter().all(|one| range.contains(one)));
        let mut random = Random::new(1);
        let hits = (0..10_000).filter(|_| random.chance(100)).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
