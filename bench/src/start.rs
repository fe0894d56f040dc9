//! One start of the operator on a full control plane.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::error::Error;
use crate::figures::Row;
use crate::fill::{Counts, fill};
use crate::operator::Operator;
use crate::plane::Plane;

/// An idle time, in which only periodic work happens, such as the check of the invariants.
const IDLE: Duration = Duration::from_secs(30);

const RECONCILIATIONS: &str = "berth_controller_runs_total";

/// Fills a control plane with about this many objects, starts the operator and measures.
pub async fn measure(objects: usize) -> Result<Row, Error> {
    let counts = Counts::of(objects);
    let plane = Plane::start().await?;
    let began = Instant::now();
    println!("creating {} hosts, {} commitments, {} slots", counts.hosts, counts.commitments, counts.slots);
    fill(&plane, counts).await?;
    println!("created after {:.0} s; starting the operator", began.elapsed().as_secs_f64());
    let row = start(&plane, counts).await?;
    plane.stop().await?;
    Ok(row)
}

async fn start(plane: &Plane, counts: Counts) -> Result<Row, Error> {
    let began = Instant::now();
    let mut operator = Operator::start(plane).await?;
    operator.ready().await?;
    let ready = began.elapsed();
    let all = "every object is reconciled";
    operator.counted(RECONCILIATIONS, "controller=\"committed-resource\"", counts.commitments, all).await?;
    operator.counted(RECONCILIATIONS, "controller=\"commitment-reservation\"", counts.slots, all).await?;
    let (reconciled, busy) = (began.elapsed(), operator.usage()?);
    sleep(IDLE).await;
    let (idle, writes) = (operator.usage()?, operator.sum("berth_writes_total", "").await);
    operator.stop().await?;
    Ok(Row {
        objects: counts.objects(),
        ready,
        reconciled,
        cpu_seconds: busy.cpu_seconds,
        idle_cpu_seconds: idle.cpu_seconds - busy.cpu_seconds,
        peak_mib: idle.peak_kib / 1024,
        writes,
    })
}
