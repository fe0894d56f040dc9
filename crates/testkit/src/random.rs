//! Numbers that look random and are the same for the same seed: what faults and simulations draw from.

use std::{ops::RangeInclusive, time::Duration};

/// A small generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.draw() % end).unwrap_or(0)
    }

    /// True with a probability in thousandths.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.draw() % 1000 < u64::from(per_mille)
    }

    /// A duration of whole microseconds in a range.
    pub fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let micros = |duration: &Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let (least, most) = (micros(range.start()), micros(range.end()));
        let span = most.saturating_sub(least).saturating_add(1);
        Duration::from_micros(least + self.draw() % span)
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
