//! The goals of every attack.

use super::observe::Seen;
use crate::table::Goal;
use crate::times::Times;

const ANSWER_MS: f64 = 200.0;
const REFUSAL_MS: f64 = 100.0;
const HEALTH_MS: f64 = 100.0;

/// What an attack on memory must leave to a client that behaves.
pub fn goals(attack: &str, seen: &Seen) -> Vec<Goal> {
    let [answer, refusal] = [p99_ms(&seen.answered), p99_ms(&seen.refused)];
    let shown = Goal::new("p99 of answers, of 503: shown", format!("{answer:.1} ms, {refusal:.1} ms"));
    vec![answered(attack, seen), shown, healthy(seen)]
}

/// What an attack on connections must leave to a client that behaves: it is answered soon as well.
pub fn timed_goals(attack: &str, seen: &Seen) -> Vec<Goal> {
    let [answer, refusal] = [p99_ms(&seen.answered), p99_ms(&seen.refused)];
    let soon = Goal::wanted(
        "p99 of answers under 200 ms, of 503 under 100 ms",
        format!("{answer:.1} ms, {refusal:.1} ms"),
        answer < ANSWER_MS && refusal < REFUSAL_MS,
    );
    vec![answered(attack, seen), soon, healthy(seen)]
}

fn answered(attack: &str, seen: &Seen) -> Goal {
    let Seen { answered, refused, failed, health, unhealthy, .. } = seen;
    let requests = format!("{} answered, {} with 503, {failed} without", answered.len(), refused.len());
    let counts = format!("{requests}; {} probes, {unhealthy} without", health.len());
    let are_all_answered = *failed == 0 && *unhealthy == 0 && health.len() > 0;
    Goal::budget(format!("{attack}: every request and probe has an answer"), counts, are_all_answered)
}

fn healthy(seen: &Seen) -> Goal {
    let (health, slowest) = (p99_ms(&seen.health), seen.health.percentile(100).as_secs_f64() * 1e3);
    Goal::wanted(
        "p99 of `/healthz` under 100 ms",
        format!("{health:.1} ms; {slowest:.1} ms at most"),
        health < HEALTH_MS,
    )
}

fn p99_ms(times: &Times) -> f64 {
    times.percentile(99).as_secs_f64() * 1e3
}

/// Rounded up.
pub fn mib(kib: u64) -> u64 {
    kib.div_ceil(1024)
}
