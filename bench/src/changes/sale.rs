//! Row j: one confirmed sale at a time on an otherwise idle control plane.

use std::time::Duration;

use tokio::time::sleep;

use super::bare::BareSeller;
use super::journal::SalePattern;
use super::limes::{SLOTS, sold};
use super::scene::Scene;
use crate::cloud;
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::pairs::{self, Pair, Side, alternate, median, per};
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const HOSTS: usize = 120;
/// Long enough for the writes that follow the answer, such as the event.
const PAUSE: Duration = Duration::from_millis(150);
const WARM_UP: usize = 5;
const TIMES_THE_BARE: [(usize, f64); 2] = [(50, 1.4), (99, 2.0)];
const WRITES: f64 = 14.0;

/// One side of a round.
struct Sold {
    times: Times,
    /// Writes of each sale, without events.
    writes: f64,
}

/// Measures both sides in turn and compares them.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let (runs, rounds) = (size.pick(200, 30), size.rounds(5, 1));
    let pattern = SalePattern::learn().await?;
    let pairs = alternate(rounds, async |round, side| {
        let sold = match side {
            Side::Operator => sell_by_operator(runs).await?,
            Side::Floor => sell_bare(runs, &pattern).await?,
        };
        println!("j, round {}, {side:?}: {}; {:.2} writes each", round + 1, sold.times, sold.writes);
        Ok(sold)
    });
    let pairs = pairs.await?;
    let goals = TIMES_THE_BARE.iter().map(|goal| time(*goal, &pairs)).chain([written(&pairs)]).collect();
    Ok(Row { letter: 'j', what: format!("a confirmed sale of {SLOTS} slots on an idle system, {runs} times"), goals })
}

async fn sell_by_operator(runs: usize) -> Result<Sold, Error> {
    let scene = Scene::open(with_hosts(HOSTS).await?).await?;
    let mut limes = scene.connect("sale").await?;
    scene.plane.rest().await?;
    let (before, mut times) = (scene.plane.requests().await?, Times::default());
    for number in 0..WARM_UP + runs {
        let took = limes.change(cloud::zone(number), &[sold(&cloud::uuid(number), SLOTS)]).await?;
        if number >= WARM_UP {
            times.add(took);
        }
        sleep(PAUSE).await;
    }
    scene.plane.rest().await?;
    let requests = scene.plane.requests().await?.since(&before);
    println!("j, {requests}");
    scene.close().await?;
    Ok(Sold { times, writes: writes_each(&requests, WARM_UP + runs) })
}

async fn sell_bare(runs: usize, pattern: &SalePattern) -> Result<Sold, Error> {
    let plane = with_hosts(HOSTS).await?;
    let seller = BareSeller::new(&plane, pattern.clone()).await?;
    plane.rest().await?;
    let (before, mut times) = (plane.requests().await?, Times::default());
    for number in 0..WARM_UP + runs {
        let host = cloud::host_for(number, HOSTS);
        let took = seller.sell(&cloud::uuid(number), cloud::zone(number), &host).await?;
        if number >= WARM_UP {
            times.add(took);
        }
        sleep(PAUSE).await;
    }
    let requests = plane.requests().await?.since(&before);
    plane.stop().await?;
    Ok(Sold { times, writes: writes_each(&requests, WARM_UP + runs) })
}

fn writes_each(requests: &Requests, sales: usize) -> f64 {
    per(requests.writes() - requests.writes_of(&["events"]), sales)
}

fn time((percentile, most): (usize, f64), pairs: &[Pair<Sold>]) -> Goal {
    let millis = |sold: &Sold| sold.times.percentile(percentile).as_secs_f64() * 1e3;
    let times = pairs::ratio(pairs, millis);
    let operator = median(pairs.iter().map(|pair| millis(&pair.operator)));
    let bare = median(pairs.iter().map(|pair| millis(&pair.floor)));
    Goal::wanted(
        format!("p{percentile} at most {most} times the bare client"),
        format!("{times:.2} times ({operator:.1} ms to {bare:.1} ms)"),
        times <= most,
    )
}

fn written(pairs: &[Pair<Sold>]) -> Goal {
    let found = pairs.iter().map(|pair| pair.operator.writes).fold(0.0, f64::max);
    let bare = pairs.iter().map(|pair| pair.floor.writes).fold(0.0, f64::max);
    Goal::budget(
        format!("at most {WRITES} writes, events apart"),
        format!("{found:.2} (bare client {bare:.2})"),
        found <= WRITES,
    )
}
