//! The cost of a slot in clouds of several sizes, and the idle cost of the largest (row d of docs/performance.md).
//! Commitments and hosts exist before the operator starts; it then creates the slots.

mod rest;
mod served;

use std::time::Duration;

use crate::error::Error;
use crate::pairs::median;
use crate::size::Size;
use crate::table::{Goal, Row, WRITES_PER_COMMITMENT, WRITES_PER_SLOT};
use served::Served;

/// The allowed ratio between the largest and the smallest figure per slot.
const TIMES: f64 = 1.2;

/// One size of the cloud.
#[derive(Clone, Copy, Debug)]
struct Load {
    slots: usize,
    /// Short measurements are repeated.
    rounds: usize,
}

/// Measures all sizes, and the idle cost of the last one.
pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let load = |slots, rounds| Load { slots, rounds };
    let loads = size.pick(vec![load(1_000, 5), load(10_000, 1), load(50_000, 1)], vec![load(500, 3), load(1_500, 1)]);
    let rest = size.pick(Duration::from_secs(600), Duration::from_secs(60));
    let last = loads.len() - 1;
    let (mut all, mut rested) = (Vec::new(), None);
    for (place, Load { slots, rounds }) in loads.into_iter().enumerate() {
        let mut rounds_served = Vec::new();
        for _ in 0..rounds {
            let (plane, operator, served) = served::serve(slots).await?;
            println!("d, {served}");
            rounds_served.push(served);
            if place == last {
                rested = Some(rest::rest(&plane, &operator, rest).await?);
            }
            operator.stop().await?;
            plane.stop().await?;
        }
        all.push(rounds_served);
    }
    Ok([row(&all)].into_iter().chain(rested.map(|rested| rested.row(all[last][0].slots))).collect())
}

fn row(all: &[Vec<Served>]) -> Row {
    let sizes: Vec<_> = all.iter().map(|rounds| rounds[0].slots.to_string()).collect();
    let [slots, commitments] = written(all);
    let goals = vec![
        alike("CPU per slot", "ms", 2, &medians(all, Served::cpu_millis)),
        alike("writes per slot", "", 2, &medians(all, Served::writes_per_slot)),
        slots,
        commitments,
        alike("memory per slot", "KiB", 2, &medians(all, Served::kib)),
        reported(all),
    ];
    Row { letter: 'd', what: format!("{} slots, 10 for each commitment, 20 for each host", sizes.join(", ")), goals }
}

fn medians(all: &[Vec<Served>], of: impl Fn(&Served) -> f64) -> Vec<f64> {
    all.iter().map(|rounds| median(rounds.iter().map(&of))).collect()
}

/// Checks that the figures are about the same for all sizes.
fn alike(what: &str, unit: &str, digits: usize, figures: &[f64]) -> Goal {
    let bound = |worse: fn(f64, f64) -> f64| figures.iter().copied().reduce(worse).unwrap_or_default();
    let times = bound(f64::max) / bound(f64::min);
    let shown: Vec<_> = figures.iter().map(|figure| format!("{figure:.digits$}")).collect();
    Goal::wanted(
        format!("{what}: the largest at most {TIMES} times the smallest"),
        format!("{} {unit}: {times:.2} times", shown.join(", ")),
        times <= TIMES,
    )
}

/// The worst of all sizes and rounds counts.
fn written(all: &[Vec<Served>]) -> [Goal; 2] {
    let worst = |of: fn(&Served) -> f64| all.iter().flatten().map(of).fold(0.0, f64::max);
    let budget = |most: f64, of: &str, found: f64| {
        Goal::budget(format!("at most {most} writes per {of}"), format!("{found:.2}"), found <= most)
    };
    [
        budget(WRITES_PER_SLOT, "slot", worst(Served::writes_per_slot)),
        budget(WRITES_PER_COMMITMENT, "commitment, with events", worst(Served::writes_per_commitment)),
    ]
}

fn reported(all: &[Vec<Served>]) -> Goal {
    let shown = |rounds: &Vec<Served>| {
        let Served { slots, usage, seconds, .. } = &rounds[0];
        let peak = usage.peak_kib / 1024;
        format!("{slots}: {:.1} s of CPU in {seconds:.0} s, peak {peak} MiB", usage.cpu_seconds)
    };
    Goal::new("shown", all.iter().map(shown).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_figure_is_compared_with_the_smallest() {
        let goal = alike("CPU per slot", "ms", 1, &[0.5, 0.4, 0.45]);
        assert_eq!((goal.found.as_str(), goal.met), ("0.5, 0.4, 0.5 ms: 1.25 times", Some(false)));
        assert_eq!(alike("", "", 0, &[1.0, 1.1]).met, Some(true));
    }
}
