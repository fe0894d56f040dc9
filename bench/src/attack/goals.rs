//! The goals of every attack.

use super::observe::Seen;
use crate::table::Goal;

const ANSWER_MS: f64 = 200.0;
const REFUSAL_MS: f64 = 100.0;
const HEALTH_MS: f64 = 100.0;

/// What every attack must leave to a client that behaves.
pub fn goals(attack: &str, seen: &Seen) -> Vec<Goal> {
    let [answer, refusal, health] =
        [&seen.answered, &seen.refused, &seen.health].map(|times| times.percentile(99).as_secs_f64() * 1e3);
    let counts = format!("{} answered, {} with 503, {} without", seen.answered.len(), seen.refused.len(), seen.failed);
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
            format!("{health:.1} ms; {slowest:.1} ms at most, {} without an answer", seen.unhealthy),
            health < HEALTH_MS && seen.health.len() > 0 && seen.unhealthy == 0,
        ),
    ]
}

/// Rounded up.
pub fn mib(kib: u64) -> u64 {
    kib.div_ceil(1024)
}
