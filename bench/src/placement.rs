//! Compares the Placement API of Berth with OpenStack Placement: the same clouds, the same requests, in turn.

mod answers;
mod bare;
mod bodies;
mod claiming;
mod cloud;
pub mod error;
mod guests;
mod http;
mod load;
mod ours;
mod peer_rows;
mod pgbench;
mod questions;
mod reading;
mod scene;
mod servers;
mod statements;
mod still;

use std::path::Path;
use std::time::Duration;

use self::cloud::{Cloud, Shape};
use self::ours::Ours;
use self::questions::Question;
use self::scene::{Scene, limited};
pub use self::servers::Store;
use crate::error::Error;
use crate::operator::berth;
use crate::pairs::{self, ratio};
use crate::size::Size;
use crate::table::{Goal, Row};

/// Consumers on every second host from the start.
const RESIDENTS: u64 = 2;
/// The same for the start time: 100,000 consumers on 10,000 hosts.
const MANY_RESIDENTS: u64 = 20;
/// Writes per second of other clients: half are claims, half delete one.
const FOREIGN: u32 = 500;
/// The allowed ratio between a query beside these writes and a query without them.
const SLOWER: f64 = 1.5;
/// The allowed ratio between a query and the same answer from a static server.
const TIMES_STILL: f64 = 3.0;
/// The allowed ratio between a claim and its bare transaction.
const TIMES_BARE: f64 = 1.4;
/// The share of pgbench's transactions per second that bare transactions must reach to be a valid reference.
const OF_PGBENCH: f64 = 0.7;
/// The allowed time from the start to the first answer.
const START: Duration = Duration::from_secs(1);

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let mut rows = candidates(size).await?;
    rows.extend(claims(size).await?);
    rows.extend(ready(size).await?);
    Ok(rows)
}

pub async fn candidates(size: Size) -> Result<Vec<Row>, Error> {
    let (binary, mut rows) = (berth()?, Vec::new());
    for (store, hosts) in clouds(size) {
        rows.push(candidates_of(&binary, store, hosts, size).await?);
    }
    Ok(rows)
}

fn clouds(size: Size) -> impl Iterator<Item = (Store, u64)> {
    let hosts = move || size.hosts(size.pick(&[1_000, 10_000][..], &[100][..]));
    size.stores().flat_map(move |store| hosts().map(move |hosts| (store, hosts)))
}

/// The candidate queries of rows f and g on our server alone: takes seconds, for work on its speed.
pub async fn alone(size: Size) -> Result<Vec<Row>, Error> {
    let (binary, mut rows) = (berth()?, Vec::new());
    for (store, hosts) in clouds(size) {
        rows.push(alone_on(&binary, store, hosts, size).await?);
    }
    Ok(rows)
}

async fn alone_on(binary: &Path, store: Store, hosts: u64, size: Size) -> Result<Row, Error> {
    let mut goals = Vec::new();
    for shape in Shape::ALL {
        let ours = Ours::build(binary, store, Cloud { shape, hosts, residents: RESIDENTS }).await?;
        for question in Question::ALL.into_iter().filter(|question| question.shape() == shape) {
            goals.extend(of_ours(&ours, question, store, size)?);
        }
    }
    let what = format!("GET /allocation_candidates, {hosts} hosts, {}", store.name());
    Ok(Row { letter: letter(hosts), what, goals })
}

pub async fn claims(size: Size) -> Result<Vec<Row>, Error> {
    let (binary, mut rows) = (berth()?, Vec::new());
    for store in size.stores() {
        rows.push(claims_on(&binary, store, size.pick(1_000, 100), size).await?);
    }
    Ok(rows)
}

/// Row i: the time until the first answer.
pub async fn ready(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![start(&berth()?, size.pick(10_000, 100)).await?])
}

async fn candidates_of(binary: &Path, store: Store, hosts: u64, size: Size) -> Result<Row, Error> {
    let mut goals = Vec::new();
    for shape in Shape::ALL {
        let scene = Scene::build(binary, store, Cloud { shape, hosts, residents: RESIDENTS }).await?;
        for question in Question::ALL.into_iter().filter(|question| question.shape() == shape) {
            goals.extend(of_question(&scene, question, store, size).await?);
        }
    }
    let what = format!("GET /allocation_candidates, {hosts} hosts, {}, beside Placement", store.name());
    Ok(Row { letter: letter(hosts), what, goals })
}

fn letter(hosts: u64) -> char {
    if hosts > 1_000 { 'g' } else { 'f' }
}

async fn of_question(scene: &Scene, question: Question, store: Store, size: Size) -> Result<Vec<Goal>, Error> {
    let (read, candidates) = scene.read(question, size).await?;
    let ours = pairs::median(read.iter().map(|pair| milliseconds(pair.operator.times.median())));
    let theirs = pairs::median(read.iter().map(|pair| milliseconds(pair.floor.times.median())));
    let faster = 1.0 / ratio(&read, |read| read.times.median().as_secs_f64());
    let more = ratio(&read, |read| read.rate);
    let (name, (least_p50, least_rate)) = (question.name(), least(question, store, scene.ours.cloud.hosts));
    let count = limited(candidates);
    let mut goals = vec![
        Goal::wanted(
            format!("{name}, {count} candidates: p50 {least_p50} times faster"),
            format!("{faster:.0} times ({ours:.2} ms to {theirs:.1} ms)"),
            faster >= least_p50,
        ),
        Goal::wanted(
            format!("{name}: {least_rate} times the requests per second of 8 connections"),
            format!("{more:.0} times"),
            more >= least_rate,
        ),
    ];
    goals.extend(of_ours(&scene.ours, question, store, size)?);
    Ok(goals)
}

