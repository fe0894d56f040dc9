//! Measures two sides in turn, so that other load on the machine affects both alike. The result is the median of the
//! ratios, not of the times.

use crate::error::Error;

/// The side to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Operator,
    /// The client that does the same with the fewest requests.
    Floor,
}

/// Both sides of one round.
#[derive(Clone, Debug)]
pub struct Pair<T> {
    pub operator: T,
    pub floor: T,
}

/// Runs both sides `rounds` times, with alternating order.
pub async fn alternate<T>(
    rounds: usize,
    mut run: impl AsyncFnMut(usize, Side) -> Result<T, Error>,
) -> Result<Vec<Pair<T>>, Error> {
    let mut pairs = Vec::with_capacity(rounds);
    for round in 0..rounds {
        pairs.push(if round % 2 == 0 {
            let operator = run(round, Side::Operator).await?;
            Pair { operator, floor: run(round, Side::Floor).await? }
        } else {
            let floor = run(round, Side::Floor).await?;
            Pair { operator: run(round, Side::Operator).await?, floor }
        });
    }
    Ok(pairs)
}

/// The median of the ratios between operator and floor.
pub fn ratio<T>(pairs: &[Pair<T>], of: impl Fn(&T) -> f64) -> f64 {
    median(pairs.iter().map(|pair| of(&pair.operator) / of(&pair.floor)))
}

/// The middle value, or the mean of the two middle values; 0 without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (half, last) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
    match (sorted.get(last), sorted.get(half)) {
        (Some(below), Some(above)) => f64::midpoint(*below, *above),
        _ => 0.0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn per(count: u64, of: usize) -> f64 {
    count as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::Side::{Floor, Operator};
    use super::*;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
    }

    #[test]
    fn a_median_is_the_middle() {
        close(median([]), 0.0);
        close(median([3.0]), 3.0);
        close(median([9.0, 1.0, 2.0]), 2.0);
        close(median([4.0, 1.0, 2.0, 9.0]), 3.0);
    }

    #[test]
    fn the_median_is_of_ratios_not_of_times() {
        let pair = |operator: f64, floor: f64| Pair { operator, floor };
        close(ratio(&[pair(30.0, 10.0), pair(2.0, 1.0), pair(8.0, 4.0)], |seconds| *seconds), 2.0);
    }

    #[tokio::test]
    async fn who_begins_alternates() {
        let order = RefCell::new(Vec::new());
        let pairs = alternate(3, async |round, side| {
            order.borrow_mut().push(side);
            Ok((round, side))
        });
        let pairs = pairs.await.unwrap();
        assert_eq!(order.into_inner(), [Operator, Floor, Floor, Operator, Operator, Floor]);
        assert!(pairs.iter().all(|pair| pair.operator.1 == Operator && pair.floor.1 == Floor));
        assert_eq!(pairs.iter().map(|pair| pair.floor.0).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
