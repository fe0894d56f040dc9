//! What slots cost that wait for capacity, and how much they delay others (row w of docs/performance.md).

use std::collections::BTreeSet;
use std::time::Duration;

use berth_crds::Reservation;
use futures::{StreamExt, TryStreamExt};
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::cloud;
use crate::error::Error;
use crate::fill::{all, create};
use crate::floor::scene::with_hosts;
use crate::floor::watching::Watching;
use crate::operator::Operator;
use crate::pairs::per;
use crate::plane::Plane;
use crate::size::Size;
use crate::table::{Goal, Row};

/// The allowed ratio between the costs of a reconciliation beside many and beside few waiting slots.
const TIMES: f64 = 1.2;
const REST_PERCENT: f64 = 2.0;
const ACCEPTED_WITHIN: f64 = 1.0;
/// The slots that are reconciled again, because a label of theirs changes.
const TOUCHED: usize = 400;
/// The new commitments beside the waiting slots.
const NEW: usize = 10;
const SETTLES: Duration = Duration::from_secs(5);
const WITHIN: Duration = Duration::from_secs(900);
const RUNS: &str = "berth_controller_runs_total";
const SLOTS: &str = "commitment-reservation";

/// What was measured beside this many waiting slots.
struct Beside {
    slots: usize,
    /// Processor time per reconciliation of a waiting slot.
    millis: f64,
    /// The longest time until a new commitment was accepted, in seconds.
    accepted: f64,
    rest_percent: f64,
}

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let sizes = size.pick([404, 4_004, 20_000].as_slice(), [404, 1_004].as_slice());
    let rest = size.pick(Duration::from_secs(300), Duration::from_secs(60));
    let mut all = Vec::new();
    for slots in sizes {
        let beside = measure_beside(*slots, rest).await?;
        println!(
            "w, {slots} waiting slots: {:.3} ms per reconciliation, new commitments accepted within {:.2} s, {:.2} % of a core at rest",
            beside.millis, beside.accepted, beside.rest_percent
        );
        all.push(beside);
    }
    Ok(vec![row(&all)])
}

async fn measure_beside(slots: usize, rest: Duration) -> Result<Beside, Error> {
    let plane = with_hosts(3).await?;
    let mut operator = Operator::start(&plane).await?;
    operator.ready().await?;
    let mut watching = Watching::begin(plane.admin()).await?;
    create(plane.admin(), &cloud::commitment_in("bench-large", slots, 0)).await?;
    let mut accepted = 0.0_f64;
    for number in 0..NEW {
        let created = Instant::now();
        create(plane.admin(), &cloud::commitment_in(&cloud::uuid(number), 1, 1)).await?;
        watching.ready(number + 1).await?;
        accepted = accepted.max(created.elapsed().as_secs_f64());
        sleep(Duration::from_millis(500)).await;
    }
    let waiting = timeout(WITHIN, all_wait(&plane, slots)).await;
    let waiting = waiting.map_err(|_| Error::TooLong {
        what: "all slots are reported",
        seconds: WITHIN.as_secs(),
        log: operator.log_tail(),
    })??;
    sleep(SETTLES).await;
    let millis = touch(&plane, &operator, &waiting[..TOUCHED.min(waiting.len())]).await?;
    let before = operator.usage()?;
    sleep(rest).await;
    let rested = operator.usage()?.since(before).cpu_seconds / rest.as_secs_f64();
    operator.check()?;
    operator.stop().await?;
    plane.stop().await?;
    Ok(Beside { slots, millis, accepted, rest_percent: 100.0 * rested })
}

/// Waits until each of this many slots has a condition. Returns those without a host.
async fn all_wait(plane: &Plane, slots: usize) -> Result<Vec<String>, Error> {
    let api: Api<Reservation> = Api::all(plane.admin().clone());
    let (mut reported, mut waiting) = (BTreeSet::new(), Vec::new());
    let mut changes = watcher(api, watcher::Config::default()).boxed();
    while reported.len() < slots + NEW {
        let Some(event) = changes.try_next().await? else { break };
        if let Event::Apply(slot) | Event::InitApply(slot) = event
            && slot.status.is_some()
            && reported.insert(slot.name_any())
            && slot.spec.target_host.is_none()
        {
            waiting.push(slot.name_any());
        }
    }
    Ok(waiting)
}

/// The processor time per reconciliation that a change of a label causes, in milliseconds.
async fn touch(plane: &Plane, operator: &Operator, slots: &[String]) -> Result<f64, Error> {
    let api: Api<Reservation> = Api::all(plane.admin().clone());
    let (runs, before) = (operator.sum(RUNS, SLOTS).await, operator.usage()?);
    let label = Patch::Merge(json!({ "metadata": { "labels": { "bench": "touched" } } }));
    all(0..slots.len(), async |number| {
        api.patch(&slots[number], &PatchParams::default(), &label).await.map(drop).map_err(Error::from)
    })
    .await?;
    sleep(SETTLES).await;
    let used = operator.usage()?.since(before).cpu_seconds;
    let runs = operator.sum(RUNS, SLOTS).await.saturating_sub(runs);
    Ok(1000.0 * used * per(1, usize::try_from(runs).unwrap_or_default().max(1)))
}

fn row(all: &[Beside]) -> Row {
    let shown = |of: fn(&Beside) -> f64, digits: usize| {
        all.iter().map(|beside| format!("{:.digits$}", of(beside))).collect::<Vec<_>>().join(", ")
    };
    let worst = |of: fn(&Beside) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let fewest = all.first().map_or(f64::NAN, |beside| beside.millis);
    let times = all.iter().skip(1).map(|beside| beside.millis / fewest).fold(0.0, f64::max);
    let sizes: Vec<_> = all.iter().map(|beside| beside.slots.to_string()).collect();
    let goals = vec![
        Goal::wanted(
            format!("CPU per reconciliation of a waiting slot: beside more at most {TIMES} times as beside the fewest"),
            format!("{} ms: {times:.2} times", shown(|beside| beside.millis, 3)),
            times <= TIMES,
        ),
        Goal::wanted(
            format!("new commitments of one slot are accepted within {ACCEPTED_WITHIN} s"),
            format!("{} s", shown(|beside| beside.accepted, 2)),
            worst(|beside| beside.accepted) <= ACCEPTED_WITHIN,
        ),
        Goal::wanted(
            format!("under {REST_PERCENT} % of a core at rest"),
            format!("{} %", shown(|beside| beside.rest_percent, 2)),
            worst(|beside| beside.rest_percent) < REST_PERCENT,
        ),
    ];
    Row { letter: 'w', what: format!("{} slots of one commitment, of which 25 get a host", sizes.join(", ")), goals }
}
