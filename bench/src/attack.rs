//! Attacks on our own servers (docs/security.md): hostile clients on loopback, bounded in number and time, beside a
//! client that behaves.
//!
//! A run fails when a process ends or a client that behaves gets no answer. Times and memory are printed only, because
//! attackers and server share the machine.

mod bodies;
mod connections;
mod observe;
mod readers;
mod scarce;
mod senders;
mod target;
mod wire;

use clap::ValueEnum;

use self::observe::Seen;
pub use self::observe::Watched;
use crate::error::Error;
use crate::size::Size;
use crate::table::{Goal, Row};

const ANSWER_MS: f64 = 200.0;
const REFUSAL_MS: f64 = 100.0;
const HEALTH_MS: f64 = 100.0;

/// Attacks that are made together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Attack {
    /// Row A: connections that are idle, silent, new or busy.
    Connections,
    /// Row B: readers that take their time, and honest readers of long lists.
    Readers,
    /// Row C: senders that take their time.
    Senders,
    /// Row D: the largest bodies that the scheduler API admits.
    Bodies,
    /// Row E: few open files, and little address space.
    Scarce,
}

impl Attack {
    pub const ALL: [Self; 5] = [Self::Connections, Self::Readers, Self::Senders, Self::Bodies, Self::Scarce];

    pub async fn measure(self, size: Size) -> Result<Row, Error> {
        match self {
            Self::Connections => connections::measure(size).await,
            Self::Readers => readers::measure(size).await,
            Self::Senders => senders::measure(size).await,
            Self::Bodies => bodies::measure(size).await,
            Self::Scarce => scarce::measure(size).await,
        }
    }
}

/// What every attack must leave to a client that behaves.
fn goals(attack: &str, seen: &Seen) -> Vec<Goal> {
    let [answer, refusal, health] =
        [&seen.answered, &seen.refused, &seen.health].map(|times| times.percentile(99).as_secs_f64() * 1e3);
    let counts = format!("{} answered, {} refused, {} without", seen.answered.len(), seen.refused.len(), seen.failed);
    let slowest = seen.health.percentile(100).as_secs_f64() * 1e3;
    vec![
        Goal::budget(format!("{attack}: every request has an answer"), counts, seen.failed == 0),
        Goal::wanted(
            "p99 of answers under 200 ms, of 503 under 100 ms",
            format!("{answer:.1} ms, {refusal:.1} ms"),
            answer < ANSWER_MS && refusal < REFUSAL_MS,
        ),
        Goal::wanted(
            "p99 of `/healthz` under 100 ms",
            format!("{health:.1} ms; {slowest:.1} ms at most"),
            health < HEALTH_MS && seen.health.len() > 0,
        ),
    ]
}

fn mib(kib: u64) -> u64 {
    kib.div_ceil(1024)
}
