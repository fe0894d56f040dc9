//! Row o: runs over commitments that are as Limes lists them.

use std::time::Duration;

use tokio::time::Instant;

use super::created;
use super::doubles::{Doubles, Pace, project_id};
use super::list_size::{EACH, GROWTH, ListSize};
use crate::cloud;
use crate::error::Error;
use crate::fill::{all, create};
use crate::floor::scene::with_hosts;
use crate::pairs::per;
use crate::plane::Plane;
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row};

const CPU_SECONDS: f64 = 2.0;
const MEMORY_KIB: u64 = 24 * 1024;
const PER_SECOND: usize = 20;
const IN_FLIGHT: usize = 16;
/// As fast as the timer of the pace can be.
const FAST: Pace = Pace::Fast(1000);
/// The first run builds the view, the others replace it.
const RUNS: usize = 3;
const SCRAPED_EVERY: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(600);

/// Runs of one process over one list.
#[derive(Clone, Debug)]
struct Unchanged {
    size: ListSize,
    /// Of each run.
    cpu_seconds: Vec<f64>,
    /// The most memory during all runs, one right after the other, beyond what the process had before the first one.
    more_kib: u64,
    requests: Requests,
}

/// A run at the pace of the default configuration.
#[derive(Clone, Debug)]
struct Paced {
    seconds: f64,
    per_second: f64,
    /// In the second with the most requests.
    most_per_second: usize,
    most_in_flight: usize,
    cpu_seconds: f64,
    /// The most memory beyond what the process had before.
    more_kib: u64,
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let [small, large] = ListSize::both(size);
    let plane = filled(small).await?;
    let few = run_fast(&plane, small).await?;
    plane.stop().await?;
    let plane = filled(large).await?;
    let many = run_fast(&plane, large).await?;
    let paced = run_paced(&plane, size.pick(large, small)).await?;
    plane.stop().await?;
    Ok(row(&few, &many, &paced))
}

/// A control plane with the commitments as the syncer creates them.
async fn filled(size: ListSize) -> Result<Plane, Error> {
    let pattern = created::pattern().await?;
    let plane = with_hosts(0).await?;
    all(0..size.commitments, async |number| {
        let mut object = pattern.commitment_in(&cloud::uuid(number), cloud::zone(number))?;
        object.spec.project_id = project_id(number / EACH);
        create(plane.admin(), &object).await.map(drop)
    })
    .await?;
    Ok(plane)
}

async fn run_fast(plane: &Plane, size: ListSize) -> Result<Unchanged, Error> {
    let doubles = Doubles::start(size).await?;
    let mut operator = doubles.operator(plane, FAST).await?;
    let (before, idle) = (plane.requests().await?, operator.usage()?);
    operator.forget_peak()?;
    doubles.let_answer();
    let mut cpu_seconds = Vec::new();
    for run in 0..RUNS {
        doubles.next_run(doubles.runs()).await?;
        let began = operator.cpu_seconds()?;
        doubles.compared(&mut operator, run + 1, SCRAPED_EVERY, WITHIN).await?;
        cpu_seconds.push(operator.cpu_seconds()? - began);
    }
    plane.rest().await?;
    let more_kib = operator.usage()?.peak_kib.saturating_sub(idle.resident_kib);
    let requests = plane.requests().await?.since(&before);
    println!("o, {size}: CPU {cpu_seconds:.3?} s, {more_kib} KiB more than {}; {requests}", idle.resident_kib);
    operator.stop().await?;
    Ok(Unchanged { size, cpu_seconds, more_kib, requests })
}

async fn run_paced(plane: &Plane, size: ListSize) -> Result<Paced, Error> {
    let doubles = Doubles::start(size).await?;
    let mut operator = doubles.operator(plane, Pace::Default).await?;
    let idle = operator.usage()?;
    operator.forget_peak()?;
    doubles.let_answer();
    doubles.next_run(doubles.runs()).await?;
    let (began, cpu) = (Instant::now(), operator.cpu_seconds()?);
    doubles.compared(&mut operator, 1, SCRAPED_EVERY, WITHIN).await?;
    let cpu_seconds = operator.cpu_seconds()? - cpu;
    let more_kib = operator.usage()?.peak_kib.saturating_sub(idle.resident_kib);
    operator.stop().await?;
    let times: Vec<Instant> = doubles.limes.requests().into_iter().map(|(_, at)| at).collect();
    let seconds = times.last().map_or(began.elapsed(), |last| *last - began).as_secs_f64();
    let paced = Paced {
        seconds,
        per_second: per(times.len() as u64, 1) / seconds,
        most_per_second: most_within(&times, Duration::from_secs(1)),
        most_in_flight: doubles.limes.most_under_way(),
        cpu_seconds,
        more_kib,
    };
    println!("o, {size}: {paced:?}");
    Ok(paced)
}

