//! Requests of Nova, from the bytes of the body to the bytes of the answer: first each part by itself, then all of them
//! behind the router, then over a socket. The result names the most expensive parts.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request as HttpRequest};
use axum::response::Response;
use berth_core::HostName;
use berth_scheduler::{Answer, AnswerSettings, BuiltIn, Call, Request, Settings, Stopwatch};
use berth_scheduler_api::history::decided;
use berth_scheduler_api::metrics::ApiMetrics;
use berth_scheduler_api::server::{Api, ApiLimits, Forwarder, PATH, TimeAndRandom, router};
use berth_scheduler_api::{Backend, GuestLookup, Outcome, Role, wire};
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::Metrics;
use fastrand::Rng;
use futures::future::{BoxFuture, pending};
use jiff::Timestamp;
use serde_json::Value;
use tower::ServiceExt as _;

use super::cloud::{self, HOSTS};
use super::nova;
use super::socket::Listening;
use crate::error::Error;
use crate::times::Times;

const LISTED: [usize; 3] = [1, 200, HOSTS];
const BODIES: u64 = 64;
const RUNS: usize = 1_024;
const CONNECTIONS: usize = 4;
/// How often the reference decodes a body.
const REFERENCE_DECODES: u32 = 4;

/// Prints the figures of a cloud of the usual size.
pub async fn measure() -> Result<(), Error> {
    let mut chance = Rng::with_seed(4);
    let (hosts, slots) = cloud::objects(HOSTS, &mut chance);
    let answers = AnswerSettings { limit_to_request: true, ..AnswerSettings::default() };
    let settings = Settings { answers, ..Settings::default() };
    let scheduler = Arc::new(cloud::scheduler_with(settings, &hosts, &slots));
    let names: Vec<HostName> = hosts.into_iter().map(|host| host.name).collect();
    for listed in LISTED {
        let bodies = nova::bodies(&names[..listed], BODIES, &mut chance);
        let bytes = bodies.iter().map(Vec::len).sum::<usize>() / bodies.len();
        println!("\na request of Nova with {listed} of {HOSTS} hosts, {} slots: {bytes} bytes", slots.len());
        let parts = parts(&scheduler, &bodies)?;
        let alone = behind_the_router(&scheduler, &bodies, false).await?;
        let remembered = behind_the_router(&scheduler, &bodies, true).await?;
        row("all of it, behind the router, in memory", &alone);
        row("the same with a history to be written", &remembered);
        parts.shares(&alone);
        over_a_socket(&scheduler, &bodies).await?;
    }
    Ok(())
}

/// The medians of the parts of a request.
struct Parts {
    read: Duration,
    decide: Duration,
    trace: Duration,
    encode: Duration,
}

impl Parts {
    /// Prints the shares of the parts in an uncached request; metrics are the part that remains.
    fn shares(&self, whole: &Times) {
        let whole = whole.median();
        let rest = whole.saturating_sub(self.read + self.decide + self.trace + self.encode);
        let share = |part: Duration| 100.0 * part.as_secs_f64() / whole.as_secs_f64().max(1e-9);
        println!(
            "{:<48} reading {:.0} %, deciding {:.0} %, tracing {:.0} %, writing {:.0} %, router, metrics and log {:.0} %",
            "where the time goes (medians)",
            share(self.read),
            share(self.decide),
            share(self.trace),
            share(self.encode),
            share(rest)
        );
    }
}

fn parts(scheduler: &BuiltIn, bodies: &[Vec<u8>]) -> Result<Parts, Error> {
    let read = times(bodies, |body| wire::decode(body).map_err(|error| answer(&error)))?;
    row("read the body", &read);
    let value = times(bodies, |body| serde_json::from_slice::<Value>(body).map_err(Error::from))?;
    row("the same into a tree of JSON", &value);
    let ratio = |other: Duration| other.as_secs_f64() / read.median().as_secs_f64().max(1e-9);
    println!(
        "{:>12.1} times as long as ours; {:.1} times, decoded {REFERENCE_DECODES} times as the reference does",
        ratio(value.median()),
        ratio(value.median() * REFERENCE_DECODES)
    );
    let requests = bodies.iter().map(|body| Ok(wire::decode(body).map_err(|error| answer(&error))?.request));
    let requests = requests.collect::<Result<Vec<Request>, Error>>()?;
    let ask = |traced, explained| times(&requests, |request| ask(scheduler, request, traced, explained));
    let (decide, traced, explained) = (ask(false, false)?, ask(true, false)?, ask(false, true)?);
    row("decide", &decide);
    row("decide with a trace of the steps", &traced);
    row("decide with what a history needs", &explained);
    let outcomes =
        requests.iter().map(|request| outcome(scheduler, request)).collect::<Result<Vec<Outcome>, Error>>()?;
    row("the text of a history, after the answer", &times(&outcomes, |outcome| Ok(decided(outcome)))?);
    let answers: Vec<&Answer> = outcomes.iter().filter_map(|outcome| outcome.result.as_deref().ok()).collect();
    let encode = times(&answers, |answer| Ok(wire::encode_answer(answer, false)))?;
    row("write the answer", &encode);
    let trace = traced.median().saturating_sub(decide.median());
    Ok(Parts { read: read.median(), decide: decide.median(), trace, encode: encode.median() })
}

