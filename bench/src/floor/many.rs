//! Row a: many commitments at the same time.

use std::fmt;

use berth_crds::CommittedResource;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use super::bare::Bare;
use super::scene::{learned, with_hosts};
use super::watching::Watching;
use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::fill::create;
use crate::operator::Operator;
use crate::pairs::{self, Pair, Side, alternate, median, per};
use crate::plane::Plane;
use crate::proc::Usage;
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row, WRITES_PER_COMMITMENT, WRITES_PER_SLOT};

/// The maximum of commitments that are created at the same time.
const AT_ONCE: usize = 32;
const TIMES_THE_FLOOR: f64 = 1.3;
const MEMORY_KIB: u64 = 64 * 1024;
const MEMORY_KIB_PER_SLOT: u64 = 8;

/// The commitments to create.
#[derive(Clone, Copy, Debug)]
struct Load {
    hosts: usize,
    commitments: usize,
    slots_each: usize,
    rounds: usize,
}

impl Load {
    fn slots(self) -> usize {
        self.commitments * self.slots_each
    }
}

/// The costs of one side.
#[derive(Clone, Debug)]
struct Needed {
    seconds: f64,
    api_server_cpu: f64,
    etcd_cpu: f64,
    operator: Option<Usage>,
    requests: Requests,
}

/// Measures both sides in turn and compares them.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let load = size.pick(
        Load { hosts: 500, commitments: 1_000, slots_each: 10, rounds: size.rounds(5, 2) },
        Load { hosts: 100, commitments: 100, slots_each: 10, rounds: size.rounds(5, 2) },
    );
    let pattern = learned(load.slots_each).await?;
    let pairs = alternate(load.rounds, async |round, side| {
        let needed = run(load, side, &pattern).await?;
        println!("a, round {}, {side:?}: {needed}", round + 1);
        Ok(needed)
    });
    Ok(row(load, &pairs.await?))
}

async fn run(load: Load, side: Side, pattern: &Pattern) -> Result<Needed, Error> {
    let plane = with_hosts(load.hosts).await?;
    let needed = match side {
        Side::Operator => {
            let mut operator = Operator::start(&plane).await?;
            operator.ready().await?;
            let needed = serve(&plane, load, None, Some(&operator)).await?;
            operator.stop().await?;
            needed
        }
        Side::Floor => serve(&plane, load, Some(&Bare::new(&plane, pattern.clone()).await?), None).await?,
    };
    plane.stop().await?;
    Ok(needed)
}

async fn serve(plane: &Plane, load: Load, floor: Option<&Bare>, operator: Option<&Operator>) -> Result<Needed, Error> {
    plane.rest().await?;
    let usage = || Ok::<_, Error>((plane.usage()?, operator.map(Operator::usage).transpose()?));
    let (requests, (before, idle)) = (plane.requests().await?, usage()?);
    let mut watching = Watching::begin(plane.admin()).await?;

    let began = Instant::now();
    tokio::try_join!(create_all(plane, load, floor), watching.ready(load.commitments))?;
    let seconds = began.elapsed().as_secs_f64();

    // Events and metrics follow a little later.
    plane.rest().await?;
    let (after, busy) = usage()?;
    Ok(Needed {
        seconds,
        api_server_cpu: after.api_server.since(before.api_server).cpu_seconds,
        etcd_cpu: after.etcd.since(before.etcd).cpu_seconds,
        operator: busy.zip(idle).map(|(busy, idle)| busy.since(idle)),
        requests: plane.requests().await?.since(&requests),
    })
}

/// Creates the commitments; the floor serves each as soon as it exists.
async fn create_all(plane: &Plane, load: Load, floor: Option<&Bare>) -> Result<(), Error> {
    let one = async |number: usize| -> Result<(usize, CommittedResource), Error> {
        let desired = cloud::commitment_in(&cloud::uuid(number), load.slots_each, number);
        Ok((number, create(plane.admin(), &desired).await?))
    };
    let created = stream::iter(0..load.commitments).map(one).buffer_unordered(AT_ONCE);
    let serve = async |(number, commitment): (usize, CommittedResource)| match floor {
        Some(bare) => bare.serve(&commitment, &cloud::host_for(number, load.hosts)).await,
        None => Ok(()),
    };
    // The floor limits its own requests.
    created.map_ok(serve).try_buffer_unordered(load.commitments).try_collect().await
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, api_server_cpu, etcd_cpu, operator, requests } = self;
        write!(f, "{seconds:.2} s; CPU: API server {api_server_cpu:.1} s, etcd {etcd_cpu:.1} s")?;
        if let Some(Usage { cpu_seconds, peak_kib, .. }) = operator {
            write!(f, ", operator {cpu_seconds:.1} s; its memory {} MiB", peak_kib / 1024)?;
        }
        write!(f, "; {requests}")
    }
}

