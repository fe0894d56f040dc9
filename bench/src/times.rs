//! Statistics of durations, as lines to print.

use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn append(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn sum(&self) -> Duration {
        self.0.iter().sum()
    }

    pub fn mean(&self) -> Duration {
        self.sum() / u32::try_from(self.0.len().max(1)).unwrap_or(u32::MAX)
    }

    /// The median, which other load on the machine hardly changes.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The duration that `percent` percent do not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(place).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |took: Duration| took.as_secs_f64() * 1e6;
        let (half, most) = (self.median(), self.percentile(99));
        write!(f, "mean {:>9.1} us  p50 {:>9.1} us  p99 {:>9.1} us", micros(self.mean()), micros(half), micros(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_among_the_durations() {
        let mut times = Times::default();
        assert_eq!(times.percentile(99), Duration::ZERO);
        for micros in (1..=200).rev() {
            times.add(Duration::from_micros(micros));
        }
        assert_eq!(times.percentile(50), Duration::from_micros(100));
        assert_eq!(times.percentile(99), Duration::from_micros(198));
    }
}