fn outcome(scheduler: &BuiltIn, request: &Request) -> Result<Outcome, Error> {
    let (request_id, global_request_id) = (String::new(), String::new());
    let result = Ok(Arc::new(ask(scheduler, request, true, true)?));
    Ok(Outcome { request: Arc::new(request.clone()), request_id, global_request_id, result })
}

fn times<T, R>(of: &[T], mut act: impl FnMut(&T) -> Result<R, Error>) -> Result<Times, Error> {
    let mut times = Times::default();
    for (run, thing) in of.iter().cycle().take(RUNS + RUNS / 8).enumerate() {
        let started = Instant::now();
        drop(black_box(act(black_box(thing))?));
        if run >= RUNS / 8 {
            times.add(started.elapsed());
        }
    }
    Ok(times)
}

/// Measures the steps.
#[derive(Debug)]
struct Watch(Instant);

impl Stopwatch for Watch {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

fn ask(scheduler: &BuiltIn, request: &Request, traced: bool, explain: bool) -> Result<Answer, Error> {
    let watch = Watch(Instant::now());
    let stopwatch = traced.then_some(&watch as &dyn Stopwatch);
    let (now, time) = (Duration::ZERO, Timestamp::UNIX_EPOCH);
    let call = Call { explain, stopwatch, ..Call::new(request, (now, time)) };
    Ok(black_box(scheduler.answer(&call)?))
}

async fn behind_the_router(scheduler: &Arc<BuiltIn>, bodies: &[Vec<u8>], remembers: bool) -> Result<Times, Error> {
    let (router, bodies) =
        (endpoint(scheduler, remembers)?, bodies.iter().cloned().map(Bytes::from).collect::<Vec<_>>());
    let mut times = Times::default();
    for (run, body) in bodies.iter().cycle().take(RUNS + RUNS / 8).enumerate() {
        let started = Instant::now();
        let request = HttpRequest::post(PATH).body(Body::from(body.clone())).map_err(|error| answer(&error))?;
        let response = router.clone().oneshot(request).await.map_err(|error| answer(&error))?;
        let status = response.status();
        let text = to_bytes(response.into_body(), usize::MAX).await.map_err(|error| answer(&error))?;
        if run >= RUNS / 8 {
            times.add(started.elapsed());
        }
        if status != 200 {
            return Err(Error::Answer(String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(times)
}

async fn over_a_socket(scheduler: &Arc<BuiltIn>, bodies: &[Vec<u8>]) -> Result<(), Error> {
    for (remembers, what) in [(false, "over a socket"), (true, "over a socket with a history")] {
        let server = Listening::start(endpoint(scheduler, remembers)?)?;
        server.ask(bodies, RUNS / 8, 1).await?;
        let (times, ..) = server.ask(bodies, RUNS, 1).await?;
        row(&format!("{what}, one after the other"), &times);
        let (times, per_second, per_core) = server.ask(bodies, 4 * RUNS, CONNECTIONS).await?;
        row(&format!("{what}, {CONNECTIONS} at a time"), &times);
        println!("{per_second:>12.0} requests/s, {per_core:.0} per second of the server's processor time (one core)");
    }
    Ok(())
}

fn endpoint(scheduler: &Arc<BuiltIn>, remembers: bool) -> Result<Router, Error> {
    let counted = ApiMetrics::register(&Metrics::new(&BTreeMap::new())?, scheduler)?;
    let surroundings = TimeAndRandom::since(tokio::time::Instant::now(), Arc::new(SystemClock));
    let process = Process { scheduler: scheduler.clone(), remembers };
    Ok(router(Arc::new(Api::new(process, Nowhere, surroundings, ApiLimits::default(), counted))))
}

/// A process that only schedules.
struct Process {
    scheduler: Arc<BuiltIn>,
    remembers: bool,
}

impl Backend for Process {
    fn scheduler(&self) -> &Arc<BuiltIn> {
        &self.scheduler
    }

    fn role(&self) -> Role {
        Role::Leader
    }

    fn find_leader(&self) {}

    fn not_ready(&self) -> Option<String> {
        None
    }

    fn guest(&self, _: &Request) -> GuestLookup {
        Ok(None)
    }

    fn remembers(&self, _: &Request) -> bool {
        self.remembers
    }

    fn decided(&self, outcome: Outcome) {
        drop(black_box(outcome));
    }

    async fn keep_claim(&self) {}
}

/// A leader does not forward.
struct Nowhere;

impl Forwarder for Nowhere {
    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Method,
        _: &'a str,
        _: Bytes,
        _: &'a HeaderMap,
        _: Duration,
    ) -> BoxFuture<'a, Response> {
        Box::pin(pending())
    }
}

fn answer(error: &impl ToString) -> Error {
    Error::Answer(error.to_string())
}

fn row(what: &str, times: &Times) {
    println!("{what:<48} {times}");
}