fn row(load: Load, pairs: &[Pair<Needed>]) -> Row {
    let Load { hosts, commitments, slots_each, .. } = load;
    let what = format!("{commitments} commitments of {slots_each} slots at once, {hosts} hosts, 3 zones");
    let [slots, commitments] = written(load, pairs);
    let goals = vec![slots, commitments, others(pairs), time(pairs), memory(load, pairs), cpu(load, pairs)];
    Row { letter: 'a', what, goals }
}

fn written(load: Load, pairs: &[Pair<Needed>]) -> [Goal; 2] {
    let most = |plurals: &[&str], others: usize, of: usize| {
        let writes = pairs.iter().map(|pair| pair.operator.requests.writes_of(plurals)).max().unwrap_or_default();
        per(writes.saturating_sub(others as u64), of)
    };
    let per_slot = most(&["reservations"], 0, load.slots());
    // The commitments themselves are created by their users, so these writes are not the operator's.
    let per_commitment = most(&["committedresources", "events"], load.commitments, load.commitments);
    let budget = |most: f64, of: &str, found: f64| {
        Goal::budget(format!("at most {most} writes per {of}"), format!("{found:.2}"), found <= most)
    };
    [
        budget(WRITES_PER_SLOT, "slot", per_slot),
        budget(WRITES_PER_COMMITMENT, "commitment, with events", per_commitment),
    ]
}

fn others(pairs: &[Pair<Needed>]) -> Goal {
    let most = |of: &dyn Fn(&Requests) -> u64| pairs.iter().map(|pair| of(&pair.operator.requests)).max().unwrap_or(0);
    let others =
        most(&|requests| requests.writes() - requests.writes_of(&["reservations", "committedresources", "events"]));
    Goal::new("other writes, and Leases", format!("{others}, and {}", most(&Requests::leases)))
}

fn time(pairs: &[Pair<Needed>]) -> Goal {
    let times = pairs::ratio(pairs, |needed| needed.seconds);
    let [operator, floor] = middles(pairs, |needed| needed.seconds);
    Goal::wanted(
        format!("first create to last Ready at most {TIMES_THE_FLOOR} times the floor"),
        format!("{times:.2} times ({operator:.1} s to {floor:.1} s)"),
        times <= TIMES_THE_FLOOR,
    )
}

fn memory(load: Load, pairs: &[Pair<Needed>]) -> Goal {
    let usages = pairs.iter().filter_map(|pair| pair.operator.operator);
    let peak = usages.map(|usage| usage.peak_kib).max().unwrap_or_default();
    let allowed = MEMORY_KIB + MEMORY_KIB_PER_SLOT * load.slots() as u64;
    Goal::wanted(
        format!("peak memory under 64 MiB + 8 KiB per slot = {} MiB", allowed / 1024),
        format!("{} MiB", peak / 1024),
        peak < allowed,
    )
}

fn cpu(load: Load, pairs: &[Pair<Needed>]) -> Goal {
    let [own, _] = middles(pairs, |needed| needed.operator.map_or(0.0, |usage| usage.cpu_seconds));
    let [server, floor_server] = middles(pairs, |needed| needed.api_server_cpu);
    let [etcd, floor_etcd] = middles(pairs, |needed| needed.etcd_cpu);
    let each = own * per(1000, load.slots());
    Goal::new(
        "CPU seconds shown",
        format!(
            "operator {own:.1} s = {each:.2} ms per slot; API server {server:.1} s (floor {floor_server:.1} s); \
             etcd {etcd:.1} s (floor {floor_etcd:.1} s)"
        ),
    )
}

fn middles(pairs: &[Pair<Needed>], of: impl Fn(&Needed) -> f64) -> [f64; 2] {
    [median(pairs.iter().map(|pair| of(&pair.operator))), median(pairs.iter().map(|pair| of(&pair.floor)))]
}
