//! Row b: one commitment at a time on an otherwise idle control plane. The floor takes the steps that depend on each
//! other: it sees the commitment in a watch, claims it, creates the slots, writes the status of each, then that of the
//! commitment.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::bare::Bare;
use super::scene::{learned, with_hosts};
use super::watching::Watching;
use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::fill::create;
use crate::operator::Operator;
use crate::pairs::{self, Pair, Side, alternate, median};
use crate::plane::Plane;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const SLOTS: usize = 4;
const HOSTS: usize = 120;
/// Long enough for the writes that follow `Ready`, such as the event.
const PAUSE: Duration = Duration::from_millis(150);
const WARM_UP: usize = 5;
const TIMES_THE_FLOOR: [(usize, f64); 2] = [(50, 2.0), (99, 3.0)];

/// Measures both sides in turn and compares them.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let (runs, rounds) = (size.pick(200, 50), size.rounds(5, 1));
    let pattern = learned(SLOTS).await?;
    let pairs = alternate(rounds, async |round, side| {
        let times = run(runs, side, &pattern).await?;
        println!("b, round {}, {side:?}: {times}", round + 1);
        Ok(times)
    });
    let pairs = pairs.await?;
    let what = format!("one commitment of {SLOTS} slots on an idle system, {runs} times");
    Ok(Row { letter: 'b', what, goals: TIMES_THE_FLOOR.iter().map(|goal| time(*goal, &pairs)).collect() })
}

async fn run(runs: usize, side: Side, pattern: &Pattern) -> Result<Times, Error> {
    let plane = with_hosts(HOSTS).await?;
    let times = match side {
        Side::Operator => {
            let mut operator = Operator::start(&plane).await?;
            operator.ready().await?;
            let times = each(&plane, runs).await?;
            operator.stop().await?;
            times
        }
        Side::Floor => {
            let bare = Bare::new(&plane, pattern.clone()).await?;
            let watching = Watching::begin(bare.client()).await?;
            tokio::select! {
                times = each(&plane, runs) => times?,
                stopped = serve(&bare, watching) => match stopped? {},
            }
        }
    };
    plane.stop().await?;
    Ok(times)
}

/// The time from the creation of each commitment until a watch shows that it is ready.
async fn each(plane: &Plane, runs: usize) -> Result<Times, Error> {
    plane.rest().await?;
    let (mut watching, mut times) = (Watching::begin(plane.admin()).await?, Times::default());
    for number in 0..WARM_UP + runs {
        let desired = cloud::commitment_in(&cloud::uuid(number), SLOTS, number);
        let began = Instant::now();
        create(plane.admin(), &desired).await?;
        watching.ready(number + 1).await?;
        let took = began.elapsed();
        if number >= WARM_UP {
            times.add(took);
        }
        sleep(PAUSE).await;
    }
    Ok(times)
}

/// Takes the steps of the operator without deciding anything.
async fn serve(bare: &Bare, mut watching: Watching) -> Result<Infallible, Error> {
    loop {
        let commitment = watching.fresh().await?;
        bare.claim(&commitment).await?;
        let number: usize = commitment
            .spec
            .commitment_uuid
            .rsplit('-')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or_default();
        bare.serve(&commitment, &cloud::host_for(number, HOSTS)).await?;
    }
}

fn time((percentile, most): (usize, f64), pairs: &[Pair<Times>]) -> Goal {
    let millis = |times: &Times| times.percentile(percentile).as_secs_f64() * 1e3;
    let times = pairs::ratio(pairs, millis);
    let operator = median(pairs.iter().map(|pair| millis(&pair.operator)));
    let floor = median(pairs.iter().map(|pair| millis(&pair.floor)));
    Goal::wanted(
        format!("p{percentile} at most {most} times the floor"),
        format!("{times:.2} times ({operator:.1} ms to {floor:.1} ms)"),
        times <= most,
    )
}