fn of_ours(ours: &Ours, question: Question, store: Store, size: Size) -> Result<[Goal; 2], Error> {
    let name = question.name();
    let asking = if store == Store::Postgres { " after a version query" } else { "" };
    let (quiet, busy) = ours.beside(question, FOREIGN, size)?;
    let still = ours.still(question, size)?;
    let of = |times: Duration, base: Duration| times.as_secs_f64() / base.as_secs_f64();
    let (slower, over) = (of(busy, quiet), of(quiet, still));
    Ok([
        Goal::wanted(
            format!("{name} beside {FOREIGN} writes per second: p50 at most {SLOWER} times that of quiet"),
            format!("{slower:.2} times ({:.2} ms)", milliseconds(busy)),
            slower <= SLOWER,
        ),
        over_still(ours.cloud.hosts, &format!("a server that only sends the bytes{asking}"), name, over, still),
    ])
}

/// Short answers cost what every request costs, so they have no limit.
fn over_still(hosts: u64, server: &str, name: &str, over: f64, still: Duration) -> Goal {
    let found = format!("{over:.2} times ({:.2} ms)", milliseconds(still));
    if hosts > 1_000 {
        Goal::wanted(format!("{name}: p50 at most {TIMES_STILL} times {server}"), found, over <= TIMES_STILL)
    } else {
        Goal::new(format!("{name}: p50, compared with {server}"), found)
    }
}

/// The factors by which Placement is to be beaten: for the median, and for requests per second.
fn least(question: Question, store: Store, hosts: u64) -> (f64, f64) {
    match (hosts > 1_000, question, store) {
        (true, Question::Traits, _) => (1000.0, 1000.0),
        (true, Question::MemberOf, _) => (300.0, 300.0),
        (true, ..) => (3000.0, 3000.0),
        (false, Question::Traits, Store::Postgres) => (150.0, 200.0),
        (false, Question::MemberOf, Store::Postgres) => (125.0, 200.0),
        (false, ..) => (200.0, 200.0),
    }
}

async fn claims_on(binary: &Path, store: Store, hosts: u64, size: Size) -> Result<Row, Error> {
    let mut goals = Vec::new();
    for shape in Shape::ALL {
        let scene = Scene::build(binary, store, Cloud { shape, hosts, residents: RESIDENTS }).await?;
        let claimed = scene.claim(size).await?;
        let least = match (store, shape) {
            (Store::Sqlite, _) => 50.0,
            (Store::Postgres, Shape::Nested) => 30.0,
            (Store::Postgres, _) => 35.0,
        };
        let more = ratio(&claimed, |claimed| claimed.rate);
        let (ours, theirs) = (
            pairs::median(claimed.iter().map(|pair| pair.operator.rate)),
            pairs::median(claimed.iter().map(|pair| pair.floor.rate)),
        );
        let repeated: u64 = claimed.iter().map(|pair| pair.operator.repeated).sum();
        goals.push(Goal::wanted(
            format!("{}: {least} times the claims per second of 8 writers", shape.name()),
            format!("{more:.1} times ({ours:.0} to {theirs:.0} per second; {repeated} repeated)"),
            more >= least,
        ));
        if store == Store::Postgres {
            goals.extend(beside_bare(&scene.ours, size).await?);
        }
    }
    let what = format!("PUT /allocations, {hosts} hosts, {}, beside Placement", store.name());
    Ok(Row { letter: 'h', what, goals })
}

/// Compares claims with the same statements without a server.
async fn beside_bare(ours: &Ours, size: Size) -> Result<Vec<Goal>, Error> {
    let (name, claimed) = (ours.cloud.shape.name(), ours.claim_bare(size).await?);
    let longer = 1.0 / ratio(&claimed, |claimed| claimed.rate);
    let bare = pairs::median(claimed.iter().map(|pair| pair.floor.rate));
    let mut goals = vec![Goal::wanted(
        format!("{name}: at most {TIMES_BARE} times as long as the bare transactions"),
        format!("{longer:.2} times ({bare:.0} bare ones per second)"),
        longer <= TIMES_BARE,
    )];
    // The figures of claims hold for hosts of one provider.
    if ours.cloud.shape == Shape::Flat {
        let pairs = ours.claim_by_pgbench(size).await?;
        let (of, pgbench) = (ratio(&pairs, |rate| *rate), pairs::median(pairs.iter().map(|pair| pair.floor)));
        goals.push(Goal::wanted(
            format!("{name}: bare transactions at least {OF_PGBENCH} of pgbench with the same statements"),
            format!("{of:.2} ({pgbench:.0} per second by pgbench)"),
            of >= OF_PGBENCH,
        ));
    }
    Ok(goals)
}

async fn start(binary: &Path, hosts: u64) -> Result<Row, Error> {
    let mut goals = Vec::new();
    for (shape, question, most) in [(Shape::Flat, Question::Plain, 96), (Shape::Nested, Question::Granular, 192)] {
        let cloud = Cloud { shape, hosts, residents: MANY_RESIDENTS };
        let mut ours = Ours::build(binary, Store::Sqlite, cloud).await?;
        let (took, mebibytes) = ours.start(question).await?;
        let name = shape.name();
        goals.push(Goal::wanted(
            format!("{name}: candidates within 1 s of the start"),
            format!("{:.2} s", took.as_secs_f64()),
            took <= START,
        ));
        let found = format!("{mebibytes} MiB");
        goals.push(Goal::wanted(format!("{name}: at most {most} MiB"), found, mebibytes <= most));
    }
    let consumers = hosts / 2 * MANY_RESIDENTS;
    let what = format!("start of `berth placement` with {hosts} hosts and about {consumers} consumers, SQLite");
    Ok(Row { letter: 'i', what, goals })
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
