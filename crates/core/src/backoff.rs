//! The delay before a commitment that waits is reconciled again.

use std::time::Duration;

/// The step doubles at most this often.
const MAX_DOUBLINGS: u32 = 6;

/// The delay before the next try: the base doubled until it exceeds the time already spent waiting, at most 64 times
/// the base and at most `cap`. No counter is stored, so a restart changes nothing.
///
/// `waiting_for` is the time since the condition entered its present reason; `None` for a first failure.
pub fn retry_delay(base: Duration, cap: Duration, waiting_for: Option<Duration>) -> Duration {
    let elapsed = waiting_for.unwrap_or_default();
    let doublings = (0..MAX_DOUBLINGS).find(|n| elapsed < base * 2_u32.pow(*n)).unwrap_or(MAX_DOUBLINGS);
    (base * 2_u32.pow(doublings)).min(cap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn retry_delays_grow_with_the_age_of_the_commitment() {
        let half_an_hour = seconds(1800);
        for (base, cap, elapsed, delay) in [
            (45, half_an_hour, None, 45),
            (45, half_an_hour, Some(44), 45),
            (45, half_an_hour, Some(45), 90),
            (45, half_an_hour, Some(200), 360),
            (45, half_an_hour, Some(720), 1440),
            (45, half_an_hour, Some(1440), 1800),
            (45, Duration::MAX, Some(9999), 2880),
            (60, half_an_hour, Some(480), 960),
            (60, half_an_hour, Some(960), 1800),
        ] {
            assert_eq!(retry_delay(seconds(base), cap, elapsed.map(seconds)), seconds(delay), "{base} {elapsed:?}");
        }
    }

    proptest! {
        #[test]
        fn longer_waiting_never_shortens_the_delay(base in 1_u64..600, cap in 1_u64..7200, a in 0_u64..20_000, b in 0_u64..20_000) {
            let delay = |elapsed| retry_delay(seconds(base), seconds(cap), Some(seconds(elapsed)));
            prop_assert!(delay(a.min(b)) <= delay(a.max(b)));
            prop_assert!(delay(a) <= seconds(cap) && delay(a) >= seconds(base.min(cap)));
        }
    }
}
