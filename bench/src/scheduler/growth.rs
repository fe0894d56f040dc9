//! How the time of a decision grows with the cloud: it should grow with hosts and not with reservations.

use fastrand::Rng;

use super::cloud::{self, PER_HOST};
use super::in_process::Story;
use crate::error::Error;

const SIZES: [usize; 3] = [200, 2_000, 20_000];
const RUNS: u64 = 1_000;

/// Prints the times for clouds of growing size, each ten times the one before.
pub async fn measure() -> Result<(), Error> {
    let mut former = None;
    for hosts in SIZES {
        let mut chance = Rng::with_seed(3);
        let (all, slots) = cloud::objects(hosts, &mut chance);
        let scheduler = cloud::scheduler(&all, &slots);
        let mut story = Story::new(&slots, chance);
        story.run(&scheduler, RUNS / 4).await?;
        story.run(&scheduler, RUNS).await?;
        let median = story.decisions.median().as_secs_f64();
        let ratio =
            former.map_or(String::new(), |former: f64| format!(", {:.1} times the median before", median / former));
        println!("{hosts:>6} hosts, {:>6} reservations: {}{ratio}", hosts * PER_HOST, story.decisions);
        former = Some(median);
    }
    Ok(())
}