/// The most of the times, which are sorted, in an interval of this length.
fn most_within(times: &[Instant], length: Duration) -> usize {
    let count = |first: usize| times[first..].partition_point(|at| *at - times[first] < length);
    (0..times.len()).map(count).max().unwrap_or_default()
}

fn row(few: &Unchanged, many: &Unchanged, paced: &Paced) -> Row {
    let what = format!("the syncer over {} as Limes lists them", many.size);
    let goals = vec![
        written(few, many),
        pace(paced),
        in_flight(paced),
        cpu(many),
        at_pace(paced),
        memory(paced),
        memory_of_fast_runs(many),
        growth(few, many),
    ];
    Row { letter: 'o', what, goals }
}

fn written(few: &Unchanged, many: &Unchanged) -> Goal {
    let [few, many] = [few, many].map(|runs| runs.requests.writes());
    Goal::budget(format!("no write in {RUNS} runs"), format!("{}", few + many), few + many == 0)
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn pace(paced: &Paced) -> Goal {
    let Paced { seconds, per_second, most_per_second, .. } = paced;
    Goal::budget(
        format!("at most the configured {PER_SECOND} requests per second"),
        format!("{per_second:.1} in {seconds:.0} s; {most_per_second} in the second with the most of them"),
        *per_second <= PER_SECOND as f64,
    )
}

fn in_flight(paced: &Paced) -> Goal {
    let most = paced.most_in_flight;
    Goal::budget(format!("at most {IN_FLIGHT} requests in flight"), most.to_string(), most <= IN_FLIGHT)
}

fn cpu(many: &Unchanged) -> Goal {
    let most = many.cpu_seconds.iter().copied().fold(0.0, f64::max);
    let each: Vec<_> = many.cpu_seconds.iter().map(|seconds| format!("{seconds:.2}")).collect();
    Goal::wanted(
        format!("under {CPU_SECONDS} s of processor time for a run"),
        format!("{} s", each.join(", ")),
        most < CPU_SECONDS,
    )
}

fn at_pace(paced: &Paced) -> Goal {
    let Paced { cpu_seconds, seconds, .. } = paced;
    Goal::new("shown: the same at the configured pace", format!("{cpu_seconds:.2} s in {seconds:.0} s"))
}

fn memory(paced: &Paced) -> Goal {
    Goal::wanted(
        format!("under {} MiB more memory than before the run, at the configured pace", MEMORY_KIB / 1024),
        format!("{:.1} MiB", per(paced.more_kib, 1024)),
        paced.more_kib < MEMORY_KIB,
    )
}

fn memory_of_fast_runs(many: &Unchanged) -> Goal {
    Goal::new(
        format!("shown: the same for {RUNS} runs within seconds, with two views and all that was freed meanwhile"),
        format!("{:.1} MiB", per(many.more_kib, 1024)),
    )
}

/// The fastest run of each counts: others may have waited for the processor caches of other processes.
fn growth(few: &Unchanged, many: &Unchanged) -> Goal {
    let [few, many] = [few, many].map(|runs| {
        let least = runs.cpu_seconds.iter().copied().fold(f64::INFINITY, f64::min);
        least * 1e6 * per(1, runs.size.commitments)
    });
    let times = many / few;
    Goal::wanted(
        format!("processor time of each commitment: at most {GROWTH} times that with a tenth of the list"),
        format!("{times:.2} times ({many:.0} us to {few:.0} us)"),
        times <= GROWTH,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_with_the_most_requests_is_found() {
        let start = Instant::now();
        let times: Vec<_> = [0, 400, 900, 1300, 1350, 2400].map(|at| start + Duration::from_millis(at)).into();
        assert_eq!(most_within(&times, Duration::from_secs(1)), 4);
        assert_eq!(most_within(&[], Duration::from_secs(1)), 0);
    }
}
