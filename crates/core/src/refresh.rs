//! When something is written again although nothing has changed: once an hour.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;

/// Seconds.
const PERIOD: i64 = 3600;

/// Whether the hour of `name` has passed since it was written last. Each name has its own moment of the hour, so that not
/// all are written at once.
pub fn is_refresh_due(name: &str, last: Option<Timestamp>, now: Timestamp) -> bool {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let shift = i64::try_from(hasher.finish() % PERIOD.unsigned_abs()).unwrap_or_default();
    let hour = |time: Timestamp| (time.as_second() + shift).div_euclid(PERIOD);
    last.is_none_or(|last| hour(now) > hour(last))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_name_has_its_own_moment_of_the_hour() {
        let moment = |name: &str| (1..=PERIOD).find(|second| is_refresh_due(name, Some(at(0)), at(*second))).unwrap();
        let names: Vec<String> = (0..100).map(|number| format!("name-{number}")).collect();
        let moments: BTreeSet<i64> = names.iter().map(|name| moment(name)).collect();
        assert!(moments.len() > 90, "{moments:?}");
        for name in &names {
            let first = moment(name);
            assert!(!is_refresh_due(name, Some(at(first)), at(first + PERIOD - 1)), "{name}");
            assert!(is_refresh_due(name, Some(at(first)), at(first + PERIOD)), "{name}");
        }
        assert!(is_refresh_due("never written", None, at(0)));
    }
}
